package kubeparts_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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
