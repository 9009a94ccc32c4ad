package kubeparts_test

import (
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The documents are checked against the tree: what they name is there.

func TestReadmeProgramCompiles(t *testing.T) {
	blocks := fenced(readDocument(t, "README.md"), "go")
	require.Len(t, blocks, 1, "README has one program")
	formatted, err := format.Source([]byte(blocks[0]))
	require.NoError(t, err)
	require.Equal(t, string(formatted), blocks[0], "gofmt")
	file := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(file, []byte(blocks[0]), 0o600))
	goOutput(t, "vet", file)
}

func TestReadmeCommands(t *testing.T) {
	readme := readDocument(t, "README.md")
	tests := regexp.MustCompile(`(?m)^    (go test .*)$`).FindStringSubmatch(readme)
	require.NotNil(t, tests)
	require.Equal(t, "go test work", tests[1], ".ci/run takes the first one as README's test command")
	for _, run := range regexp.MustCompile(`go run \./([a-z/]+)`).FindAllStringSubmatch(readme, -1) {
		require.FileExists(t, filepath.Join(run[1], "main.go"))
	}
}

func TestReadmeMapsAllPackages(t *testing.T) {
	readme := readDocument(t, "README.md")
	for _, p := range listPackages(t) {
		path := strings.TrimPrefix(p.ImportPath, module+"/")
		if path != module && p.Name != "main" && !strings.Contains(path, "internal/") {
			require.True(t, strings.Contains(readme, "`"+path+"`"), "README does not map package %s", path)
		}
	}
}

func TestDocumentsLinkToWhatIsThere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]*)(#[^)\s]*)?\)`)
	for _, name := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(readDocument(t, name), -1) {
			target, anchor := m[1], strings.TrimPrefix(m[2], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := name
			if target != "" {
				path = filepath.Join(filepath.Dir(name), target)
			}
			_, err := os.Stat(path)
			require.NoError(t, err, "%s links to %s", name, target)
			if anchor != "" {
				require.Contains(t, anchors(readDocument(t, path)), anchor, "%s links to %s#%s", name, target, anchor)
			}
		}
	}
}

// Wherever a document names a test, a benchmark, a fuzz target or a suite such as
// TestBackend, there is one.
func TestDocumentsNameTestsThatExist(t *testing.T) {
	all := make(map[string]bool)
	for _, p := range listPackages(t) {
		maps.Copy(all, testsOf(t, p.Dir))
		if strings.HasSuffix(p.Name, "test") {
			maps.Copy(all, declared(t, p.Dir))
		}
	}
	name := regexp.MustCompile(`\b(?:Test|Benchmark|Fuzz|Example)[A-Z]\w*`)
	for _, doc := range documents(t) {
		for _, m := range name.FindAllString(prose(readDocument(t, doc)), -1) {
			require.True(t, all[m], "%s names %s", doc, m)
		}
	}
}

func TestMechanismsAreWhereTheTableSays(t *testing.T) {
	rows := tables(readDocument(t, "docs/mechanisms.md"))
	require.NotEmpty(t, rows)
	for _, row := range rows {
		require.Len(t, row.cells, 6, "%v", row.cells)
		pkg := unquote(row.cells[2])
		names := declared(t, pkg)
		for _, function := range quoted(row.cells[3]) {
			require.True(t, names[function], "row %s: package %s has no %s", row.cells[0], pkg, function)
		}
		requireTests(t, pkg, row.cells[4], "row "+row.cells[0])
		for _, walk := range quoted(row.cells[5]) {
			require.FileExists(t, filepath.Join("examples/tour/testdata", walk+".txt"), "row %s", row.cells[0])
		}
	}
}

func TestEveryMechanismHasItsPlace(t *testing.T) {
	text := readDocument(t, "docs/mechanisms.md")
	var found []int
	for _, row := range tables(text) {
		found = append(found, number(t, row.cells[0]))
	}
	_, missing, ok := strings.Cut(text, "## Not there yet")
	require.True(t, ok)
	for _, m := range regexp.MustCompile(`(?m)^- (\d+)`).FindAllStringSubmatch(missing, -1) {
		found = append(found, number(t, m[1]))
	}
	slices.Sort(found)
	want := make([]int, 42)
	for i := range want {
		want[i] = i + 1
	}
	require.Equal(t, want, found, "each of the 42 has a row, or stands among what is not there yet")
}

func TestDifferencesArePinned(t *testing.T) {
	rows := tables(readDocument(t, "docs/differences.md"))
	require.NotEmpty(t, rows)
	names := make(map[string]bool)
	for _, row := range rows {
		require.Len(t, row.cells, 5, "%v", row.cells)
		name := row.cells[0]
		require.False(t, names[name], "two rows are named %q", name)
		names[name] = true
		for i, cell := range row.cells[:4] {
			require.NotEmpty(t, cell, "row %q, column %d", name, i+1)
		}
		requireTests(t, row.heading, row.cells[3], "row "+name)
	}
}

// Each rule by which a replay lets an answer differ from the kubelet's is in a
// row of its package, and each rule of a row is in the replay.
func TestDifferencesAreTheRulesOfTheReplays(t *testing.T) {
	inRows := make(map[string][]string)
	for _, row := range tables(readDocument(t, "docs/differences.md")) {
		for _, rule := range quoted(row.cells[4]) {
			pkg := row.heading
			if p, name, ok := strings.Cut(rule, ": "); ok {
				pkg, rule = p, name
			}
			inRows[pkg] = append(inRows[pkg], rule)
		}
	}
	inReplays := make(map[string][]string)
	for _, p := range listPackages(t) {
		if rules := rulesOf(t, p.Dir); len(rules) > 0 {
			inReplays[strings.TrimPrefix(p.ImportPath, module+"/")] = rules
		}
	}
	require.NotEmpty(t, inReplays)
	for _, pkg := range slices.Concat(slices.Collect(maps.Keys(inRows)), slices.Collect(maps.Keys(inReplays))) {
		require.ElementsMatch(t, inReplays[pkg], inRows[pkg], "rules of the replay of %s (first) and rows (second)", pkg)
	}
}

func TestNodeAgentPageListsItsFlags(t *testing.T) {
	var flags []string
	for _, path := range []string{"examples/nodeagent/flags.go", "eviction/flags.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 3 {
				return true
			}
			f, ok := call.Fun.(*ast.SelectorExpr)
			switch {
			case ok && strings.HasSuffix(f.Sel.Name, "Var"):
				flags = append(flags, literal(call.Args[1]))
			case ok && f.Sel.Name == "Func":
				flags = append(flags, literal(call.Args[0]))
			}
			return true
		})
	}
	var documented []string
	for _, m := range regexp.MustCompile("(?m)^\\| `--?([a-z-]+)").FindAllStringSubmatch(readDocument(t, "docs/nodeagent.md"), -1) {
		documented = append(documented, m[1])
	}
	require.ElementsMatch(t, flags, documented)
}

// requireTests finds the tests of a cell: in the package, or where it says
// otherwise, as in `syncloop.TestStep`.
func requireTests(t *testing.T, pkg, cell, where string) {
	t.Helper()
	names := quoted(cell)
	require.NotEmpty(t, names, "%s names no test", where)
	for _, name := range names {
		dir := pkg
		if i := strings.LastIndex(name, "."); i >= 0 {
			dir, name = name[:i], name[i+1:]
		}
		require.True(t, testsOf(t, dir)[name], "%s: package %s has no test %s", where, dir, name)
	}
}
