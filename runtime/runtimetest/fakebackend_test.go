package runtimetest_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
)

// startOn makes a pod with one container, and returns the IDs of both.
func startOn(t *testing.T, b runtime.Backend, script runtimetest.Script, logPath string) (sandbox, container string) {
	t.Helper()
	sandbox, err := b.CreateSandbox(t.Context(), runtime.SandboxConfig{PodRef: runtime.PodRef{UID: "uid-1"}})
	require.NoError(t, err)
	container, err = b.CreateContainer(t.Context(), sandbox, runtime.ContainerConfig{Name: "main", Command: script.Command(), LogPath: logPath})
	require.NoError(t, err)
	require.NoError(t, b.StartContainer(t.Context(), container))
	return sandbox, container
}

func TestFakeBackendStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := runtimetest.NewFakeBackend(runtimetest.FakeBackendConfig{})
		_, id := startOn(t, b, runtimetest.Script{IgnoresTerm: true}, "")
		start := time.Now()
		require.NoError(t, b.StopContainer(t.Context(), id, time.Minute))
		require.Equal(t, time.Minute, time.Since(start))
		st, err := b.ContainerStatus(t.Context(), id)
		require.NoError(t, err)
		require.EqualValues(t, 137, st.ExitCode)
	})
}

func TestFakeBackendNoGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := runtimetest.NewFakeBackend(runtimetest.FakeBackendConfig{Limits: runtime.BackendLimits{NoGrace: true}})
		_, id := startOn(t, b, runtimetest.Script{IgnoresTerm: true}, "")
		start := time.Now()
		require.NoError(t, b.StopContainer(t.Context(), id, time.Minute))
		require.Zero(t, time.Since(start))
	})
}

func TestFakeBackendControls(t *testing.T) {
	b := runtimetest.NewFakeBackend(runtimetest.FakeBackendConfig{})
	require.ErrorIs(t, b.Exit("uid-1", "main", 1), runtime.ErrNotFound)
	require.ErrorIs(t, b.FailSandbox("uid-1"), runtime.ErrNotFound)
	sandbox, id := startOn(t, b, runtimetest.Script{}, "")

	require.NoError(t, b.LoseTrack("uid-1", "main"))
	st, err := b.ContainerStatus(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, runtime.StateUnknown, st.State)
	require.NoError(t, b.StopContainer(t.Context(), id, time.Minute))

	require.NoError(t, b.FailSandbox("uid-1"))
	sb, err := b.SandboxStatus(t.Context(), sandbox)
	require.NoError(t, err)
	require.False(t, sb.Ready)

	b.Forget("uid-1")
	list, err := b.ListSandboxes(t.Context(), runtime.Filter{})
	require.NoError(t, err)
	require.Empty(t, list)
}

func TestFakeBackendWritesLogs(t *testing.T) {
	b := runtimetest.NewFakeBackend(runtimetest.FakeBackendConfig{WriteLogs: true})
	path := filepath.Join(t.TempDir(), "0.log")
	startOn(t, b, runtimetest.Script{Output: "one\ntwo\n"}, path)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Regexp(t, `^\S+ stdout F one\n\S+ stdout F two\n$`, string(text))
	require.Regexp(t, `^\S+ stdout F one\n\S+ stdout F two\n$`, b.Log(path))
}
