//go:build linux

package process_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/process"
)

// longGrace is one that no test waits out.
const longGrace = time.Hour

const secret = "s3cr3t-value-of-the-test"

// mainPID is the first process of a container: the one that carries its marker
// and leads a session.
func mainPID(t testing.TB, n *node, id string) int {
	t.Helper()
	require.Equal(t, runtime.StateRunning, n.status(id).State)
	for _, pid := range marked(id) {
		if sid, err := syscall.Getpgid(pid); err == nil && sid == pid {
			return pid
		}
	}
	require.FailNow(t, "no process of "+id)
	return 0
}

// marked are the processes that carry a container's marker.
func marked(id string) []int {
	var pids []int
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		env, _ := os.ReadFile(dir + "/environ")
		if bytes.Contains(env, []byte("KUBEPARTS_ID="+id)) {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestAdoption(t *testing.T) {
	n := newNode(t)
	sandbox := n.sandbox("pod")
	id := n.start(sandbox, n.config("main", "exec sleep 1000000"))
	pid, before := mainPID(t, n, id), n.status(id)
	created, err := n.CreateContainer(t.Context(), sandbox, n.config("later", "echo $LATER; exec sleep 1000000"))
	require.NoError(t, err)

	n.reopen()
	require.Empty(t, n.Problems())
	after := n.status(id)
	require.True(t, before.StartedAt.Equal(after.StartedAt))
	after.StartedAt, after.CreatedAt = before.StartedAt, before.CreatedAt
	require.Equal(t, before, after)
	require.Equal(t, pid, mainPID(t, n, id))
	sb, err := n.SandboxStatus(t.Context(), sandbox)
	require.NoError(t, err)
	require.True(t, sb.Ready)
	require.Equal(t, []string{"127.0.0.1"}, sb.IPs)
	require.Equal(t, map[string]string{"text": "a\nb"}, sb.Annotations)

	// What was made before the restart can be started after it.
	require.NoError(t, n.StartContainer(t.Context(), created))
	require.NoError(t, n.StopContainer(t.Context(), id, longGrace))
	require.False(t, alive(pid))
	_, err = n.CreateSandbox(t.Context(), runtime.SandboxConfig{PodRef: runtime.PodRef{UID: "uid-pod"}})
	require.ErrorContains(t, err, "attempt 0 is taken")
}

// What a container leaves in its group, in another session or with nobody as
// its parent ends with it, whether it ends by itself or is stopped.
func TestNothingIsLeftBehind(t *testing.T) {
	escapes := map[string]string{
		"child":               `sleep 1000000 & echo $!; `,
		"deaf child":          `(trap "" TERM HUP; sleep 1000000) & echo $!; `,
		"daemon":              `setsid sh -c 'echo $$; exec sleep 1000000' & sleep 0.1; `,
		"daemon's child":      `setsid sh -c 'sleep 1000000 & echo $!' ; `,
		"daemon with no name": `env -i /usr/bin/setsid /bin/sh -c 'sleep 1000000 & echo $!' ; `,
	}
	ends := map[string]func(n *node, id, sandbox string){
		"by itself": func(n *node, id, _ string) { require.NoError(n.t, os.WriteFile(n.logs+"/go", nil, 0o600)) },
		"stopped":   func(n *node, id, _ string) { require.NoError(n.t, n.StopContainer(n.t.Context(), id, longGrace)) },
		"killed":    func(n *node, id, _ string) { require.NoError(n.t, n.StopContainer(n.t.Context(), id, 0)) },
		"removed":   func(n *node, id, _ string) { require.NoError(n.t, n.RemoveContainer(n.t.Context(), id)) },
		"sandbox stopped": func(n *node, _, sandbox string) {
			require.NoError(n.t, n.StopSandbox(n.t.Context(), sandbox))
		},
	}
	for escape, script := range escapes {
		for end, do := range ends {
			t.Run(escape+"/"+end, func(t *testing.T) {
				t.Parallel()
				n := newNode(t)
				sandbox := n.sandbox("pod")
				id := n.start(sandbox, n.config("main", script+`until test -e "$1"; do sleep 0.01; done`, n.logs+"/go"))
				pid := n.saidPID("main")
				require.True(t, alive(pid))
				do(n, id, sandbox)
				if end != "removed" {
					n.exited(id)
				}
				require.False(t, alive(pid))
			})
		}
	}
}

// A container that ends takes nothing of its neighbours with it.
func TestNeighboursLive(t *testing.T) {
	n := newNode(t)
	sandbox := n.sandbox("pod")
	other := n.start(sandbox, n.config("other", "setsid sh -c 'sleep 1000000 & echo $!'; exec sleep 1000000"))
	daemon := n.saidPID("other")
	id := n.start(sandbox, n.config("main", "setsid sh -c 'sleep 1000000 & echo $!'; exec sleep 1000000"))
	gone := n.saidPID("main")
	require.NoError(t, n.StopContainer(t.Context(), id, longGrace))
	require.False(t, alive(gone))
	require.True(t, alive(daemon))
	require.Equal(t, runtime.StateRunning, n.status(other).State)
}

// A keeper that was killed takes its containers with it, and the backend says
// so, at once to those who watch.
func TestKilledKeeper(t *testing.T) {
	for _, when := range []string{"seen", "unseen"} {
		t.Run(when, func(t *testing.T) {
			n := newNode(t)
			sandbox := n.sandbox("pod")
			id := n.start(sandbox, n.config("main", "setsid sh -c 'sleep 1000000 & echo $!'; exec sleep 1000000"))
			ended := n.start(sandbox, n.config("ended", "exit 3"))
			n.exited(ended)
			daemon, pid := n.saidPID("main"), mainPID(t, n, id)

			told := make(chan types.UID, 100)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error)
			go func() { done <- n.Watch(ctx, func(uid types.UID) { told <- uid }) }()
			require.Equal(t, types.UID("uid-pod"), <-told)

			if when == "unseen" {
				cancel()
				require.ErrorIs(t, <-done, context.Canceled)
			}
			require.NoError(t, syscall.Kill(parent(t, pid), syscall.SIGKILL))
			if when == "seen" {
				require.Equal(t, types.UID("uid-pod"), <-told)
				cancel()
				require.ErrorIs(t, <-done, context.Canceled)
			} else {
				eventually(t, func() bool { return !alive(pid) })
				n.reopen()
			}

			st := n.status(id)
			require.Equal(t, runtime.StateExited, st.State)
			require.EqualValues(t, 137, st.ExitCode)
			require.Equal(t, "ContainerStatusUnknown", st.Reason)
			require.Contains(t, st.Message, "the keeper of the sandbox was killed")
			require.False(t, st.FinishedAt.IsZero())
			require.False(t, alive(pid))
			require.False(t, alive(daemon), "what left its session is found by its marker")
			require.EqualValues(t, 3, n.status(ended).ExitCode)

			sb, err := n.SandboxStatus(t.Context(), sandbox)
			require.NoError(t, err)
			require.False(t, sb.Ready)
			require.Empty(t, sb.IPs)
			_, err = n.CreateContainer(t.Context(), sandbox, n.config("next", "true"))
			require.ErrorContains(t, err, "the sandbox is not ready")
			require.NoError(t, n.RemoveContainer(t.Context(), id))
			_, err = n.ContainerStatus(t.Context(), id)
			require.ErrorIs(t, err, runtime.ErrNotFound)
		})
	}
}

func TestExec(t *testing.T) {
	n := newNode(t)
	cfg := n.config("main", "exec sleep 1000000")
	cfg.Env = []runtime.EnvVar{{Name: "GREETING", Value: "hello world"}}
	cfg.WorkingDir = n.logs
	id := n.start(n.sandbox("pod"), cfg)
	var out, errs bytes.Buffer
	code, err := n.Exec(t.Context(), id,
		[]string{"sh", "-c", `echo "$GREETING"; pwd; cat; echo oops >&2; exit 3`},
		runtime.ExecIO{Stdin: strings.NewReader("from stdin\n"), Stdout: &out, Stderr: &errs})
	require.NoError(t, err)
	require.Equal(t, 3, code)
	require.Equal(t, "hello world\n"+n.logs+"\nfrom stdin\n", out.String())
	require.Equal(t, "oops\n", errs.String())

	_, err = n.Exec(t.Context(), id, []string{"no-such-program"}, runtime.ExecIO{})
	require.ErrorContains(t, err, "executable file not found in $PATH")
	code, err = n.Exec(t.Context(), id, []string{"sh", "-c", "kill -9 $$"}, runtime.ExecIO{})
	require.NoError(t, err)
	require.Equal(t, 137, code)

	require.NoError(t, n.StopContainer(t.Context(), id, 0))
	_, err = n.Exec(t.Context(), id, []string{"true"}, runtime.ExecIO{})
	require.ErrorContains(t, err, "not running")
}

// Output that is longer than any buffer arrives whole, though the command ends
// before it was read.
func TestExecOutputIsWhole(t *testing.T) {
	n := newNode(t)
	id := n.run("pod", "exec sleep 1000000")
	var out bytes.Buffer
	code, err := n.Exec(t.Context(), id, []string{"head", "-c", "1000000", "/dev/zero"}, runtime.ExecIO{Stdout: &out})
	require.NoError(t, err)
	require.Zero(t, code)
	require.Equal(t, 1_000_000, out.Len())
}

// What a command leaves in the background neither holds it up nor survives the
// container.
func TestExecInBackground(t *testing.T) {
	n := newNode(t)
	id := n.run("pod", "exec sleep 1000000")
	var out bytes.Buffer
	code, err := n.Exec(t.Context(), id, []string{"sh", "-c", "sleep 1000000 & echo $!"}, runtime.ExecIO{Stdout: &out})
	require.NoError(t, err)
	require.Zero(t, code)
	pid, err := strconv.Atoi(strings.TrimSpace(out.String()))
	require.NoError(t, err)
	require.True(t, alive(pid))
	require.NoError(t, n.StopContainer(t.Context(), id, longGrace))
	require.False(t, alive(pid))
}

// A command that is given up ends with all that it started, the container lives.
func TestExecGivenUp(t *testing.T) {
	n := newNode(t)
	id := n.run("pod", "exec sleep 1000000")
	pids := filepath.Join(n.logs, "pids")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		eventually(t, func() bool {
			data, _ := os.ReadFile(pids)
			return strings.Count(string(data), "\n") == 3
		})
		cancel()
	}()
	_, err := n.Exec(ctx, id, []string{"sh", "-c",
		`trap "" TERM; echo $$ > "$1"; setsid sh -c 'sleep 1000000 & echo $! >> "$1"' sh "$1"; sleep 1000000 & echo $! >> "$1"; wait`, "sh", pids},
		runtime.ExecIO{Stdout: new(bytes.Buffer)})
	require.ErrorIs(t, err, context.Canceled)
	data, err := os.ReadFile(pids)
	require.NoError(t, err)
	for _, field := range strings.Fields(string(data)) {
		pid, err := strconv.Atoi(field)
		require.NoError(t, err)
		require.False(t, alive(pid))
	}
	require.Equal(t, runtime.StateRunning, n.status(id).State)
}

func TestEnvironment(t *testing.T) {
	t.Setenv("AGENTS_OWN", "not for pods")
	n := newNode(t)
	cfg := n.config("main", "pwd; env | sort | cut -d= -f1 | tr '\n' ' '; echo; echo $KUBEPARTS_MOUNT_TERMINATION_LOG; exec sleep 1000000")
	cfg.Env = []runtime.EnvVar{{Name: "A", Value: "1"}}
	cfg.Mounts = []runtime.Mount{{Name: "termination-log", HostPath: "/tmp/message", ContainerPath: "/dev/termination-log"}}
	id := n.start(n.sandbox("pod"), cfg)
	var lines []string
	eventually(t, func() bool {
		lines = nil
		for line := range strings.Lines(n.log("main")) {
			_, text, _ := strings.Cut(strings.TrimSpace(line), " F ")
			lines = append(lines, text)
		}
		return len(lines) == 3
	})
	require.True(t, strings.HasPrefix(lines[0], n.root), lines[0])
	require.Equal(t, "A HOME KUBEPARTS_ID KUBEPARTS_MOUNT_TERMINATION_LOG PATH PWD ", lines[1]+" ")
	require.Equal(t, "/tmp/message", lines[2])
	require.NoError(t, n.RemoveContainer(t.Context(), id))
	require.NoDirExists(t, lines[0])
}

// Environments and arguments are in memory alone, the agent's own too.
func TestSecretsStayOffTheDisk(t *testing.T) {
	t.Setenv("AGENTS_SECRET", secret)
	n := newNode(t)
	cfg := n.config("main", "test \"$PASSWORD\" && exec sleep 1000000", secret)
	cfg.Env = []runtime.EnvVar{{Name: "PASSWORD", Value: secret}}
	id := n.start(n.sandbox("pod"), cfg)
	pid := mainPID(t, n, id)
	for _, file := range []string{"environ", "cmdline"} {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", parent(t, pid), file))
		require.NoError(t, err)
		require.NotContains(t, string(data), secret, "of the keeper")
	}
	require.Empty(t, grep(t, n.root, secret))
	require.NoError(t, n.StopContainer(t.Context(), id, 0))
	require.Empty(t, grep(t, n.root, secret))
}

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

func TestStartErrors(t *testing.T) {
	n := newNode(t)
	sandbox := n.sandbox("pod")
	cases := map[string]struct {
		bend   func(cfg *runtime.ContainerConfig)
		create string // the error of CreateContainer
		start  string // the error of StartContainer
	}{
		"no command":      {bend: func(c *runtime.ContainerConfig) { c.Command = nil }, create: "it has no command"},
		"no folder":       {bend: func(c *runtime.ContainerConfig) { c.WorkingDir = "/no/such" }, create: "working directory: stat /no/such"},
		"a file":          {bend: func(c *runtime.ContainerConfig) { c.WorkingDir = "/etc/passwd" }, create: "/etc/passwd is no folder"},
		"no program":      {bend: func(c *runtime.ContainerConfig) { c.Command = []string{"no-such"} }, start: `"no-such": executable file not found in $PATH`},
		"no path":         {bend: func(c *runtime.ContainerConfig) { c.Command = []string{"/no/such"} }, start: "exec /no/such: no such file or directory"},
		"no executable":   {bend: func(c *runtime.ContainerConfig) { c.Command = []string{"/etc/passwd"} }, start: "exec /etc/passwd: permission denied"},
		"zero byte":       {bend: func(c *runtime.ContainerConfig) { c.Args = []string{"a\x00b"} }, start: "invalid argument"},
		"no signal":       {bend: func(c *runtime.ContainerConfig) { c.StopSignal = "SIGFOO" }, create: `unknown stop signal "SIGFOO"`},
		"log is a folder": {bend: func(c *runtime.ContainerConfig) { c.LogPath = n.logs }, start: "is a directory"},
		"read-only": {bend: func(c *runtime.ContainerConfig) {
			c.SecurityContext = &v1.SecurityContext{ReadOnlyRootFilesystem: new(true)}
		}, create: "securityContext.readOnlyRootFilesystem: Forbidden"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cfg := n.config(strings.ReplaceAll(name, " ", "-"), "true")
			tc.bend(&cfg)
			id, err := n.CreateContainer(t.Context(), sandbox, cfg)
			if tc.create != "" {
				require.ErrorContains(t, err, tc.create)
				return
			}
			require.NoError(t, err)
			require.ErrorContains(t, n.StartContainer(t.Context(), id), tc.start)
			st := n.status(id)
			require.Equal(t, runtime.StateExited, st.State)
			require.EqualValues(t, 128, st.ExitCode)
			require.Equal(t, "StartError", st.Reason)
			require.Contains(t, st.Message, tc.start)
		})
	}
}

func TestStopSignal(t *testing.T) {
	n := newNode(t)
	cfg := n.config("main", `trap 'exit 5' USR1; trap 'exit 6' TERM; echo ready; while :; do sleep 0.01; done`)
	cfg.StopSignal = "SIGUSR1"
	id := n.start(n.sandbox("pod"), cfg)
	n.said("main")
	require.NoError(t, n.StopContainer(t.Context(), id, longGrace))
	require.EqualValues(t, 5, n.status(id).ExitCode)
}

func TestLongRoot(t *testing.T) {
	n := &node{t: t, root: filepath.Join(t.TempDir(), strings.Repeat("long/", 30), "root"), logs: t.TempDir()}
	n.open()
	t.Cleanup(n.clear)
	id := n.run("pod", "exec sleep 1000000")
	require.Equal(t, runtime.StateRunning, n.status(id).State)
}

func TestStats(t *testing.T) {
	n := newNode(t)
	n.run("pod", "sleep 1000000 & i=0; while test $i -lt 300000; do i=$((i+1)); done; echo done; wait")
	n.said("pod")
	stats, err := n.PodStats(t.Context(), "uid-pod")
	require.NoError(t, err)
	require.Equal(t, "pod", stats.Name)
	require.Len(t, stats.Containers, 1)
	c := stats.Containers[0]
	require.EqualValues(t, 2, *c.Processes)
	require.Positive(t, *c.CPU)
	require.Positive(t, *c.MemoryBytes)
	_, err = n.PodStats(t.Context(), "uid-of-nobody")
	require.ErrorIs(t, err, runtime.ErrNotFound)
}

func TestUsersAndPrivileges(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root's rights")
	}
	// Others must be able to pass through the folders of the test.
	dir, err := os.MkdirTemp("", "process")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	n := &node{t: t, root: filepath.Join(dir, "root"), logs: t.TempDir()}
	n.open()
	t.Cleanup(n.clear)
	sandbox, err := n.CreateSandbox(t.Context(), runtime.SandboxConfig{
		PodRef:          runtime.PodRef{UID: "uid", Name: "pod"},
		SecurityContext: &v1.PodSecurityContext{FSGroup: new(int64(3000)), SupplementalGroups: []int64{4000}},
	})
	require.NoError(t, err)
	cfg := n.config("main", `id -u; id -g; id -G; touch here && echo wrote; grep NoNewPrivs /proc/self/status | cut -f2`)
	cfg.SecurityContext = &v1.SecurityContext{
		RunAsUser: new(int64(1234)), RunAsGroup: new(int64(2345)), AllowPrivilegeEscalation: new(false), RunAsNonRoot: new(true),
	}
	id := n.start(sandbox, cfg)
	n.exited(id)
	var said []string
	for line := range strings.Lines(n.log("main")) {
		_, text, _ := strings.Cut(strings.TrimSpace(line), " F ")
		said = append(said, text)
	}
	require.Equal(t, []string{"1234", "2345", "2345 3000 4000", "wrote", "1"}, said)
}

// State that was damaged is set aside and told of; the other sandboxes live.
func TestDamagedState(t *testing.T) {
	damage := func(t *testing.T, path string) {
		t.Helper()
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		data[len(data)-1] ^= 1
		require.NoError(t, os.WriteFile(path, data, 0o600))
	}
	t.Run("sandbox, its keeper lives", func(t *testing.T) {
		n := newNode(t)
		id := n.run("pod", "exec sleep 1000000")
		sandbox := n.status(id).SandboxID
		damage(t, filepath.Join(n.root, "s", sandbox, "sandbox"))
		n.reopen()
		require.Len(t, n.Problems(), 1)
		require.ErrorContains(t, n.Problems()[0], "record sandbox in")
		require.Equal(t, runtime.StateRunning, n.status(id).State)
		n.reopen()
		require.Empty(t, n.Problems(), "it was mended")
		require.Equal(t, runtime.StateRunning, n.status(id).State)
	})
	t.Run("sandbox, its keeper is dead", func(t *testing.T) {
		n := newNode(t)
		lives := n.run("lives", "exec sleep 1000000")
		id := n.run("pod", "setsid sh -c 'sleep 1000000 & echo $!'; exec sleep 1000000")
		daemon := n.saidPID("pod")
		sandbox := n.status(id).SandboxID
		require.NoError(t, syscall.Kill(parent(t, mainPID(t, n, id)), syscall.SIGKILL))
		damage(t, filepath.Join(n.root, "s", sandbox, "sandbox"))
		require.NoError(t, n.Close())
		n.open()
		require.Len(t, n.Problems(), 1)
		require.False(t, alive(daemon))
		_, err := n.ContainerStatus(t.Context(), id)
		require.ErrorIs(t, err, runtime.ErrNotFound)
		aside, err := filepath.Glob(filepath.Join(n.root, "s", sandbox, "sandbox.corrupt-*"))
		require.NoError(t, err)
		require.Len(t, aside, 1)
		require.Equal(t, runtime.StateRunning, n.status(lives).State)
	})
	t.Run("container", func(t *testing.T) {
		n := newNode(t)
		sandbox := n.sandbox("pod")
		lost := n.start(sandbox, n.config("lost", "setsid sh -c 'sleep 1000000 & echo $!'; exec sleep 1000000"))
		kept := n.start(sandbox, n.config("kept", "exit 3"))
		daemon := n.saidPID("lost")
		n.exited(kept)
		_, suffix, _ := strings.Cut(lost, "-")
		damage(t, filepath.Join(n.root, "s", sandbox, "c-"+suffix))
		require.Equal(t, runtime.StateRunning, n.status(lost).State, "the keeper knows better")
		require.NoError(t, syscall.Kill(parent(t, mainPID(t, n, lost)), syscall.SIGKILL))
		require.EqualValues(t, 3, n.exited(kept).ExitCode)
		_, err := n.ContainerStatus(t.Context(), lost)
		require.ErrorIs(t, err, runtime.ErrNotFound)
		require.False(t, alive(daemon))
	})
	t.Run("making cut short", func(t *testing.T) {
		n := newNode(t)
		half := filepath.Join(n.root, "s", strings.Repeat("ab", 12))
		require.NoError(t, os.Mkdir(half, 0o700))
		n.reopen()
		require.Empty(t, n.Problems())
		require.NoDirExists(t, half)
	})
}

// A keeper that somebody stopped (SIGSTOP) harms no other pod: its containers
// are in an unknown state meanwhile.
func TestStoppedKeeper(t *testing.T) {
	n := newNode(t)
	process.SetPatience(n.Backend, 100*time.Millisecond)
	id, other := n.run("pod", "exec sleep 1000000"), n.run("other", "exec sleep 1000000")
	k := parent(t, mainPID(t, n, id))
	require.NoError(t, syscall.Kill(k, syscall.SIGSTOP))
	defer func() { _ = syscall.Kill(k, syscall.SIGCONT) }()
	require.Equal(t, runtime.StateUnknown, n.status(id).State)
	list, err := n.ListContainers(t.Context(), runtime.Filter{})
	require.NoError(t, err)
	states := map[string]runtime.State{}
	for _, c := range list {
		states[c.ID] = c.State
	}
	require.Equal(t, map[string]runtime.State{id: runtime.StateUnknown, other: runtime.StateRunning}, states)
	process.SetPatience(n.Backend, time.Minute)
	require.NoError(t, syscall.Kill(k, syscall.SIGCONT))
	require.Equal(t, runtime.StateRunning, n.status(id).State)
}

func TestConfig(t *testing.T) {
	_, err := process.New(process.Config{})
	require.EqualError(t, err, "process: Config.Root is required")
	_, err = process.New(process.Config{Root: t.TempDir(), MaxLogFiles: 1})
	require.EqualError(t, err, "process: Config.MaxLogFiles must be at least 2")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = process.New(process.Config{Root: file})
	require.ErrorContains(t, err, "process: root: mkdir "+file)
}

// Hostile names and IDs reach no path.
func TestHostileIDs(t *testing.T) {
	n := newNode(t)
	for _, id := range []string{"", "..", "../../etc", strings.Repeat("a", 24), strings.Repeat("a", 24) + "-../../../../x", "a-b"} {
		_, err := n.ContainerStatus(t.Context(), id)
		require.ErrorIs(t, err, runtime.ErrNotFound)
		require.NoError(t, n.RemoveContainer(t.Context(), id))
		require.NoError(t, n.RemoveSandbox(t.Context(), id))
		_, err = n.Exec(t.Context(), id, []string{"true"}, runtime.ExecIO{})
		require.ErrorIs(t, err, runtime.ErrNotFound)
	}
	sandbox, err := n.CreateSandbox(t.Context(), runtime.SandboxConfig{PodRef: runtime.PodRef{UID: "../../x", Namespace: "../y", Name: "z\x01/../.."}})
	require.NoError(t, err)
	id := n.start(sandbox, n.config("main", "true"))
	require.Equal(t, "Completed", n.exited(id).Reason)
	_, err = n.CreateSandbox(t.Context(), runtime.SandboxConfig{})
	require.ErrorContains(t, err, "the pod has no UID")
	require.False(t, errors.Is(err, runtime.ErrNotFound))
}
