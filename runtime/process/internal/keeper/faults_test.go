//go:build linux

package keeper

import (
	"os"
	"syscall"
	"time"

	"github.com/kubeparts/kubeparts/internal/durable"
)

// In this package's test program, a keeper's disk is full as long as this file
// is in its folder, and it looks for that folder all the time. The variables are
// set before the init function that takes the program over.
const diskFull = "disk-full"

var _ = func() bool {
	folderLook = 10 * time.Millisecond
	diskFaults = func(op durable.Op, _ string) error {
		if op != durable.OpWrite {
			return nil
		}
		if _, err := os.Stat(diskFull); err != nil {
			return nil
		}
		return syscall.ENOSPC
	}
	return true
}()
