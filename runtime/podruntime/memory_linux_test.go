package podruntime_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// mayMount tells whether the user of this test may mount a file system.
func mayMount(t *testing.T) bool {
	dir := t.TempDir()
	if syscall.Mount("tmpfs", dir, "tmpfs", 0, "") != nil {
		return false
	}
	require.NoError(t, syscall.Unmount(dir, 0))
	return true
}

func inMemory(t *testing.T, dir string) bool {
	var fs syscall.Statfs_t
	require.NoError(t, syscall.Statfs(dir, &fs))
	return fs.Type == 0x01021994
}
