//go:build linux

package process_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLog(t *testing.T) {
	n := newNode(t)
	long := strings.Repeat("x", 40_000)
	id := n.run("pod", `echo out; echo; printf 'no end'; echo err >&2; sleep 0; exit 0`)
	require.Equal(t, "Completed", n.exited(id).Reason)
	var stdout, stderr []string
	for line := range strings.Lines(n.log("pod")) {
		stamp, rest, _ := strings.Cut(line, " ")
		_, err := time.Parse(time.RFC3339Nano, stamp)
		require.NoError(t, err)
		if strings.HasPrefix(rest, "stdout") {
			stdout = append(stdout, rest)
		} else {
			stderr = append(stderr, rest)
		}
	}
	require.Equal(t, []string{"stdout F out\n", "stdout F \n", "stdout F no end\n"}, stdout)
	require.Equal(t, []string{"stderr F err\n"}, stderr)

	id = n.run("long", `echo "$1"`, long)
	n.exited(id)
	var text strings.Builder
	tags := ""
	for _, file := range logFiles(t, n, "long") {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range strings.Lines(string(data)) {
			fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
			tags += fields[2]
			text.WriteString(fields[3])
		}
	}
	require.Equal(t, "PPF", tags)
	require.Equal(t, long, text.String())
}

// logFiles are the files of a log, oldest first.
func logFiles(t testing.TB, n *node, name string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(n.logs, name+".log.*"))
	require.NoError(t, err)
	slices.Sort(files)
	return append(files, filepath.Join(n.logs, name+".log"))
}

func TestLogRotation(t *testing.T) {
	n := newNode(t) // 10 kB a file, 3 files
	id := n.run("pod", "i=0; while test $i -lt 2000; do i=$((i+1)); echo line $i; done")
	n.exited(id)
	files := logFiles(t, n, "pod")
	require.Len(t, files, 3)
	var last string
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.LessOrEqual(t, len(data), 10_000)
		require.True(t, bytes.HasSuffix(data, []byte("\n")), "no line is cut")
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		last = lines[len(lines)-1]
	}
	require.True(t, strings.HasSuffix(last, " F line 2000"), last)
}
