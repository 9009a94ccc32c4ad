//go:build linux

package process_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/process"
)

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
			require.ElementsMatch(t, []types.UID{"", "uid-pod"}, []types.UID{<-told, <-told}, "it has begun, with this pod")

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
	id, other := n.run("pod", "exec sleep 1000000"), n.run("other", "exec sleep 1000000")
	k := parent(t, mainPID(t, n, id))
	process.SetPatience(n.Backend, 100*time.Millisecond)
	require.NoError(t, syscall.Kill(k, syscall.SIGSTOP))
	defer func() { _ = syscall.Kill(k, syscall.SIGCONT) }()
	require.Equal(t, runtime.StateUnknown, n.status(id).State)
	eventually(t, func() bool { // the other may be too slow as well, on a busy machine
		list, err := n.ListContainers(t.Context(), runtime.Filter{})
		require.NoError(t, err)
		states := map[string]runtime.State{}
		for _, c := range list {
			states[c.ID] = c.State
		}
		require.Equal(t, runtime.StateUnknown, states[id])
		return states[other] == runtime.StateRunning
	})
	process.SetPatience(n.Backend, time.Minute)
	require.NoError(t, syscall.Kill(k, syscall.SIGCONT))
	require.Equal(t, runtime.StateRunning, n.status(id).State)
}

// What is in a sandbox's folder besides records is not taken for a damaged one.
func TestOnlyRecordsAreSetAside(t *testing.T) {
	n := newNode(t)
	id := n.run("pod", "exec sleep 1000000")
	require.NoError(t, syscall.Kill(parent(t, mainPID(t, n, id)), syscall.SIGKILL))
	n.exited(id)
	aside, err := filepath.Glob(filepath.Join(n.root, "s", "*", "*.corrupt-*"))
	require.NoError(t, err)
	require.Empty(t, aside)
}

// A container that stops its own keeper does not outlive its grace by that.
func TestStoppedKeeperEndsWithItsPod(t *testing.T) {
	for _, what := range []string{"container", "sandbox"} {
		t.Run(what, func(t *testing.T) {
			n := newNode(t)
			id := n.run("pod", "setsid sh -c 'sleep 1000000 & echo $!'; exec sleep 1000000")
			daemon := n.saidPID("pod")
			k := parent(t, mainPID(t, n, id))
			process.SetPatience(n.Backend, 100*time.Millisecond)
			require.NoError(t, syscall.Kill(k, syscall.SIGSTOP))
			eventually(t, func() bool {
				st, err := n.ContainerStatus(t.Context(), id)
				return err == nil && st.State == runtime.StateUnknown
			})
			sandbox := n.status(id).SandboxID
			if what == "container" {
				require.NoError(t, n.StopContainer(t.Context(), id, time.Millisecond))
			} else {
				require.NoError(t, n.StopSandbox(t.Context(), sandbox))
			}
			require.False(t, alive(daemon))
			require.Equal(t, runtime.StateExited, n.status(id).State)
			require.NoError(t, n.RemoveSandbox(t.Context(), sandbox))
			require.Empty(t, keepers())
		})
	}
}

// A container that takes away what its keeper is reached by is ended, and so is
// the keeper, also by an agent that did not start it.
func TestUnreachedKeeperIsEnded(t *testing.T) {
	for what, script := range map[string]string{
		"socket": `rm "$(readlink /proc/$PPID/cwd)/sock"`,
		"folder": `rm -rf "$(readlink /proc/$PPID/cwd)"`,
	} {
		for _, when := range []string{"child", "adopted"} {
			t.Run(what+", "+when, func(t *testing.T) {
				n := newNode(t)
				sandbox := n.sandbox("pod")
				if when == "adopted" {
					n.reopen()
				}
				n.start(sandbox, n.config("main", "setsid sh -c 'sleep 1000000 & echo $!'; "+script+"; echo gone; exec sleep 1000000"))
				daemon := n.saidPID("main")
				eventually(t, func() bool { return strings.Contains(n.log("main"), " F gone\n") })
				eventually(t, func() bool {
					st, err := n.SandboxStatus(t.Context(), sandbox)
					return err == nil && !st.Ready
				})
				require.False(t, alive(daemon))
				require.NoError(t, n.RemoveSandbox(t.Context(), sandbox))
				eventually(t, func() bool { return len(keepers()) == 0 })
			})
		}
	}
}

// What a container puts in the place of its next log does not hold up its keeper.
func TestLogIsNoFIFOAndNoLink(t *testing.T) {
	n := newNode(t)
	sandbox := n.sandbox("pod")
	victim := filepath.Join(t.TempDir(), "victim")
	require.NoError(t, syscall.Mkfifo(filepath.Join(n.logs, "fifo.log"), 0o600))
	require.NoError(t, os.Symlink(victim, filepath.Join(n.logs, "link.log")))
	for _, name := range []string{"fifo", "link"} {
		id, err := n.CreateContainer(t.Context(), sandbox, n.config(name, "echo hello"))
		require.NoError(t, err)
		require.ErrorContains(t, n.StartContainer(t.Context(), id), name+".log")
	}
	require.NoFileExists(t, victim)
	n.exited(n.start(sandbox, n.config("next", "true")))
}
