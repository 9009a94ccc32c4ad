//go:build unix

package podruntime

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// The next message is not written through what the last instance left in its
// place: a FIFO would hold up the pod's worker for ever.
func TestPlaceOfATerminationMessageIsTaken(t *testing.T) {
	l := layout{root: t.TempDir()}
	spec := &v1.Container{Name: "main", TerminationMessagePath: "/dev/termination-log"}
	require.NoError(t, os.MkdirAll(l.messageDir("u", "main"), 0o755))
	victim := filepath.Join(t.TempDir(), "victim")
	require.NoError(t, os.WriteFile(victim, []byte("mine"), 0o600))
	for attempt, take := range []func(path string) error{
		func(path string) error { return os.Symlink(victim, path) },
		func(path string) error { return os.MkdirAll(filepath.Join(path, "folder"), 0o755) },
		func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		path := filepath.Join(l.messageDir("u", "main"), messageName(uint32(attempt)))
		require.NoError(t, take(path))
		_, err := l.makeMessage("u", spec, uint32(attempt))
		require.NoError(t, err)
		info, err := os.Lstat(path)
		require.NoError(t, err)
		require.True(t, info.Mode().IsRegular())
	}
	data, err := os.ReadFile(victim)
	require.NoError(t, err)
	require.Equal(t, "mine", string(data))
}
