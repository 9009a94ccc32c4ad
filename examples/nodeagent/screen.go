package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	v1 "k8s.io/api/core/v1"
)

// screen is a terminal that shows a live table. A nil screen shows nothing.
type screen struct{ w io.Writer }

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

const clearScreen = "\x1b[H\x1b[2J"

// draw shows the pods and the newest events in place of what was there.
func (s *screen) draw(pods []*v1.Pod, events []string) {
	if s == nil {
		return
	}
	var b bytes.Buffer
	b.WriteString(clearScreen)
	_ = writeTable(&b, pods, time.Now())
	b.WriteByte('\n')
	for _, e := range events {
		fmt.Fprintln(&b, e)
	}
	b.WriteString("\nCtrl-C stops the pods; once more kills them.\n")
	_, _ = s.w.Write(b.Bytes())
}

// clear empties the screen for the last table.
func (s *screen) clear() {
	if s != nil {
		_, _ = io.WriteString(s.w, clearScreen)
	}
}
