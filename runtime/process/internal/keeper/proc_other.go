//go:build unix && !linux

package keeper

import (
	"errors"
	"syscall"
)

// Without /proc and subreapers, a container is its process group.
const inheritsOrphans = false

func becomeSubreaper() error { return nil }

func closeInherited() {}

func forbidNewPrivileges() error { return errors.ErrUnsupported }

func childAttr(user *User) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if user != nil {
		attr.Credential = &syscall.Credential{Uid: user.UID, Gid: user.GID, Groups: user.Groups}
	}
	return attr
}

// killOwned kills the group of the first process.
func (k *keeper) killOwned(pid int, _ func(owner string) bool) bool {
	return syscall.Kill(-pid, syscall.SIGKILL) == nil
}

// Processes says that they can't be read here.
func Processes() ([]Process, error) { return nil, errors.ErrUnsupported }

// ReadProcess says that it can't be read here.
func ReadProcess(int) (Process, error) { return Process{}, errors.ErrUnsupported }

// Ticks is not known here.
func Ticks(int) uint64 { return 0 }

// MarkerOf is not known here.
func MarkerOf(int) string { return "" }

// Keepers can't be found here.
func Keepers(string) []int { return nil }

// BootID is not known here.
func BootID() string { return "" }
