package evictiontest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/eviction"
	"github.com/kubeparts/kubeparts/eviction/evictiontest"
	"github.com/kubeparts/kubeparts/runtime"
)

func TestStats(t *testing.T) {
	var s evictiontest.Stats
	node, err := s.NodeStats(t.Context())
	require.NoError(t, err)
	require.Empty(t, eviction.Observe(node), "what was not set is missing, not zero")

	s.Set(eviction.PIDAvailable, 10, 100)
	s.Set(eviction.MemoryAvailable, 5, 50)
	node, err = s.NodeStats(t.Context())
	require.NoError(t, err)
	first := eviction.Observe(node)
	require.Len(t, first, 2)
	require.Equal(t, eviction.MemoryAvailable, first[0].Signal)
	require.EqualValues(t, 5, first[0].Available)
	require.EqualValues(t, 50, first[0].Capacity)

	s.Unset(eviction.MemoryAvailable)
	node, err = s.NodeStats(t.Context())
	require.NoError(t, err)
	require.Len(t, eviction.Observe(node), 1)

	broken := errors.New("no /proc")
	s.Fail(broken)
	_, err = s.NodeStats(t.Context())
	require.ErrorIs(t, err, broken)
}

func TestStatsOfPods(t *testing.T) {
	var s evictiontest.Stats
	_, err := s.PodStats(t.Context(), "a")
	require.ErrorIs(t, err, runtime.ErrNotFound)
	s.SetPodMemory("a", 7)
	stats, err := s.PodStats(t.Context(), "a")
	require.NoError(t, err)
	require.EqualValues(t, 7, *stats.Memory.WorkingSetBytes)
	s.FailPods(errors.New("cgroup vanished"))
	_, err = s.PodStats(t.Context(), "a")
	require.EqualError(t, err, "cgroup vanished")
	s.FailPods(nil)
	s.RemovePod("a")
	_, err = s.PodStats(t.Context(), "a")
	require.ErrorIs(t, err, runtime.ErrNotFound)
	require.Equal(t, 4, s.Reads())
}

func TestScript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s evictiontest.Stats
		s.Set(eviction.MemoryAvailable, 100, 100)
		s.At(time.Minute, func(s *evictiontest.Stats) { s.Hang(true) })
		s.At(time.Second, func(s *evictiontest.Stats) { s.Set(eviction.MemoryAvailable, 1, 100) })
		available := func() int64 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			node, err := s.NodeStats(ctx)
			if err != nil {
				require.ErrorIs(t, err, context.DeadlineExceeded)
				return -1
			}
			return eviction.Observe(node)[0].Available
		}
		require.EqualValues(t, 100, available())
		<-time.After(2 * time.Second)
		require.EqualValues(t, 1, available())
		<-time.After(time.Minute)
		require.EqualValues(t, -1, available())
	})
}
