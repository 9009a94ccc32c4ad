package podruntime

import (
	"errors"
	"fmt"
	"syscall"
)

// maxSecrets bounds, in bytes, the memory for the secrets of one pod; it must hold
// two versions of the largest volume. By default it would be half of the machine's,
// for the pod's user to fill, too.
const maxSecrets = 4 * maxPayload

// mountMemory makes the folder a file system in memory, out of the reach of
// swap where the kernel can, unless it lies on one already.
func mountMemory(dir string) error {
	const tmpfs, ramfs = 0x01021994, 0x858458f6
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return err
	}
	if kind := uint32(fs.Type); kind == tmpfs || kind == ramfs {
		return nil
	}
	const flags = syscall.MS_NOSUID | syscall.MS_NODEV
	options := fmt.Sprintf("mode=0700,size=%d", maxSecrets)
	err := syscall.Mount("tmpfs", dir, "tmpfs", flags, options+",noswap")
	if errors.Is(err, syscall.EINVAL) {
		err = syscall.Mount("tmpfs", dir, "tmpfs", flags, options)
	}
	return err
}

// unmountMemory undoes mountMemory; a folder that is no such file system, or not
// there, is left alone. What is still open goes with its last reader.
func unmountMemory(dir string) error {
	for { // an agent that was killed in between may have mounted it twice
		err := syscall.Unmount(dir, syscall.MNT_DETACH|umountNoFollow)
		switch {
		case err == nil:
		case errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.EPERM):
			return nil
		default:
			return err
		}
	}
}

const umountNoFollow = 0x8
