package eviction_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeparts/kubeparts/eviction"
)

func quantity(s string) eviction.Amount {
	q := resource.MustParse(s)
	return eviction.Amount{Quantity: &q}
}

func TestSignals(t *testing.T) {
	for _, c := range []struct {
		signal    eviction.Signal
		condition v1.NodeConditionType
		resource  v1.ResourceName
	}{
		{eviction.MemoryAvailable, v1.NodeMemoryPressure, "memory"},
		{eviction.AllocatableMemoryAvailable, v1.NodeMemoryPressure, "memory"},
		{eviction.NodeFsAvailable, v1.NodeDiskPressure, "ephemeral-storage"},
		{eviction.NodeFsInodesFree, v1.NodeDiskPressure, "inodes"},
		{eviction.ImageFsAvailable, v1.NodeDiskPressure, "ephemeral-storage"},
		{eviction.ImageFsInodesFree, v1.NodeDiskPressure, "inodes"},
		{eviction.ContainerFsAvailable, v1.NodeDiskPressure, "ephemeral-storage"},
		{eviction.ContainerFsInodesFree, v1.NodeDiskPressure, "inodes"},
		{eviction.PIDAvailable, v1.NodePIDPressure, "pids"},
	} {
		require.True(t, c.signal.Known(), c.signal)
		require.Equal(t, c.condition, c.signal.Condition(), c.signal)
		require.Equal(t, c.resource, c.signal.Resource(), c.signal)
	}
	require.False(t, eviction.Signal("gpu.available").Known())
	require.Empty(t, eviction.Signal("gpu.available").Condition())
}

func TestThresholdMet(t *testing.T) {
	hundred := eviction.Threshold{Signal: eviction.MemoryAvailable, Value: quantity("100")}
	tenth := eviction.Threshold{Signal: eviction.NodeFsAvailable, Value: eviction.Amount{Fraction: 0.1}}
	for _, c := range []struct {
		name                string
		threshold           eviction.Threshold
		signal              eviction.Signal
		available, capacity int64
		want                bool
	}{
		{"less than the quantity", hundred, eviction.MemoryAvailable, 99, 1000, true},
		{"just the quantity", hundred, eviction.MemoryAvailable, 100, 1000, false},
		{"another signal", hundred, eviction.PIDAvailable, 1, 1000, false},
		{"less than the part", tenth, eviction.NodeFsAvailable, 99, 1009, true},
		{"a part is rounded down", tenth, eviction.NodeFsAvailable, 100, 1009, false},
		{"nothing there at all", tenth, eviction.NodeFsAvailable, 0, 0, false},
		{"a part of the largest capacity", tenth, eviction.NodeFsAvailable, 1, math.MaxInt64, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := eviction.Observation{Signal: c.signal, Available: c.available, Capacity: c.capacity}
			require.Equal(t, c.want, c.threshold.Met(o))
		})
	}
}

// kubernetes/kubernetes#52386: a negative observation was taken for a signal.
func TestImpossibleObservationIsNotActedUpon_52386(t *testing.T) {
	threshold := eviction.Threshold{Signal: eviction.MemoryAvailable, Value: quantity("100Mi")}
	for _, o := range []eviction.Observation{
		{Signal: eviction.MemoryAvailable, Available: -2097758044639028 << 10, Capacity: 1 << 30},
		{Signal: eviction.MemoryAvailable, Available: 1, Capacity: -1},
		{Signal: eviction.MemoryAvailable, Available: 2, Capacity: 1},
	} {
		require.False(t, o.Possible())
		require.False(t, threshold.Met(o))
	}
}

func TestAmountBeyondAllNumbersIsTheLargest(t *testing.T) {
	for _, f := range []float64{math.Inf(1), 1e30} {
		require.Equal(t, int64(math.MaxInt64), eviction.Amount{Fraction: float32(f)}.Of(math.MaxInt64))
	}
	for _, f := range []float64{math.NaN(), math.Inf(-1)} {
		require.Zero(t, eviction.Amount{Fraction: float32(f)}.Of(math.MaxInt64), "what is no number is never met")
	}
}

func ExampleThreshold_Met() {
	hundred := resource.MustParse("100Mi")
	hard := eviction.Threshold{Signal: eviction.MemoryAvailable, Value: eviction.Amount{Quantity: &hundred}}

	seen := eviction.Observation{Signal: eviction.MemoryAvailable, Available: 90 << 20, Capacity: 4 << 30}
	fmt.Println(seen.Signal, hard.Met(seen), seen.Signal.Condition())
	// Output: memory.available true MemoryPressure
}
