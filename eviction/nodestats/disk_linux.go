package nodestats

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/eviction"
)

// disk measures the file system that a folder is on. Space that only root may
// use is not available. A file system without inodes of its own leaves them out.
func disk(path string) (*eviction.FsStats, error) {
	var s unix.Statfs_t
	if err := retry(func() error { return unix.Statfs(path, &s) }); err != nil {
		return nil, fmt.Errorf("statfs %s: %w", path, err)
	}
	block := uint64(s.Bsize)
	fs := &eviction.FsStats{
		Time:           metav1.NewTime(time.Now()),
		AvailableBytes: new(uint64(s.Bavail) * block),
		CapacityBytes:  new(uint64(s.Blocks) * block),
		UsedBytes:      new((uint64(s.Blocks) - uint64(s.Bfree)) * block),
	}
	if s.Files > 0 {
		fs.Inodes, fs.InodesFree = new(uint64(s.Files)), new(uint64(s.Ffree))
		fs.InodesUsed = new(uint64(s.Files) - uint64(s.Ffree))
	}
	return fs, nil
}

func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// Layout finds out which of the configured folders are on file systems of their
// own. Without an ImageDir all is on the node's.
func (r *Reader) Layout() (eviction.Layout, error) {
	if r.cfg.ImageDir == "" || r.cfg.RootDir == "" {
		return eviction.Layout{}, nil
	}
	var devices [3]uint64
	for i, dir := range []string{r.cfg.RootDir, r.cfg.ImageDir, r.cfg.ContainerDir} {
		var s unix.Stat_t
		if err := retry(func() error { return unix.Stat(dir, &s) }); err != nil {
			return eviction.Layout{}, fmt.Errorf("stat %s: %w", dir, err)
		}
		devices[i] = uint64(s.Dev)
	}
	return eviction.Layout{
		DedicatedImageFs:     devices[1] != devices[0],
		DedicatedContainerFs: devices[2] != devices[1],
	}, nil
}
