package podruntime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// PodStats gives what the backend measures, where it is a
// [runtime.StatsProvider], and adds the space that the pod's emptyDirs and logs
// take where the backend does not tell it. It reads every folder of the pod's
// volumes.
func (r *Runtime) PodStats(ctx context.Context, uid types.UID) (*runtime.PodStats, error) {
	stats, err := r.podStats(ctx, uid)
	if err != nil {
		return nil, fmt.Errorf("stats of pod %s: %w", uid, err)
	}
	return stats, nil
}

func (r *Runtime) podStats(ctx context.Context, uid types.UID) (*runtime.PodStats, error) {
	if err := element("pod UID", string(uid)); err != nil {
		return nil, fmt.Errorf("%w: %w", runtime.ErrNotFound, err)
	}
	seen, err := r.read(ctx, uid)
	if err != nil {
		return nil, err
	}
	stats := &runtime.PodStats{PodRef: seen.ref, Time: time.Now()}
	if p, ok := r.cfg.Backend.(runtime.StatsProvider); ok && len(seen.sandboxes)+len(seen.containers) > 0 {
		measured, err := p.PodStats(ctx, uid)
		switch {
		case err == nil:
			*stats = *measured
			stats.PodRef = seen.ref
		case !errors.Is(err, runtime.ErrNotFound) && !errors.Is(err, runtime.ErrNotSupported):
			return nil, err
		}
	} else if !ok {
		for i := range seen.containers {
			if c := &seen.containers[i]; c.State == runtime.StateRunning {
				stats.Containers = append(stats.Containers, runtime.ContainerStats{Name: c.Name})
			}
		}
	}
	if err := r.addVolumes(ctx, stats); err != nil {
		return nil, err
	}
	if err := r.addLogs(ctx, stats); err != nil {
		return nil, err
	}
	if len(seen.sandboxes)+len(seen.containers)+len(stats.Volumes) == 0 {
		return nil, runtime.ErrNotFound
	}
	return stats, nil
}

// addVolumes measures the emptyDirs that the backend left out.
func (r *Runtime) addVolumes(ctx context.Context, stats *runtime.PodStats) error {
	dir := r.layout.volumesDir(stats.UID)
	entries, err := readDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		known := slices.ContainsFunc(stats.Volumes, func(v runtime.VolumeStats) bool { return v.Name == e.Name() })
		if known {
			continue
		}
		usage, err := diskUsage(ctx, filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		stats.Volumes = append(stats.Volumes, runtime.VolumeStats{Name: e.Name(), DiskStats: usage})
	}
	return nil
}

// addLogs measures the logs that the backend left out.
func (r *Runtime) addLogs(ctx context.Context, stats *runtime.PodStats) error {
	if r.layout.check(stats.PodRef) != nil {
		return nil
	}
	for i := range stats.Containers {
		c := &stats.Containers[i]
		if c.Logs.UsedBytes != nil || element("container", c.Name) != nil {
			continue
		}
		usage, err := diskUsage(ctx, r.layout.containerLogDir(stats.PodRef, c.Name))
		if err != nil {
			return err
		}
		c.Logs = usage
	}
	return nil
}

// diskUsage adds up what is under a path, links not followed. What vanishes
// meanwhile, or can't be read, is not counted.
func diskUsage(ctx context.Context, path string) (runtime.DiskStats, error) {
	var bytes, inodes uint64
	err := filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if e == nil || err != nil {
			return nil
		}
		if info, err := e.Info(); err == nil {
			bytes += onDisk(info)
			inodes++
		}
		return nil
	})
	if err != nil {
		return runtime.DiskStats{}, err
	}
	return runtime.DiskStats{UsedBytes: &bytes, Inodes: &inodes}, nil
}
