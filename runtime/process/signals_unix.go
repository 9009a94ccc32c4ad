//go:build unix

package process

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalNumber is the number of a signal's name; that of no name is SIGTERM.
// Real-time signals are written SIGRTMIN+n.
func signalNumber(name string) (int, bool) {
	if name == "" {
		return int(syscall.SIGTERM), true
	}
	if number := unix.SignalNum(name); number != 0 {
		return int(number), true
	}
	return realtimeSignal(strings.TrimPrefix(name, "SIG"))
}
