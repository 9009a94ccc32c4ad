//go:build linux

package process_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/runtime"
)

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

// A command that runs for long takes three descriptors, one of them for its keeper:
// probes that hang may be many.
func TestExecTakesFewDescriptors(t *testing.T) {
	n := newNode(t)
	id := n.run("pod", "exec sleep 1000000")
	ran := filepath.Join(n.logs, "ran")
	before := descriptors(t)
	ctx, cancel := context.WithCancel(t.Context())
	const many = 20
	var running sync.WaitGroup
	for range many {
		running.Go(func() {
			_, _ = n.Exec(ctx, id, []string{"sh", "-c", `echo >> "$1"; exec sleep 1000000`, "sh", ran},
				runtime.ExecIO{Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer)})
		})
	}
	eventually(t, func() bool {
		data, _ := os.ReadFile(ran)
		return len(data) == many
	})
	eventually(t, func() bool { return descriptors(t)-before <= 3*many+10 }) // twice that before they are sent
	cancel()
	running.Wait()
}

// descriptors counts those that this process has open.
func descriptors(t *testing.T) int {
	open, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(open)
}
