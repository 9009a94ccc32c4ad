//go:build linux

package process_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/process"
)

func TestMain(m *testing.M) {
	if root := os.Getenv(agentEnv); root != "" {
		runAgent(root)
		return
	}
	code := m.Run()
	for tries := 0; ; tries++ { // one that ends may need a moment for it
		left := keepers()
		if len(left) == 0 {
			break
		}
		if tries == 1000 {
			fmt.Fprintf(os.Stderr, "the tests left keepers behind: %v\n", left)
			code = 1
			break
		}
		<-time.After(10 * time.Millisecond)
	}
	os.Exit(code)
}

// keepers are the keepers, and what they started, that run this test's program.
func keepers() []string {
	self, _ := os.Readlink("/proc/self/exe")
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		exe, _ := os.Readlink(dir + "/exe")
		args, _ := os.ReadFile(dir + "/cmdline")
		if strings.TrimSuffix(exe, " (deleted)") == self && bytes.HasPrefix(args, []byte("kubeparts-keeper")) {
			found = append(found, filepath.Base(dir)+" "+string(bytes.TrimRight(args, "\x00")))
		}
	}
	return found
}

// node is a Backend on a root of its own, in which nothing is left running.
type node struct {
	*process.Backend
	t    testing.TB
	root string
	logs string
}

func newNode(t testing.TB) *node {
	t.Helper()
	n := &node{t: t, root: filepath.Join(t.TempDir(), "root"), logs: t.TempDir()}
	n.open()
	t.Cleanup(n.clear)
	return n
}

func (n *node) open() {
	n.t.Helper()
	b, err := process.New(process.Config{Root: n.root, MaxLogBytes: 10_000, MaxLogFiles: 3})
	require.NoError(n.t, err)
	n.Backend = b
}

// reopen drops the backend and makes another, as a restart of the agent does.
func (n *node) reopen() {
	n.t.Helper()
	require.NoError(n.t, n.Close())
	n.open()
}

func (n *node) clear() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	list, err := n.ListSandboxes(ctx, runtime.Filter{})
	require.NoError(n.t, err)
	for _, s := range list {
		require.NoError(n.t, n.RemoveSandbox(ctx, s.ID))
	}
	require.NoError(n.t, n.Close())
}

func (n *node) sandbox(name string) string {
	n.t.Helper()
	id, err := n.CreateSandbox(n.t.Context(), runtime.SandboxConfig{
		PodRef:          runtime.PodRef{UID: types.UID("uid-" + name), Namespace: "default", Name: name},
		Labels:          map[string]string{"pod": name},
		Annotations:     map[string]string{"text": "a\nb"},
		SecurityContext: &v1.PodSecurityContext{},
	})
	require.NoError(n.t, err)
	return id
}

// config is a container that runs a script, which finds its arguments in $@.
func (n *node) config(name, script string, args ...string) runtime.ContainerConfig {
	return runtime.ContainerConfig{
		Name:            name,
		Command:         []string{"/bin/sh", "-c", script, "sh"},
		Args:            args,
		LogPath:         filepath.Join(n.logs, name+".log"),
		SecurityContext: &v1.SecurityContext{},
	}
}

func (n *node) start(sandboxID string, cfg runtime.ContainerConfig) string {
	n.t.Helper()
	id, err := n.CreateContainer(n.t.Context(), sandboxID, cfg)
	require.NoError(n.t, err)
	require.NoError(n.t, n.StartContainer(n.t.Context(), id))
	return id
}

// run starts a script in a sandbox of its own.
func (n *node) run(name, script string, args ...string) string {
	n.t.Helper()
	return n.start(n.sandbox(name), n.config(name, script, args...))
}

func (n *node) status(id string) runtime.Container {
	n.t.Helper()
	st, err := n.ContainerStatus(n.t.Context(), id)
	require.NoError(n.t, err)
	return st
}

func (n *node) exited(id string) runtime.Container {
	n.t.Helper()
	var st runtime.Container
	eventually(n.t, func() bool {
		st = n.status(id)
		return st.State == runtime.StateExited
	})
	return st
}

func (n *node) log(name string) string {
	data, _ := os.ReadFile(filepath.Join(n.logs, name+".log"))
	return string(data)
}

// said waits for a line in a container's log and returns its text.
func (n *node) said(name string) string {
	n.t.Helper()
	var text string
	eventually(n.t, func() bool {
		line, _, whole := strings.Cut(n.log(name), "\n")
		_, text, _ = strings.Cut(line, " F ")
		return whole
	})
	return text
}

// saidPID is said for a number.
func (n *node) saidPID(name string) int {
	n.t.Helper()
	pid, err := strconv.Atoi(n.said(name))
	require.NoError(n.t, err)
	return pid
}

// eventually polls: it waits on no clock but that of its patience.
func eventually(t testing.TB, ok func() bool) {
	t.Helper()
	deadline := time.After(5 * time.Minute)
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !ok() {
		select {
		case <-again.C:
		case <-deadline:
			require.FailNow(t, "it did not come to pass")
		}
	}
}

// alive tells whether a process runs; one that nobody reaped does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return fields[0] != "Z" && fields[0] != "X"
}

func parent(t testing.TB, pid int) int {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	ppid, err := strconv.Atoi(fields[1])
	require.NoError(t, err)
	return ppid
}
