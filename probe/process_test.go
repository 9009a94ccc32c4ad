//go:build linux

package probe_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/process"
)

// containerIn runs a container of a real process.
func containerIn(t *testing.T) (execer runtime.Execer, id, dir string) {
	dir = t.TempDir()
	backend, err := process.New(process.Config{Root: filepath.Join(dir, "root")})
	require.NoError(t, err)
	sandbox, err := backend.CreateSandbox(t.Context(), runtime.SandboxConfig{PodRef: ref("42")})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, backend.RemoveSandbox(context.Background(), sandbox))
		require.NoError(t, backend.Close())
	})
	id, err = backend.CreateContainer(t.Context(), sandbox, runtime.ContainerConfig{
		Name: "main", Command: []string{"sleep", "1000000"}, LogPath: filepath.Join(dir, "log"),
	})
	require.NoError(t, err)
	require.NoError(t, backend.StartContainer(t.Context(), id))
	return backend, id, dir
}

// shellIn runs a container and returns what probes it with a script, in which
// $(DIR) is a folder.
func shellIn(t *testing.T) (shell func(timeout time.Duration, script string) probe.Attempt, dir string) {
	execer, id, dir := containerIn(t)
	return func(timeout time.Duration, script string) probe.Attempt {
		for ; ; timeout *= 4 { // until it is long enough for this machine to begin
			a := probe.Try(t.Context(), probe.Probers{Exec: &probe.Exec{Execer: execer}}, probe.Target{
				ContainerID: id, Env: []v1.EnvVar{{Name: "DIR", Value: dir}},
				Action: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"sh", "-c", script}}},
			}, timeout)
			if !errors.Is(a.Err, context.DeadlineExceeded) || timeout > time.Minute {
				return a
			}
		}
	}, dir
}

// Commands of a real container: one that leaves a child behind which holds its
// pipes open, and one that does not end.
func TestExecInAProcess(t *testing.T) {
	shell, dir := shellIn(t)
	a := shell(time.Minute, "sleep 1000000 & echo fine")
	require.NoError(t, a.Err)
	require.Equal(t, probe.Response{Result: probe.Success, Output: "fine\n"}, a.Response)

	pid := 0
	for timeout := 500 * time.Millisecond; pid == 0; timeout *= 4 { // until it is long enough for this machine
		require.Less(t, timeout, 5*time.Minute)
		a = shell(timeout, `trap "" TERM; sleep 1000000 & echo $! >$(DIR)/pid; wait`)
		require.NoError(t, a.Err)
		require.Equal(t, probe.Failure, a.Result)
		require.Contains(t, a.Output, "timed out after ")
		data, _ := os.ReadFile(filepath.Join(dir, "pid"))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(data)))
	}
	// It may wait to be reaped.
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.True(t, err != nil || strings.Contains(string(stat), ") Z "), "the child is killed with its parent: %s", stat)

	a = shell(time.Minute, "yes | head -c 1000000; exit 3")
	require.NoError(t, a.Err)
	require.Equal(t, probe.Failure, a.Result)
	require.Len(t, a.Output, probe.OutputLimit)
}

// A Manager that stops, and a pod that goes, take with them what their commands
// started, wherever that hid.
func TestStopKillsTheCommandsInFlight(t *testing.T) {
	execer, id, dir := containerIn(t)
	m, err := probe.NewManager(probe.Config{Prober: probe.Probers{Exec: &probe.Exec{Execer: execer}}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); m.Run(ctx) }()
	const commands = 8
	for i := range commands {
		p := named(probe.Liveness, probe.Settings{Timeout: time.Hour})
		p.Action.Exec = &v1.ExecAction{Command: []string{"sh", "-c", `trap "" TERM; setsid sh -c 'sleep 1000000 & echo $! >>$(DIR)/pids; wait' & wait`}}
		m.Set(ref(strconv.Itoa(i)), probe.Container{Name: "app", State: running(id), Env: []v1.EnvVar{{Name: "DIR", Value: dir}}, Probes: []probe.Probe{p}})
	}
	var pids []string
	require.Eventually(t, func() bool {
		data, _ := os.ReadFile(filepath.Join(dir, "pids"))
		pids = strings.Fields(string(data))
		return len(pids) == commands
	}, time.Minute, time.Millisecond)
	m.Remove("0")
	stop()
	<-done
	for _, pid := range pids {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		require.True(t, err != nil || strings.Contains(string(stat), ") Z "), "%s", stat)
	}
}
