//go:build unix

package podruntime

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a container puts in the place of a file while it is compared neither holds
// up its pod's worker nor fills the memory of the agent.
func TestComparedFileThatIsReplacedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()

	path := filepath.Join(dir, "a")
	require.NoError(t, os.WriteFile(path, []byte("it grew"), 0o600))
	got, err := readRegular(root, "a", 2)
	require.NoError(t, err)
	require.Equal(t, "it ", string(got))

	require.NoError(t, os.Remove(path))
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, err = readRegular(root, "a", 2)
	require.ErrorIs(t, err, errDiffers)
	require.ErrorIs(t, writeFile(root, "a", payloadFile{data: []byte("it"), mode: 0o600}, -1), os.ErrExist)
}
