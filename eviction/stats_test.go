package eviction_test

import (
	"context"
	"errors"
	"flag"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/eviction"
	"github.com/kubeparts/kubeparts/eviction/evictiontest"
	"github.com/kubeparts/kubeparts/runtime"
)

// engine is a runtime that measures one pod.
type engine struct{ stats runtime.PodStats }

func (e engine) PodStats(_ context.Context, uid types.UID) (*runtime.PodStats, error) {
	if uid != e.stats.UID {
		return nil, runtime.ErrNotFound
	}
	return &e.stats, nil
}

func TestJoinGivesARuntimesFiguresTheFormOfASummary(t *testing.T) {
	var node evictiontest.Stats
	node.Set(eviction.MemoryAvailable, 5, 50)
	pod := runtime.PodStats{PodRef: runtime.PodRef{UID: "a", Name: "a", Namespace: "default"}, Time: at(0)}
	pod.Containers = []runtime.ContainerStats{
		{Name: "c", MemoryBytes: new(uint64(7)), Processes: new(uint64(2)), Logs: runtime.DiskStats{UsedBytes: new(uint64(100))}},
		{Name: "d", MemoryBytes: new(uint64(3)), Logs: runtime.DiskStats{UsedBytes: new(uint64(10))}},
	}
	pod.Volumes = []runtime.VolumeStats{{Name: "cache", DiskStats: runtime.DiskStats{UsedBytes: new(uint64(1000)), Inodes: new(uint64(4))}}}
	joined := eviction.Join(&node, engine{pod})
	stats, err := joined.PodStats(t.Context(), "a")
	require.NoError(t, err)
	require.EqualValues(t, 10, *stats.Memory.WorkingSetBytes)
	require.Nil(t, stats.ProcessStats, "one container's is not known")
	require.EqualValues(t, 1110, *stats.EphemeralStorage.UsedBytes)
	require.EqualValues(t, 4, *stats.Volumes[0].InodesUsed)
	_, err = joined.PodStats(t.Context(), "b")
	require.ErrorIs(t, err, runtime.ErrNotFound)
	evictiontest.TestStatsProvider(t, func(*testing.T) evictiontest.Subject {
		return evictiontest.Subject{Provider: joined, Pods: []types.UID{"a"}}
	})
}

func TestFromSummary(t *testing.T) {
	failing := errors.New("the kubelet is away")
	var err error
	provider := eviction.FromSummary(func(context.Context) (*eviction.Summary, error) {
		return &eviction.Summary{
			Node: eviction.NodeStats{NodeName: "n"},
			Pods: []eviction.PodStats{{PodRef: eviction.PodRef{UID: "a", Name: "a"}}},
		}, err
	})
	_, unknown := provider.PodStats(t.Context(), "a")
	require.ErrorIs(t, unknown, runtime.ErrNotFound, "nothing was fetched yet")
	_, nodeErr := provider.NodeStats(t.Context())
	require.NoError(t, nodeErr)
	stats, podErr := provider.PodStats(t.Context(), "a")
	require.NoError(t, podErr)
	require.Equal(t, "a", stats.PodRef.Name)
	err = failing
	_, nodeErr = provider.NodeStats(t.Context())
	require.ErrorIs(t, nodeErr, failing)
}

func TestFlagsAreTheKubelets(t *testing.T) {
	var s eviction.Settings
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	s.AddFlags(fs)
	require.NoError(t, fs.Parse([]string{
		"--eviction-hard", "memory.available<1Gi, nodefs.available<10%", "--eviction-hard", "pid.available<5%",
		"--eviction-soft", "memory.available<1.5Gi", "--eviction-soft-grace-period", "memory.available=1m30s",
		"--eviction-minimum-reclaim", "memory.available=0Mi", "--eviction-pressure-transition-period", "30s",
		"--eviction-max-pod-grace-period", "-1", "--enforce-node-allocatable", "pods",
	}))
	p, err := s.Policy()
	require.NoError(t, err)
	require.Len(t, p.Thresholds, 5)
	require.Equal(t, eviction.AllocatableMemoryAvailable, p.Thresholds[4].Signal)
	require.Equal(t, 90*time.Second, p.Thresholds[3].GracePeriod)
	require.Equal(t, 30*time.Second, p.TransitionPeriod)
	require.Equal(t, -time.Second, p.MaxPodGracePeriod)
	require.Equal(t, "memory.available<1Gi,nodefs.available<10%,pid.available<5%", fs.Lookup("eviction-hard").Value.String())

	for _, bad := range []string{"memory.available", "memory.available=1Gi"} {
		require.ErrorContains(t, fs.Parse([]string{"--eviction-hard", bad}), "expect string<string")
	}
	require.Error(t, fs.Parse([]string{"--eviction-max-pod-grace-period", "1m"}))
}

func TestDefaultsAndTheirMerge(t *testing.T) {
	defaults, err := eviction.Settings{}.Policy()
	require.NoError(t, err)
	require.Len(t, defaults.Thresholds, len(eviction.DefaultHard()))
	require.Equal(t, 5*time.Minute, defaults.TransitionPeriod)
	none, err := eviction.Settings{Hard: map[string]string{}}.Policy()
	require.NoError(t, err)
	require.Empty(t, none.Thresholds)
	merged := mustThresholds(t, eviction.Settings{Hard: map[string]string{"memory.available": "1Gi"}, MergeDefaults: true})
	require.Len(t, merged, len(eviction.DefaultHard()))
	require.Equal(t, "1Gi", merged[slicesIndex(merged, eviction.MemoryAvailable)].Value.String())
	_, err = eviction.Settings{Hard: map[string]string{"cpu.available": "1"}}.Policy()
	require.EqualError(t, err, "eviction settings: unsupported eviction signal cpu.available")
}

func slicesIndex(thresholds []eviction.Threshold, s eviction.Signal) int {
	for i, t := range thresholds {
		if t.Signal == s {
			return i
		}
	}
	return -1
}
