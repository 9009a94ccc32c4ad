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
	"strconv"
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

// Wherever a document names a test, a benchmark or a fuzz target, there is one.
func TestDocumentsNameTestsThatExist(t *testing.T) {
	all := make(map[string]bool)
	for _, p := range listPackages(t) {
		maps.Copy(all, testsOf(t, p.Dir))
	}
	name := regexp.MustCompile("\\b(?:Test|Benchmark|Fuzz|Example)[A-Z]\\w*")
	for _, doc := range documents(t) {
		for _, m := range name.FindAllString(prose(readDocument(t, doc)), -1) {
			require.True(t, all[m] || declaresSuite(t, m), "%s names %s", doc, m)
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
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "examples/nodeagent/flags.go", nil, 0)
	require.NoError(t, err)
	var flags []string
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) < 3 {
			return true
		}
		if f, ok := call.Fun.(*ast.SelectorExpr); ok && strings.HasSuffix(f.Sel.Name, "Var") {
			flags = append(flags, literal(call.Args[1]))
		}
		return true
	})
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

// declaresSuite tells whether the name is that of an exported suite, such as
// runtimetest.TestBackend.
func declaresSuite(t *testing.T, name string) bool {
	t.Helper()
	for _, p := range listPackages(t) {
		if strings.HasSuffix(p.Name, "test") && declared(t, p.Dir)[name] {
			return true
		}
	}
	return false
}

// rulesOf are the names of the rules of a replay: the first word of each element
// of a package variable of type []rule[…] or []difference in the package's tests.
func rulesOf(t *testing.T, dir string) []string {
	t.Helper()
	var rules []string
	for _, f := range parseFiles(t, dir, true) {
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

// documents are all Markdown files of the repository.
func documents(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if err == nil && filepath.Ext(path) == ".md" {
			names = append(names, path)
		}
		return err
	})
	require.NoError(t, err)
	require.Contains(t, names, "README.md")
	return names
}

func readDocument(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(data)
}

// fenced are the blocks of a language in a document.
func fenced(text, language string) []string {
	var blocks []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// prose is a document without its fenced blocks.
func prose(text string) string {
	return regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(text, "")
}

var heading = regexp.MustCompile(`^#+ (.*)$`)

// anchors are the names by which links find the headings of a document.
func anchors(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		if m := heading.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			slug := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(m[1]), "")
			names = append(names, strings.ReplaceAll(slug, " ", "-"))
		}
	}
	return names
}

// tableRow is a row of a table, and the heading that it stands under.
type tableRow struct {
	heading string
	cells   []string
}

// tables are the rows of all tables of a document, without their heads.
func tables(text string) []tableRow {
	var rows []tableRow
	under, inBody := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := heading.FindStringSubmatch(line); m != nil {
			under = m[1]
		}
		switch {
		case !strings.HasPrefix(line, "|"):
			inBody = false
		case strings.HasPrefix(line, "|--") || strings.HasPrefix(line, "| --"):
			inBody = true
		case inBody:
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, tableRow{under, cells})
		}
	}
	return rows
}

// quoted are the words of a cell between backquotes.
func quoted(cell string) []string {
	var words []string
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
		words = append(words, m[1])
	}
	return words
}

func unquote(cell string) string { return strings.Trim(cell, "`") }

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	require.NoError(t, err)
	return n
}
