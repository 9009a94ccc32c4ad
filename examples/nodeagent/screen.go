package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// screen is a terminal that shows a live table. A nil screen shows nothing.
type screen struct{ w *os.File }

// newScreen returns the screen if stdout is a terminal and a table is wanted.
func newScreen(stdout *os.File, output string) *screen {
	if output != "table" || os.Getenv("TERM") == "dumb" || !isTerminal(stdout) {
		return nil
	}
	return &screen{stdout}
}

// isTerminal takes every character device for one, save the null device.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

const (
	clearScreen = "\x1b[H\x1b[2J"
	// screenEvents is how many events stand below the table.
	screenEvents = 8
)

// draw shows the pods, with what probes found wrong, what the node is short of, and
// the newest events in place of what was there.
func (s *screen) draw(node *v1.Node, pods []*v1.Pod, wrong map[types.UID]string, events []event) {
	if s == nil {
		return
	}
	var table, below bytes.Buffer
	now := time.Now()
	_ = writeTable(&table, pods, wrong, now)
	_ = writePressure(&below, node, now)
	below.WriteByte('\n')
	for _, e := range events {
		fmt.Fprintln(&below, e)
	}
	below.WriteString("\nCtrl-C stops the pods; once more kills them.\n")
	width, height := s.size()
	rows := height - 1 - strings.Count(below.String(), "\n")
	_, _ = s.w.WriteString(clearScreen + cut(firstLines(table.String(), rows)+below.String(), width))
}

// size is how many characters fit on a line, and how many lines on the screen.
func (s *screen) size() (width, height int) {
	size, err := unix.IoctlGetWinsize(int(s.w.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 || size.Row == 0 {
		return 80, 24
	}
	return int(size.Col), int(size.Row)
}

// firstLines keeps so many lines of a text, at least two, and says in the last one
// how many there are besides.
func firstLines(text string, n int) string {
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	if n = max(n, 2); len(lines) <= n {
		return text
	}
	return strings.Join(lines[:n-1], "") + fmt.Sprintf("… and %d more: see nodeagent status\n", len(lines)-n+1)
}

// cut shortens each line to the width, so that none is broken in two.
func cut(text string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if runes := []rune(strings.TrimRight(line, "\n")); len(runes) > width {
			line = string(runes[:width-1]) + "…\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// clear empties the screen for the last table.
func (s *screen) clear() {
	if s != nil {
		_, _ = s.w.WriteString(clearScreen)
	}
}
