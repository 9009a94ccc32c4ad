//go:build unix

package podruntime

import (
	"io/fs"
	"syscall"
)

// onDisk is the space that a file takes, which for a sparse one is less than its
// size.
func onDisk(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Blocks) * 512
	}
	return uint64(info.Size())
}
