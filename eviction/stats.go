package eviction

import (
	"context"
	"fmt"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// NodeMeter measures the node; package nodestats has one.
type NodeMeter interface {
	// NodeStats measures the node, now. What can't be measured is nil: missing
	// is not zero. What can has the time at which it was, which never goes back
	// from one call to the next. The caller owns what it gets. It may be called
	// from many goroutines, and returns soon after its context ends, with an error.
	NodeStats(ctx context.Context) (*NodeStats, error)
}

// StatsProvider measures the node and its pods. The suite in package
// evictiontest tells whether one keeps to the rules. What it may do besides is
// found by type assertion: [Observer].
type StatsProvider interface {
	NodeMeter
	// PodStats measures one pod. An unknown pod gives an error that wraps
	// runtime.ErrNotFound; it ranks as the kubelet ranks one without stats:
	// first. With any other error the pod is left out of the round.
	PodStats(ctx context.Context, uid types.UID) (*PodStats, error)
}

// Observer is a StatsProvider that observes signals of a host's own, besides
// those that NodeStats gives. See [Policy.Custom].
type Observer interface {
	Observe(ctx context.Context) ([]Observation, error)
}

// Join makes a StatsProvider of something that measures the node and of a
// runtime that measures its pods.
func Join(node NodeMeter, pods runtime.StatsProvider) StatsProvider { return joined{node, pods} }

type joined struct {
	NodeMeter
	pods runtime.StatsProvider
}

// PodStats implements [StatsProvider].
func (j joined) PodStats(ctx context.Context, uid types.UID) (*PodStats, error) {
	s, err := j.pods.PodStats(ctx, uid)
	if err != nil {
		return nil, err
	}
	return fromRuntime(s), nil
}

// fromRuntime gives what a runtime measured the form of a summary. The pod's
// memory and processes are the sums over its containers, and not known when
// one of them is not; its ephemeral storage is that of logs and volumes. What
// containers write beside their volumes no runtime tells.
func fromRuntime(s *runtime.PodStats) *PodStats {
	at := metav1.NewTime(s.Time)
	pod := &PodStats{PodRef: PodRef{Name: s.Name, Namespace: s.Namespace, UID: s.UID}}
	var memory, processes, disk total
	for i := range s.Containers {
		c := &s.Containers[i]
		memory.add(c.MemoryBytes)
		processes.add(c.Processes)
		disk.add(c.Logs.UsedBytes)
		stats := ContainerStats{Name: c.Name, Logs: fsOf(c.Logs, at)}
		if c.MemoryBytes != nil {
			stats.Memory = &MemoryStats{Time: at, WorkingSetBytes: c.MemoryBytes}
		}
		pod.Containers = append(pod.Containers, stats)
	}
	for i := range s.Volumes {
		v := &s.Volumes[i]
		disk.add(v.UsedBytes)
		pod.Volumes = append(pod.Volumes, VolumeStats{Name: v.Name, FsStats: *fsOf(v.DiskStats, at)})
	}
	if n := memory.known(); n != nil {
		pod.Memory = &MemoryStats{Time: at, WorkingSetBytes: n}
	}
	if n := processes.known(); n != nil {
		pod.ProcessStats = &ProcessStats{ProcessCount: n}
	}
	if n := disk.known(); n != nil {
		pod.EphemeralStorage = &FsStats{Time: at, UsedBytes: n}
	}
	return pod
}

func fsOf(d runtime.DiskStats, at metav1.Time) *FsStats {
	return &FsStats{Time: at, UsedBytes: d.UsedBytes, InodesUsed: d.Inodes}
}

// total is a sum that is known when each part is.
type total struct {
	sum     uint64
	parts   int
	unknown bool
}

func (t *total) add(n *uint64) {
	t.parts++
	if n == nil {
		t.unknown = true
		return
	}
	t.sum += *n
}

func (t *total) known() *uint64 {
	if t.unknown || t.parts == 0 {
		return nil
	}
	return &t.sum
}

// FromSummary makes a StatsProvider of something that measures node and pods at
// once, as a kubelet's /stats/summary does. NodeStats fetches a summary, and
// PodStats answers from the last one.
func FromSummary(fetch func(ctx context.Context) (*Summary, error)) StatsProvider {
	return &summaries{fetch: fetch}
}

type summaries struct {
	fetch func(ctx context.Context) (*Summary, error)
	pods  atomic.Pointer[map[types.UID]*PodStats]
}

// NodeStats implements [StatsProvider].
func (s *summaries) NodeStats(ctx context.Context) (*NodeStats, error) {
	summary, err := s.fetch(ctx)
	if err != nil {
		return nil, err
	}
	pods := summary.PodsByUID()
	s.pods.Store(&pods)
	return &summary.Node, nil
}

// PodStats implements [StatsProvider].
func (s *summaries) PodStats(_ context.Context, uid types.UID) (*PodStats, error) {
	if pods := s.pods.Load(); pods != nil && (*pods)[uid] != nil {
		return (*pods)[uid], nil
	}
	return nil, fmt.Errorf("stats of pod %s: %w", uid, runtime.ErrNotFound)
}
