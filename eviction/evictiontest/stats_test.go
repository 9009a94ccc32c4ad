package evictiontest_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/eviction"
	"github.com/kubeparts/kubeparts/eviction/evictiontest"
)

func TestStats(t *testing.T) {
	var s evictiontest.Stats
	observed, err := s.Observe(t.Context())
	require.NoError(t, err)
	require.Empty(t, observed, "what was not set is missing, not zero")

	s.Set(eviction.PIDAvailable, 10, 100)
	s.Set(eviction.MemoryAvailable, 5, 50)
	first, err := s.Observe(t.Context())
	require.NoError(t, err)
	require.Len(t, first, 2)
	require.Equal(t, eviction.MemoryAvailable, first[0].Signal)
	require.EqualValues(t, 5, first[0].Available)

	s.Unset(eviction.MemoryAvailable)
	second, err := s.Observe(t.Context())
	require.NoError(t, err)
	require.Len(t, second, 1)
	require.False(t, second[0].Time.Before(first[1].Time), "time does not go back")

	broken := errors.New("no /proc")
	s.Fail(broken)
	_, err = s.Observe(t.Context())
	require.ErrorIs(t, err, broken)
}
