package kubeparts_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// testsOf are the names of the tests, benchmarks, fuzz targets and examples of
// the package in the folder.
func testsOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	for _, f := range parseFiles(t, dir, true) {
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}

// declared are the exported names of the package in the folder, fields and
// methods as Type.Name.
func declared(t *testing.T, dir string) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	for _, f := range parseFiles(t, dir, false) {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				names[receiver(d)+d.Name.Name] = true
			case *ast.GenDecl:
				for _, s := range d.Specs {
					declareSpec(names, s)
				}
			}
		}
	}
	return names
}

func declareSpec(names map[string]bool, spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			names[n.Name] = true
		}
	case *ast.TypeSpec:
		names[s.Name.Name] = true
		var fields *ast.FieldList
		switch typ := s.Type.(type) {
		case *ast.StructType:
			fields = typ.Fields
		case *ast.InterfaceType:
			fields = typ.Methods
		default:
			return
		}
		for _, f := range fields.List {
			for _, n := range f.Names {
				names[s.Name.Name+"."+n.Name] = true
			}
		}
	}
}

func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	typ := f.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if ident, ok := typ.(*ast.Ident); ok {
		return ident.Name + "."
	}
	return ""
}

// rulesOf are the names of the rules of a replay: the first word of each element
// of a package variable of type []rule[…] or []difference in the package's tests,
// and what a case says of itself in a field named rule.
func rulesOf(t *testing.T, dir string) []string {
	t.Helper()
	var rules []string
	for _, f := range parseFiles(t, dir, true) {
		rules = append(rules, ruleFields(f)...)
		for _, d := range f.Decls {
			vars, ok := d.(*ast.GenDecl)
			if !ok || vars.Tok != token.VAR {
				continue
			}
			for _, s := range vars.Specs {
				for _, v := range s.(*ast.ValueSpec).Values {
					rules = append(rules, ruleNames(v)...)
				}
			}
		}
	}
	return rules
}

func ruleNames(e ast.Expr) (names []string) {
	list, ok := e.(*ast.CompositeLit)
	if !ok || !isRules(list.Type) {
		return nil
	}
	for _, e := range list.Elts {
		if rule, ok := e.(*ast.CompositeLit); ok && len(rule.Elts) > 0 {
			names = append(names, literal(rule.Elts[0]))
		}
	}
	return names
}

// ruleFields are the names in "Rule: …" of composite literals.
func ruleFields(f *ast.File) (names []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		if kv, ok := n.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Rule" && literal(kv) != "" {
				names = append(names, literal(kv))
			}
		}
		return true
	})
	return names
}

func isRules(typ ast.Expr) bool {
	array, ok := typ.(*ast.ArrayType)
	if !ok {
		return false
	}
	elem := array.Elt
	if generic, ok := elem.(*ast.IndexExpr); ok {
		elem = generic.X
	}
	ident, ok := elem.(*ast.Ident)
	return ok && (ident.Name == "rule" || ident.Name == "difference")
}

func literal(e ast.Expr) string {
	if kv, ok := e.(*ast.KeyValueExpr); ok {
		e = kv.Value
	}
	lit, ok := e.(*ast.BasicLit)
	if !ok {
		return ""
	}
	s, err := strconv.Unquote(lit.Value)
	if err != nil {
		return ""
	}
	return s
}

func parseFiles(t *testing.T, dir string, tests bool) []*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, paths, "%s is no package", dir)
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") != tests {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, f)
	}
	return files
}
