//go:build unix

package probe

import (
	"syscall"
	"time"
)

func setLinger(fd uintptr, d time.Duration) error {
	return syscall.SetsockoptLinger(int(fd), syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1, Linger: int32(d / time.Second)})
}
