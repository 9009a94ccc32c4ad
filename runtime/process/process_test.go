//go:build linux

package process_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/process"
)

// longGrace is one that no test waits out.
const longGrace = time.Hour

const secret = "s3cr3t-value-of-the-test"

// mainPID is the first process of a container: the one that carries its marker
// and leads a session. While it executes another program its environment can't
// be read.
func mainPID(t testing.TB, n *node, id string) (pid int) {
	t.Helper()
	require.Equal(t, runtime.StateRunning, n.status(id).State)
	eventually(t, func() bool {
		for _, pid = range marked(id) {
			if sid, err := syscall.Getpgid(pid); err == nil && sid == pid {
				return true
			}
		}
		return false
	})
	return pid
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
