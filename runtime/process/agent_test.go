//go:build linux

package process_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/process"
)

// agentEnv makes the test program an agent on the root that it names.
const agentEnv = "KUBEPARTS_TEST_AGENT"

// runAgent starts a pod for each line that it reads, whose name and script the
// line holds, and prints the container's ID.
func runAgent(root string) {
	b, err := process.New(process.Config{Root: root})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		name, script, _ := strings.Cut(in.Text(), " ")
		id, err := startPod(b, name, script)
		if err != nil {
			fmt.Println("error:", err)
			continue
		}
		fmt.Println(id)
	}
}

func startPod(b *process.Backend, name, script string) (string, error) {
	ctx := context.Background()
	sandbox, err := b.CreateSandbox(ctx, runtime.SandboxConfig{PodRef: runtime.PodRef{UID: types.UID("uid-" + name), Name: name}})
	if err != nil {
		return "", err
	}
	id, err := b.CreateContainer(ctx, sandbox, runtime.ContainerConfig{Name: "main", Command: []string{"/bin/sh", "-c", script}})
	if err != nil {
		return "", err
	}
	return id, b.StartContainer(ctx, id)
}

// agent is another process that is an agent.
type agent struct {
	t    testing.TB
	cmd  *exec.Cmd
	in   io.WriteCloser
	read *bufio.Scanner
}

func startAgent(t testing.TB, program, root string, inherited ...*os.File) *agent {
	t.Helper()
	cmd := exec.Command(program)
	cmd.ExtraFiles = inherited
	cmd.Env = append(os.Environ(), agentEnv+"="+root, "AGENTS_SECRET="+secret)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	a := &agent{t: t, cmd: cmd, in: in, read: bufio.NewScanner(out)}
	require.Equal(t, "ready", a.line())
	return a
}

func (a *agent) line() string {
	a.t.Helper()
	require.True(a.t, a.read.Scan(), "the agent is gone")
	return a.read.Text()
}

func (a *agent) pod(name, script string) string {
	a.t.Helper()
	_, err := fmt.Fprintln(a.in, name, script)
	require.NoError(a.t, err)
	id := a.line()
	require.NotContains(a.t, id, "error")
	return id
}

// kill is kill -9.
func (a *agent) kill() {
	a.t.Helper()
	require.NoError(a.t, a.cmd.Process.Signal(syscall.SIGKILL))
	_ = a.cmd.Wait()
}

// The promise of the package: an agent is killed, the next one finds the same
// processes, and how those ended that ended in between.
func TestKilledAgentIsSucceeded(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	a := startAgent(t, "/proc/self/exe", root)
	pids := filepath.Join(dir, "pids")
	runs := a.pod("runs", "echo $$ > "+pids+"; exec sleep 1000000")
	ends := a.pod("ends", "until test -e "+dir+"/go; do sleep 0.01; done; exit 7")
	pid := readPID(t, pids)
	a.kill()
	require.True(t, alive(pid))

	// Nobody is there to see it end.
	require.NoError(t, os.WriteFile(dir+"/go", nil, 0o600))
	eventually(t, func() bool { return strings.Contains(grep(t, root, `"State":"exited"`), "/c-") })

	n := &node{t: t, root: root}
	n.open()
	defer n.clear()
	st := n.status(ends)
	require.Equal(t, runtime.StateExited, st.State)
	require.EqualValues(t, 7, st.ExitCode)
	require.Equal(t, "Error", st.Reason)
	require.False(t, st.FinishedAt.Before(st.StartedAt))

	require.Equal(t, runtime.StateRunning, n.status(runs).State)
	require.True(t, alive(pid), "the same process")
	require.NoError(t, n.StopContainer(t.Context(), runs, 0))
	require.False(t, alive(pid))
}

// Pods are started from the image that runs, whatever became of its file.
func TestReplacedProgram(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "agent")
	self, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(program, self, 0o755))
	a := startAgent(t, program, filepath.Join(dir, "root"))
	first := a.pod("first", "exec sleep 1000000")
	require.NoError(t, os.WriteFile(program+".new", []byte("#!/bin/sh\nexit 1\n"), 0o755))
	require.NoError(t, os.Rename(program+".new", program))
	second := a.pod("second", "exec sleep 1000000")
	require.NoError(t, os.Remove(program))
	third := a.pod("third", "exec sleep 1000000")
	a.kill()

	n := &node{t: t, root: filepath.Join(dir, "root")}
	n.open()
	defer n.clear()
	for _, id := range []string{first, second, third} {
		require.Equal(t, runtime.StateRunning, n.status(id).State)
	}
}

func TestSecondAgentIsRefused(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	a := startAgent(t, "/proc/self/exe", root)
	_, err := process.New(process.Config{Root: root})
	require.ErrorIs(t, err, process.ErrLocked)
	require.EqualError(t, err, fmt.Sprintf("process: root %s: in use by another agent: process %d", root, a.cmd.Process.Pid))
	a.kill()
	b, err := process.New(process.Config{Root: root})
	require.NoError(t, err)
	require.NoError(t, b.Close())
}

// A pipe that the agent got from its own parent ends with the agent.
func TestKeeperHoldsNothingOfOthers(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	root := filepath.Join(t.TempDir(), "root")
	a := startAgent(t, "/proc/self/exe", root, write, write, write)
	require.NoError(t, write.Close())
	id := a.pod("pod", "exec sleep 1000000")
	a.kill()
	data, err := io.ReadAll(read)
	require.NoError(t, err)
	require.Empty(t, data)

	n := &node{t: t, root: root}
	n.open()
	defer n.clear()
	require.Equal(t, runtime.StateRunning, n.status(id).State)
}

// What a terminal or a supervisor sends to the agent's group concerns no keeper,
// and a container doesn't inherit a deaf ear either.
func TestKeeperHearsNoSignals(t *testing.T) {
	n := newNode(t)
	id := n.run("pod", "grep SigIgn /proc/self/status; exec sleep 1000000")
	require.Equal(t, "SigIgn:\t0000000000000000", n.said("pod"))
	pid := mainPID(t, n, id)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		require.NoError(t, syscall.Kill(parent(t, pid), signal))
	}
	require.Equal(t, runtime.StateRunning, n.status(id).State)
	require.NoError(t, n.StopContainer(t.Context(), id, longGrace))
	require.EqualValues(t, 128+int(syscall.SIGTERM), n.status(id).ExitCode)
}

func readPID(t testing.TB, path string) (pid int) {
	t.Helper()
	eventually(t, func() bool {
		data, _ := os.ReadFile(path)
		text, whole := strings.CutSuffix(string(data), "\n")
		pid, _ = strconv.Atoi(text)
		return whole
	})
	return pid
}

// grep lists the files under a folder that hold a text.
func grep(t testing.TB, root, text string) string {
	t.Helper()
	var found []string
	_ = filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), text) {
				found = append(found, path)
			}
		}
		return nil
	})
	return strings.Join(found, "\n")
}
