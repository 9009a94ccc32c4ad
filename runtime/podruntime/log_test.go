package podruntime

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

const stamp = "2026-01-02T15:04:05.000000001Z"

func TestParseLine(t *testing.T) {
	for _, tc := range []struct {
		line, text string
		ok         bool
		partial    bool
	}{
		{stamp + " stdout F hello\n", "hello\n", true, false},
		{stamp + " stderr P hel\n", "hel\n", true, true},
		{stamp + " stdout F:x:y a b\n", "a b\n", true, false},
		{stamp + " stdout F \n", "\n", true, false},
		{stamp + " stdout F\n", "\n", true, false},
		{"2026-01-02T15:04:05+02:00 stdout F x\n", "x\n", true, false},
		{stamp + " stdin F x\n", "", false, false},
		{stamp + " stdout X x\n", "", false, false},
		{"yesterday stdout F x\n", "", false, false},
		{stamp + "\n", "", false, false},
		{"\n", "", false, false},
		{"", "", false, false},
	} {
		h, text, ok := parseLine([]byte(tc.line))
		require.Equal(t, tc.ok, ok, "%q", tc.line)
		require.Equal(t, tc.text, string(text), "%q", tc.line)
		require.Equal(t, tc.partial, h.partial, "%q", tc.line)
	}
}

// writeLog writes files of a log, given as suffix and content in turn, and
// returns its path.
func writeLog(t testing.TB, files ...string) string {
	path := filepath.Join(t.TempDir(), "0.log")
	for i := 0; i < len(files); i += 2 {
		require.NoError(t, os.WriteFile(path+files[i], []byte(files[i+1]), 0o600))
	}
	return path
}

func lineAt(second int, tag, text string) string {
	return fmt.Sprintf("2026-01-02T15:04:%02dZ stdout %s %s\n", second, tag, text)
}

func readLog(t testing.TB, path string, opts runtime.LogOptions) string {
	s, err := openLog(t.Context(), path, opts, func(context.Context) bool { return false })
	require.NoError(t, err)
	defer s.Close()
	data, err := io.ReadAll(s)
	require.NoError(t, err)
	return string(data)
}

func TestReadLog(t *testing.T) {
	path := writeLog(t,
		".20260102-150401", lineAt(1, "F", "one"),
		".20260102-150403", lineAt(2, "P", "tw")+lineAt(3, "F", "o"),
		".20260102-150402.gz", "not looked at",
		"", lineAt(4, "F", "three")+"rubbish\n"+lineAt(5, "F", "four"))
	since := time.Date(2026, 1, 2, 15, 4, 4, 0, time.UTC)
	for _, tc := range []struct {
		name string
		opts runtime.LogOptions
		want string
	}{
		{"all, rotated files first", runtime.LogOptions{}, "one\ntwo\nthree\nfour\n"},
		{"tail in the live file", runtime.LogOptions{TailLines: 1}, "four\n"},
		{"tail over files, pieces count as one", runtime.LogOptions{TailLines: 4}, "two\nthree\nfour\n"},
		{"tail of more than there is", runtime.LogOptions{TailLines: 99}, "one\ntwo\nthree\nfour\n"},
		{"since", runtime.LogOptions{SinceTime: since}, "three\nfour\n"},
		{"with times", runtime.LogOptions{Timestamps: true, TailLines: 5},
			"2026-01-02T15:04:01Z one\n2026-01-02T15:04:02Z two\n2026-01-02T15:04:04Z three\n2026-01-02T15:04:05Z four\n"},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, readLog(t, path, tc.opts)) })
	}
	require.Empty(t, readLog(t, filepath.Join(t.TempDir(), "gone", "0.log"), runtime.LogOptions{TailLines: 3}))
}

func TestLogWithoutItsEnd(t *testing.T) {
	path := writeLog(t, "", lineAt(1, "F", "one")+strings.TrimSuffix(lineAt(2, "F", "cut"), "\n"))
	require.Equal(t, "one\ncut", readLog(t, path, runtime.LogOptions{}))
	require.Equal(t, "cut", readLog(t, path, runtime.LogOptions{TailLines: 1}))
}

func TestLineOverARotation(t *testing.T) {
	path := writeLog(t,
		".20260102-150401", lineAt(1, "P", "on"),
		".20260102-150402", strings.TrimSuffix(lineAt(2, "F", "e and cut"), "\n"),
		"", lineAt(3, "F", "two"))
	require.Equal(t, "2026-01-02T15:04:01Z one and cut2026-01-02T15:04:03Z two\n",
		readLog(t, path, runtime.LogOptions{Timestamps: true}))
}

func TestLongLine(t *testing.T) {
	text := strings.Repeat("0123456789", 100_000)
	path := writeLog(t, "", lineAt(1, "F", text)+lineAt(2, "F", "end"))
	require.Equal(t, text+"\nend\n", readLog(t, path, runtime.LogOptions{}))
	require.Equal(t, "end\n", readLog(t, path, runtime.LogOptions{TailLines: 1}))
	require.Equal(t, text+"\nend\n", readLog(t, path, runtime.LogOptions{TailLines: 2}))
}

func TestLogIsNoFIFOAndNoLink(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("s"), 0o600))
	require.NoError(t, os.Symlink(secret, filepath.Join(dir, "0.log")))
	_, err := openLog(t.Context(), filepath.Join(dir, "0.log"), runtime.LogOptions{}, nil)
	require.ErrorContains(t, err, "escapes")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "1.log"), 0o700))
	_, err = openLog(t.Context(), filepath.Join(dir, "1.log"), runtime.LogOptions{}, nil)
	require.Error(t, err)
}

// A log that is followed goes on over a rotation, and ends with its container.
func TestFollow(t *testing.T) {
	path := writeLog(t, "", lineAt(1, "F", "one"))
	appendTo := func(text string) {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		require.NoError(t, err)
		_, err = f.WriteString(text)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	looks := 0
	s, err := openLog(t.Context(), path, runtime.LogOptions{Follow: true}, func(context.Context) bool {
		looks++
		switch looks {
		case 1:
			appendTo(strings.TrimSuffix(lineAt(2, "F", "two"), "two\n"))
		case 2:
			appendTo("two\n")
			require.NoError(t, os.Rename(path, path+".20260102-150402"))
			appendTo(lineAt(3, "F", "three"))
		case 3:
			appendTo(lineAt(4, "F", "last words"))
			return false
		}
		return true
	})
	require.NoError(t, err)
	defer s.Close()
	data, err := io.ReadAll(s)
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\nthree\nlast words\n", string(data))
}

func TestFollowEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := openLog(ctx, writeLog(t), runtime.LogOptions{Follow: true}, func(context.Context) bool { cancel(); return true })
	require.NoError(t, err)
	defer s.Close()
	_, err = io.ReadAll(s)
	require.ErrorIs(t, err, context.Canceled)
}

func TestRestartsByLogs(t *testing.T) {
	l := layout{root: t.TempDir()}
	ref := runtime.PodRef{UID: "u", Namespace: "n", Name: "p"}
	require.Zero(t, l.restartsByLogs(ref, "main"), "no folder")
	for _, tc := range []struct {
		files []string
		want  int32
	}{
		{nil, 0},
		{[]string{"0.log"}, 1},
		{[]string{"5.log", "57.log", "145.log"}, 146},
		{[]string{"5.log.rotated", "57.log.rotated", "145.log.log.rotated"}, 146},
		{[]string{"5.log", "57.log.rotated", "23a.log", "rotated.23.log"}, 58},
		{[]string{"-1.log", "+7.log", ".log", "99999999999999999999.log", "2147483647.log"}, 0},
	} {
		dir := l.containerLogDir(ref, "main")
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.MkdirAll(dir, 0o755))
		for _, f := range tc.files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, f), nil, 0o600))
		}
		require.Equal(t, tc.want, l.restartsByLogs(ref, "main"), "%v", tc.files)
	}
}

func TestTerminationMessage(t *testing.T) {
	for _, tc := range []struct {
		name   string
		policy v1.TerminationMessagePolicy
		file   string
		log    string
		exit   runtime.Container
		want   string
	}{
		{name: "nothing"},
		{name: "the file", file: "bye", want: "bye"},
		{name: "with the backend's own", file: "bye", exit: runtime.Container{Message: "oom"}, want: "oom: bye"},
		{name: "the backend's own", exit: runtime.Container{Message: "oom"}, want: "oom"},
		{name: "the end of the file", file: strings.Repeat("a", 5000) + "z", want: strings.Repeat("a", 4095) + "z"},
		{name: "the log, if it failed in silence", policy: v1.TerminationMessageFallbackToLogsOnError,
			log: lineAt(1, "F", "panic"), exit: runtime.Container{ExitCode: 1}, want: "panic\n"},
		{name: "not the log, if the policy does not say so", log: lineAt(1, "F", "panic"), exit: runtime.Container{ExitCode: 1}},
		{name: "not the log, if it succeeded", policy: v1.TerminationMessageFallbackToLogsOnError, log: lineAt(1, "F", "panic")},
		{name: "not the log, if it could not run", policy: v1.TerminationMessageFallbackToLogsOnError,
			log: lineAt(1, "F", "panic"), exit: runtime.Container{ExitCode: 1, Reason: "ContainerCannotRun"}},
		{name: "not the log, if it left a message", policy: v1.TerminationMessageFallbackToLogsOnError,
			file: "bye", log: lineAt(1, "F", "panic"), exit: runtime.Container{ExitCode: 1}, want: "bye"},
		{name: "80 lines of the log", policy: v1.TerminationMessageFallbackToLogsOnError,
			log: strings.Repeat(lineAt(1, "F", "x"), 100), exit: runtime.Container{ExitCode: 1}, want: strings.Repeat("x\n", 80)},
		{name: "2048 bytes of the log", policy: v1.TerminationMessageFallbackToLogsOnError,
			log: lineAt(1, "F", strings.Repeat("x", 3000)), exit: runtime.Container{ExitCode: 1}, want: strings.Repeat("x", 2047) + "\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := layout{root: t.TempDir()}
			c := tc.exit
			c.PodUID, c.Name, c.Attempt = "u", "main", 3
			mounts, err := l.makeMessage("u", &v1.Container{Name: "main", TerminationMessagePath: "/dev/termination-log"}, 3)
			require.NoError(t, err)
			require.Len(t, mounts, 1)
			require.Equal(t, "termination-log", mounts[0].Name)
			require.NoError(t, os.WriteFile(mounts[0].HostPath, []byte(tc.file), 0o666))
			c.LogPath = writeLog(t, "", tc.log)
			c.Annotations = map[string]string{
				messagePathAnnotation: "/dev/termination-log", messagePolicyAnnotation: string(tc.policy),
			}
			require.Equal(t, tc.want, l.exitMessage(&c))
		})
	}
}

func TestHostileTerminationMessage(t *testing.T) {
	l := layout{root: t.TempDir()}
	spec := &v1.Container{Name: "main", TerminationMessagePath: "/dev/termination-log"}
	mounts, err := l.makeMessage("u", spec, 0)
	require.NoError(t, err)
	path := mounts[0].HostPath
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Symlink("/etc/passwd", path))
	require.Empty(t, l.readMessage("u", "main", 0), "a link out of the folder is not followed")
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o700))
	require.Empty(t, l.readMessage("u", "main", 0), "a folder is no message")
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path, []byte{0xff, 'a'}, 0o600))
	require.Equal(t, "\uFFFDa", l.readMessage("u", "main", 0), "it is text")
	require.Empty(t, l.readMessage("..", "main", 0))
	none, err := l.makeMessage("u", &v1.Container{Name: "main"}, 0)
	require.NoError(t, err)
	require.Empty(t, none)
}

// However a log is cut into files and reads, what comes out is the same, and it
// is never more than went in.
func FuzzLogLines(f *testing.F) {
	f.Add([]byte(lineAt(1, "F", "one")+lineAt(2, "P", "tw")+lineAt(3, "F", "o")), 2, 7)
	f.Add([]byte("rubbish\n\n"+stamp+" stdout F\n"+stamp+" stderr P:x"), 1, 1)
	f.Add([]byte(stamp+" stdout F "+strings.Repeat("x", 300)), 3, 200)
	f.Fuzz(func(t *testing.T, data []byte, tail, chunk int) {
		whole, err := io.ReadAll(newLineReader(bytes.NewReader(data), runtime.LogOptions{}))
		if err != nil || len(whole) > len(data) {
			t.Fatalf("%d bytes of %d, %v", len(whole), len(data), err)
		}
		pieces := &growing{data: data, step: 1 + chunk&0xff}
		grown := newLineReader(pieces, runtime.LogOptions{})
		var out []byte
		for !pieces.grow() {
			more, err := io.ReadAll(grown)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, more...)
		}
		if !bytes.Equal(out, whole) {
			t.Fatalf("in pieces %q, at once %q", out, whole)
		}
		path := filepath.Join(t.TempDir(), "0.log")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		all := readLog(t, path, runtime.LogOptions{})
		end := readLog(t, path, runtime.LogOptions{TailLines: tail & 0xff})
		if !strings.HasSuffix(all, end) {
			t.Fatalf("the tail %q is no end of %q", end, all)
		}
	})
}

// growing is a file that is written to while it is read.
type growing struct {
	data      []byte
	step      int
	pos, size int
}

// grow makes more of the data readable, and returns true after the last of it.
func (g *growing) grow() bool {
	if g.size == len(g.data) {
		return true
	}
	g.size = min(g.size+g.step, len(g.data))
	return false
}

func (g *growing) Read(p []byte) (int, error) {
	n := copy(p, g.data[g.pos:g.size])
	g.pos += n
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}
