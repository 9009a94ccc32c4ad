package podruntime

import (
	"errors"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSecretsInMemoryAreBounded(t *testing.T) {
	dir := t.TempDir()
	var fs syscall.Statfs_t
	require.NoError(t, syscall.Statfs(dir, &fs))
	if fs.Type == 0x01021994 {
		return // in memory already, by the machine's own bounds
	}
	err := mountMemory(dir)
	if errors.Is(err, syscall.EPERM) {
		return // this user mounts nothing
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unmountMemory(dir)) })
	require.NoError(t, syscall.Statfs(dir, &fs))
	require.EqualValues(t, maxSecrets, int64(fs.Blocks)*int64(fs.Bsize))
}
