package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// page is what a walk writes to: a headline, an introduction, and steps with
// what goes in, what comes out, and why.
type page struct {
	strings.Builder
	steps int
}

// The width of running text, and how far the text of a step is indented.
const (
	width  = 80
	indent = "          "
)

func (p *page) headline(text string) {
	fmt.Fprintf(p, "%s\n%s\n", text, strings.Repeat("=", utf8.RuneCountInString(text)))
}

// intro writes a paragraph before or after the steps.
func (p *page) intro(text string) {
	fmt.Fprintf(p, "\n%s\n", wrapped(text, width))
}

// step begins the next step. The functions are those of the library that it
// calls, as package.Function or package.Type.Method.
func (p *page) step(title string, functions ...string) {
	p.steps++
	fmt.Fprintf(p, "\n%d. %s\n", p.steps, title)
	if len(functions) > 0 {
		p.labelled("calls", strings.Join(functions, ", "))
	}
}

// in says what goes in, one line or several.
func (p *page) in(format string, args ...any) { p.labelled("in", fmt.Sprintf(format, args...)) }

// out says what comes out, one line or several.
func (p *page) out(format string, args ...any) { p.labelled("out", fmt.Sprintf(format, args...)) }

// why gives the reason for it.
func (p *page) why(text string) { p.labelled("why", wrapped(text, width-len(indent))) }

func (p *page) labelled(label, text string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		head := "   " + label + strings.Repeat(" ", len(indent)-3-len(label))
		p.WriteString(strings.TrimRight(head+line, " ") + "\n")
		label = ""
	}
}

// wrapped breaks a text into lines.
func wrapped(text string, width int) string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return joined(append(lines, line))
}

// joined puts lines together.
func joined(lines []string) string { return strings.Join(lines, "\n") }

// table aligns rows of cells.
type table struct{ rows [][]string }

// row adds a row; each cell is printed as fmt.Print does.
func (t *table) row(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = fmt.Sprint(c)
	}
	t.rows = append(t.rows, row)
}

func (t *table) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range t.rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // a Builder takes everything
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return joined(lines)
}
