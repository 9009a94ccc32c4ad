package kubeparts_test

import (
	"encoding/json"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/kubeparts/kubeparts"

// packageLimit is how many packages one of the six may link, the standard
// library included. 268 is the floor that k8s.io/api/core/v1 sets.
const packageLimit = 320

// rooms are the six packages, in the order in which they stand on each other.
var rooms = []string{"runtime", "podmanager", "admission", "probe", "eviction", "syncloop"}

// floors says which rooms a room may import.
var floors = map[string][]string{
	"runtime":    {},
	"podmanager": {},
	"admission":  {},
	"probe":      {"runtime", "podmanager", "admission"},
	"eviction":   {"runtime", "podmanager", "admission"},
	"syncloop":   {"runtime", "podmanager", "admission", "probe", "eviction"},
}

// budget is what the root module may require directly, with the reason.
var budget = map[string]string{
	"k8s.io/api":                   "the pod",
	"k8s.io/apimachinery":          "quantities, names, YAML",
	"k8s.io/component-helpers":     "requests, node affinity, tolerations",
	"k8s.io/klog/v2":               "a signature of component-helpers takes its Logger",
	"sigs.k8s.io/yaml":             "duplicate keys and what aliases expand to, which apimachinery's wrapper of it does not tell",
	"golang.org/x/sys":             "calls that package syscall lacks",
	"github.com/fsnotify/fsnotify": "the file source's hints",
	"github.com/stretchr/testify":  "tests",
}

// banned may not be linked by the library at all: they belong to adapters.
var banned = []string{
	"k8s.io/client-go", "k8s.io/kubernetes", "k8s.io/kubelet", "k8s.io/cri-api",
	"google.golang.org/grpc", "github.com/prometheus",
}

// A newcomer sees the architecture from the folders.
func TestTopLevelHasTheRoomsAndTheExamples(t *testing.T) {
	paths := strings.Fields(goOutput(t, "list", "./..."))
	var top []string
	for _, path := range paths[1:] {
		name, _, _ := strings.Cut(strings.TrimPrefix(path, module+"/"), "/")
		top = append(top, name)
	}
	require.ElementsMatch(t, append([]string{"examples", "internal"}, rooms...), slices.Compact(top))
}

func TestRootModuleHasNoReplaceAndStaysInBudget(t *testing.T) {
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
		Replace []any
	}
	goJSON(t, &mod, "mod", "edit", "-json", "go.mod")
	require.Empty(t, mod.Replace, "a replace in the root is ignored by whoever imports it")
	for _, r := range mod.Require {
		if !r.Indirect {
			require.Contains(t, budget, r.Path, "a new direct dependency needs a reason in the budget")
		}
	}
}

func TestRoomsLinkLittle(t *testing.T) {
	for _, room := range rooms {
		t.Run(room, func(t *testing.T) {
			deps := strings.Fields(goOutput(t, "list", "-deps", "./"+room))
			t.Logf("%s links %d packages, the limit is %d", room, len(deps), packageLimit)
			require.LessOrEqual(t, len(deps), packageLimit)
		})
	}
}

func TestLibraryLinksNoAdapter(t *testing.T) {
	for _, dep := range strings.Fields(goOutput(t, "list", "-deps", "./...")) {
		for _, b := range banned {
			require.False(t, dep == b || strings.HasPrefix(dep, b+"/"), "%s is linked", dep)
		}
	}
}

func TestRoomsKeepTheirFloors(t *testing.T) {
	for _, p := range listPackages(t) {
		room, ok := roomOf(p.ImportPath)
		if !ok {
			continue
		}
		for _, imported := range p.Imports {
			other, ok := roomOf(imported)
			if !ok || other == room {
				require.False(t, strings.HasPrefix(imported, module+"/examples"), "%s imports %s", p.ImportPath, imported)
				continue
			}
			require.Contains(t, floors[room], other, "%s imports %s", p.ImportPath, imported)
		}
	}
}

func TestEverythingIsDocumented(t *testing.T) {
	for _, p := range listPackages(t) {
		t.Run(strings.TrimPrefix(p.ImportPath, module), func(t *testing.T) {
			fset := token.NewFileSet()
			var files []*ast.File
			comments := 0
			for _, name := range p.GoFiles {
				f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments)
				require.NoError(t, err)
				if f.Doc != nil {
					comments++
				}
				files = append(files, f)
			}
			require.Equal(t, 1, comments, "a package has exactly one package comment")
			if p.Name == "main" {
				return
			}
			d, err := doc.NewFromFiles(fset, files, p.ImportPath)
			require.NoError(t, err)
			require.Empty(t, undocumented(d), "exported names without a doc comment")
		})
	}
}

// undocumented lists the exported names of a package that have no comment.
// Constants and variables may share the comment of their group.
func undocumented(p *doc.Package) []string {
	var missing []string
	miss := func(name, comment string) {
		if strings.TrimSpace(comment) == "" && ast.IsExported(strings.TrimPrefix(name[strings.LastIndex(name, ".")+1:], "*")) {
			missing = append(missing, name)
		}
	}
	values := func(vs []*doc.Value) {
		for _, v := range vs {
			if v.Doc == "" {
				missing = append(missing, undocumentedSpecs(v)...)
			}
		}
	}
	funcs := func(prefix string, fs []*doc.Func) {
		for _, f := range fs {
			miss(prefix+f.Name, f.Doc)
		}
	}
	values(p.Consts)
	values(p.Vars)
	funcs("", p.Funcs)
	for _, typ := range p.Types {
		miss(typ.Name, typ.Doc)
		values(typ.Consts)
		values(typ.Vars)
		funcs("", typ.Funcs)
		funcs(typ.Name+".", typ.Methods)
	}
	return missing
}

func undocumentedSpecs(v *doc.Value) []string {
	var missing []string
	for _, spec := range v.Decl.Specs {
		s, ok := spec.(*ast.ValueSpec)
		if !ok || s.Doc != nil || s.Comment != nil {
			continue
		}
		for _, n := range s.Names {
			if n.IsExported() {
				missing = append(missing, n.Name)
			}
		}
	}
	return missing
}

// roomOf names the room that a package of this module belongs to.
func roomOf(importPath string) (string, bool) {
	rest, ok := strings.CutPrefix(importPath, module+"/")
	if !ok {
		return "", false
	}
	first, _, _ := strings.Cut(rest, "/")
	return first, slices.Contains(rooms, first)
}

type goPackage struct {
	ImportPath, Name, Dir string
	GoFiles, Imports      []string
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(goOutput(t, "list", "-json=ImportPath,Name,Dir,GoFiles,Imports", "./...")))
	var all []goPackage
	for dec.More() {
		var p goPackage
		require.NoError(t, dec.Decode(&p))
		all = append(all, p)
	}
	require.NotEmpty(t, all)
	return all
}

func goJSON(t *testing.T, into any, args ...string) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(goOutput(t, args...)), into))
}

func goOutput(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "go %s: %s", strings.Join(args, " "), stderr.String())
	return string(out)
}
