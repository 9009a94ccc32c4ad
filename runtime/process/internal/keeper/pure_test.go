//go:build linux

package keeper

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOwners(t *testing.T) {
	procs := []Process{
		{PID: 1},
		{PID: 10, Parent: 1, Session: 10}, // the keeper
		{PID: 20, Parent: 10, Session: 20},
		{PID: 21, Parent: 20, Session: 21},
		{PID: 22, Parent: 10, Session: 20},               // lost its parent
		{PID: 23, Parent: 10, Session: 99},               // and left the session
		{PID: 24, Parent: 10, Session: 98},               // and emptied its environment
		{PID: 30, Parent: 10, Session: 30},               // a command
		{PID: 31, Parent: 30, Session: 30},               //
		{PID: 40, Parent: 1, Session: 20},                // no descendant
		{PID: 50, Parent: 10, Session: 50, Zombie: true}, // has no environment any more
	}
	marker := func(pid int) string {
		require.NotEqual(t, 50, pid)
		if pid == 23 {
			return "a"
		}
		return ""
	}
	roots := map[int]string{20: "a", 30: "a.1"}
	require.Equal(t, map[int]string{
		20: "a", 21: "a", 22: "a", 23: "a", 24: "", 30: "a.1", 31: "a.1", 50: "",
	}, Owners(procs, 10, roots, roots, marker))
	require.True(t, belongs("a.1", "a"))
	require.False(t, belongs("ab", "a"))

	loop := []Process{{PID: 2, Parent: 10}, {PID: 3, Parent: 2}, {PID: 2, Parent: 3}}
	require.Len(t, Owners(loop, 10, nil, nil, func(int) string { return "" }), 2)
}

// A process that becomes another program has no marker for a moment. It is nobody's
// only if it has none a while later, and one that got its PID is another one.
func TestUnclaimedProcessMayHaveAnOwnerYet(t *testing.T) {
	now := time.Unix(1, 0)
	look := func(u unclaimed, p Process, at time.Duration) (next unclaimed, mayYet bool) {
		next = unclaimed{}
		return next, u.note(p, now.Add(at), next)
	}
	u, mayYet := look(nil, Process{PID: 7, Ticks: 1}, 0)
	require.True(t, mayYet)
	u, mayYet = look(u, Process{PID: 7, Ticks: 1}, sweepAgain-1)
	require.True(t, mayYet)
	u, mayYet = look(u, Process{PID: 7, Ticks: 1}, sweepAgain)
	require.False(t, mayYet)
	u, mayYet = look(u, Process{PID: 7, Ticks: 2}, sweepAgain)
	require.True(t, mayYet)
	require.Len(t, u, 1)
}

func TestParseStat(t *testing.T) {
	p, err := parseStat(7, []byte("7 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21\n"))
	require.NoError(t, err)
	require.Equal(t, Process{PID: 7, Parent: 1, Session: 3, CPU: 11 + 12 + 13 + 14, Threads: 17, Ticks: 19}, p)
	for _, bad := range []string{"", ")", "7 (x) S 1", "no parentheses at all"} {
		_, err := parseStat(7, []byte(bad))
		require.Error(t, err, bad)
	}
	self, err := ReadProcess(os.Getpid())
	require.NoError(t, err)
	require.Equal(t, os.Getppid(), self.Parent)
	require.NotEmpty(t, BootID())
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("7 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21\n"))
	f.Fuzz(func(_ *testing.T, stat []byte) { _, _ = parseStat(7, stat) })
}

// fields are the lines of a log without their times.
func fields(log []byte) []string {
	var lines []string
	for line := range bytes.Lines(log) {
		_, rest, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		lines = append(lines, rest)
	}
	return lines
}

func TestLineSplitter(t *testing.T) {
	part := strings.Repeat("x", maxLine)
	for name, tc := range map[string]struct{ chunks, want []string }{
		"lines":               {[]string{"a\nb\n"}, []string{"stdout F a", "stdout F b"}},
		"in pieces":           {[]string{"a", "b", "c\nd", "\n"}, []string{"stdout F abc", "stdout F d"}},
		"empty lines":         {[]string{"\n\n"}, []string{"stdout F ", "stdout F "}},
		"no end":              {[]string{"a\nb"}, []string{"stdout F a", "stdout F b"}},
		"nothing":             {nil, nil},
		"a full line":         {[]string{part + "\n"}, []string{"stdout F " + part}},
		"one byte more":       {[]string{part + "y\n"}, []string{"stdout P " + part, "stdout F y"}},
		"more in pieces":      {[]string{part, "y", "\n"}, []string{"stdout P " + part, "stdout F y"}},
		"a full line, no end": {[]string{part}, []string{"stdout F " + part}},
		"three parts":         {[]string{part + part + "z"}, []string{"stdout P " + part, "stdout P " + part, "stdout F z"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := lineSplitter{stream: "stdout"}
			var log []byte
			for _, chunk := range tc.chunks {
				log = append(log, s.split(time.Now(), []byte(chunk))...)
			}
			log = append(log, s.end(time.Now())...)
			require.Equal(t, tc.want, fields(log))
		})
	}
}

// FuzzLineSplitter: whatever comes in whatever pieces, what is in the log is
// what was written.
func FuzzLineSplitter(f *testing.F) {
	f.Add([]byte("a\nb"), 1)
	f.Add(bytes.Repeat([]byte("xy\n\n"), 1000), 700)
	f.Add(bytes.Repeat([]byte("x"), maxLine+1), maxLine)
	f.Fuzz(func(t *testing.T, text []byte, piece int) {
		piece = max(piece, 1+len(text)/100)
		s := lineSplitter{stream: "stdout"}
		var log []byte
		for rest := text; len(rest) > 0; {
			n := min(piece, len(rest))
			log = append(log, s.split(time.Unix(0, 0), rest[:n])...)
			rest = rest[n:]
		}
		log = append(log, s.end(time.Unix(0, 0))...)
		var got []byte
		for line := range bytes.Lines(log) {
			parts := bytes.SplitN(line, []byte(" "), 4)
			require.Len(t, parts, 4)
			body, _ := bytes.CutSuffix(parts[3], []byte("\n"))
			got = append(got, body...)
			if string(parts[2]) == "F" {
				got = append(got, '\n')
			}
		}
		want := text
		if len(want) > 0 && want[len(want)-1] != '\n' {
			want = append(bytes.Clone(want), '\n')
		}
		require.True(t, bytes.Equal(want, got))
	})
}

func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "0.log")
	l, err := openLog(path, 100, 3)
	require.NoError(t, err)
	keep := filepath.Join(filepath.Dir(path), "0.log.notes")
	require.NoError(t, os.WriteFile(keep, nil, 0o600))
	for i := range 20 {
		l.write(fmt.Appendf(nil, "%040d\n", i))
	}
	l.Close()
	rotated := rotatedLogs(path)
	require.Len(t, rotated, 2)
	var all []byte
	for _, file := range append(rotated, path) {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.LessOrEqual(t, len(data), 100)
		all = append(all, data...)
	}
	require.Equal(t, 6, bytes.Count(all, []byte("\n")))
	require.True(t, bytes.HasSuffix(all, []byte("19\n")))
	require.FileExists(t, keep, "what is not ours is left alone")
}

// A log that can't be rotated or written holds nobody up.
func TestLogThatFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sub", "0.log")
	l, err := openLog(path, 10, 2)
	require.NoError(t, err)
	l.write([]byte("first line\n"))
	require.NoError(t, os.RemoveAll(filepath.Dir(path)))
	l.write([]byte("lost or not\n"))
	l.write([]byte("lost or not\n"))
	l.Close()
	none, err := openLog("", 10, 2)
	require.NoError(t, err)
	none.write([]byte("nowhere\n"))
	none.Close()
}

func TestClockSetBack(t *testing.T) {
	start := time.Now()
	require.Equal(t, start.Round(0), endAfter(start, start.Add(-time.Hour)))
	require.Equal(t, start.Round(0).Add(time.Second), endAfter(start, start.Add(time.Second)))
}

func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/tool", nil, 0o755))
	require.NoError(t, os.WriteFile(dir+"/data", nil, 0o644))
	require.NoError(t, os.Mkdir(dir+"/folder", 0o755))
	path, err := lookPath("tool", []string{"A=b", "PATH=/nowhere:" + dir})
	require.NoError(t, err)
	require.Equal(t, dir+"/tool", path)
	for _, name := range []string{"data", "folder", "none", ""} {
		_, err = lookPath(name, []string{"PATH=" + dir})
		require.ErrorContains(t, err, "executable file not found in $PATH")
	}
	path, err = lookPath("./relative", nil)
	require.NoError(t, err)
	require.Equal(t, "./relative", path)
}

// Who writes faster than the rest of a pipe is read is not read for ever.
func TestRestOfAPipeHasAnEnd(t *testing.T) {
	ours, theirs, err := os.Pipe()
	require.NoError(t, err)
	defer ours.Close()
	defer theirs.Close()
	_, err = theirs.WriteString("x")
	require.NoError(t, err)
	FinishPipe(ours)
	read := 0
	require.NoError(t, ReadPipe(ours, func(chunk []byte) error {
		read += len(chunk)
		_, err := theirs.Write(bytes.Repeat(chunk[:1], 1<<12))
		return err
	}))
	require.InDelta(t, pipeLimit, read, 1<<12)
}

// A process of a container may answer in the keeper's place. What it says must not
// take a hundred times the memory that it takes on the wire.
func TestAnswersThatNoKeeperGives(t *testing.T) {
	many := make([]Container, 1000)
	data, err := json.Marshal(&Response{Containers: many})
	require.NoError(t, err)
	var resp Response
	require.NoError(t, json.Unmarshal(data, &resp), "the shortest that a keeper writes")
	require.Len(t, resp.Containers, len(many))

	for text, want := range map[string]error{
		`{"Containers":[` + strings.Repeat("{},", 1<<20) + `{}]}`: errShortRecords,
		`{"Containers":"none"}`:                                   errNoList,
		`{"Containers":{"ID":"a"}}`:                               errNoList,
	} {
		var resp Response
		require.ErrorIs(t, json.Unmarshal([]byte(text), &resp), want)
		require.LessOrEqual(t, len(resp.Containers), len(text)/minContainer)
	}
	require.NoError(t, json.Unmarshal([]byte(`{"Containers":null}`), &resp))
	require.Empty(t, resp.Containers)
}
