package main

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(name string) string { return filepath.Join("testdata", name+".txt") }

// Each walk says what it said before, and says it again.
func TestGolden(t *testing.T) {
	for _, m := range mechanisms() {
		t.Run(m.name, func(t *testing.T) {
			text, err := m.text(t.Context())
			require.NoError(t, err)
			again, err := m.text(t.Context())
			require.NoError(t, err)
			require.Equal(t, text, again, "two runs differ")
			compare(t, m.name, text)
		})
	}
}

func TestList(t *testing.T) {
	out, errs, code := tour(t)
	require.Zero(t, code)
	require.Empty(t, errs)
	compare(t, "list", out)
}

func compare(t *testing.T, name, text string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(golden(name), []byte(text), 0o644))
	}
	want, err := os.ReadFile(golden(name))
	require.NoError(t, err, "a new mechanism: go test ./examples/tour -update")
	require.Equal(t, string(want), text)
}

func TestAllIsEachInItsOrder(t *testing.T) {
	var want []string
	for _, m := range mechanisms() {
		out, _, code := tour(t, m.name)
		require.Zero(t, code)
		want = append(want, out)
	}
	out, errs, code := tour(t, "all")
	require.Zero(t, code)
	require.Empty(t, errs)
	require.True(t, out == strings.Join(want, "\n\n"), "all is not what the single walks say; does one of them change?")
}

func TestWrongUse(t *testing.T) {
	for _, args := range [][]string{{"frobnicate"}, {""}, {"all", "step"}} {
		out, errs, code := tour(t, args...)
		require.Equal(t, 2, code, "%q", args)
		require.Empty(t, out)
		require.Equal(t, 1, strings.Count(errs, "\n"), "what is wrong does not drown in the list")
	}
	_, errs, _ := tour(t, "frobnicate")
	require.Contains(t, errs, `no mechanism "frobnicate"`)
}

func TestHelp(t *testing.T) {
	out, errs, code := tour(t, "-h")
	require.Zero(t, code)
	require.Empty(t, errs)
	require.True(t, strings.HasPrefix(out, usage), out)
	require.Contains(t, out, "agent-restart")
}

func TestRegistry(t *testing.T) {
	files := map[string]bool{golden("list"): true}
	for _, m := range mechanisms() {
		require.Regexp(t, `^[a-z]+(-[a-z]+)*$`, m.name)
		require.NotContains(t, []string{"all", "list"}, m.name)
		require.NotEmpty(t, m.line, m.name)
		require.NotNil(t, m.walk, m.name)
		require.False(t, files[golden(m.name)], "%s is there twice", m.name)
		files[golden(m.name)] = true
		require.FileExists(t, "mech_"+strings.ReplaceAll(m.name, "-", "_")+".go", "one file a mechanism")
	}
	found, err := filepath.Glob(golden("*"))
	require.NoError(t, err)
	for _, file := range found {
		require.True(t, files[file], "%s belongs to no mechanism", file)
	}
}

// A reader looks for the functions that a step names. They are there.
func TestFunctionsThatStepsCallExist(t *testing.T) {
	known := map[string]bool{}
	for _, dir := range []string{
		"podmanager", "podmanager/manifest", "podmanager/source", "podmanager/podmanagertest", "admission", "admission/resize", "eviction", "probe",
		"runtime", "runtime/runtimetest", "syncloop", "syncloop/lifecycle", "syncloop/podstatus",
		"podmanager/checkpoint", "syncloop/diskstore",
	} {
		declare(t, known, filepath.Join("..", "..", dir))
	}
	calls := regexp.MustCompile(`(?m)^   calls +(.*)$`)
	for _, m := range mechanisms() {
		text, err := os.ReadFile(golden(m.name))
		require.NoError(t, err)
		steps := calls.FindAllStringSubmatch(string(text), -1)
		require.NotEmpty(t, steps, m.name)
		for _, step := range steps {
			for name := range strings.SplitSeq(step[1], ", ") {
				require.True(t, known[name], "%s: %s is not in the library", m.name, name)
			}
		}
	}
}

// declare adds the exported functions, methods, types and values of a package, as
// package.Name and package.Type.Method.
func declare(t *testing.T, known map[string]bool, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range f.Decls {
			for _, declared := range declaredNames(d) {
				known[f.Name.Name+"."+declared] = true
			}
		}
	}
}

func declaredNames(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			receiver := d.Recv.List[0].Type
			if p, ok := receiver.(*ast.StarExpr); ok {
				receiver = p.X
			}
			if id, ok := receiver.(*ast.Ident); ok {
				name = id.Name + "." + name
			}
		}
		return []string{name}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, n.Name)
				}
			}
		}
	}
	return names
}

func TestLinesEndWithoutBlanks(t *testing.T) {
	out, _, _ := tour(t, "all")
	for line := range strings.Lines(out) {
		require.Equal(t, strings.TrimRight(line, " \t\n")+"\n", line)
	}
}

func tour(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &out, &errs)
	return out.String(), errs.String(), code
}
