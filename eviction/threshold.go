package eviction

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Amount is a quantity, or a part of the capacity. Quantity holds when it is
// set.
type Amount struct {
	Quantity *resource.Quantity
	// Fraction of the capacity, 0 to 1.
	Fraction float64
}

// Of gives the amount in the signal's unit, for a capacity in that unit. A part
// is rounded down, as the kubelet does.
func (a Amount) Of(capacity int64) int64 {
	if a.Quantity != nil {
		return a.Quantity.Value()
	}
	part := float64(capacity) * a.Fraction
	if !(part < math.MaxInt64) { // also NaN
		return math.MaxInt64
	}
	return int64(part)
}

// Threshold says when too little is left. The one operator is "less than".
type Threshold struct {
	Signal Signal
	Value  Amount
	// GracePeriod is how long it must be met before a pod goes; zero makes the
	// threshold a hard one.
	GracePeriod time.Duration
	// MinReclaim is how much more than Value must be free again before the
	// threshold counts as left; nil is nothing more.
	MinReclaim *Amount
}

// Observation is how much of something is left.
type Observation struct {
	Signal Signal
	// Available and Capacity are bytes, inodes or processes.
	Available, Capacity int64
	// Time is when it was measured.
	Time time.Time
}

// Possible tells whether the figures make sense: neither is negative, and no
// more is left than there is. Others are not acted upon
// (kubernetes/kubernetes#52386).
func (o Observation) Possible() bool {
	return o.Available >= 0 && o.Capacity >= 0 && o.Available <= o.Capacity
}

// Met tells whether the observation is below the threshold. One of another
// signal, or an impossible one, never is.
func (t Threshold) Met(o Observation) bool {
	return o.Signal == t.Signal && o.Possible() && o.Available < t.Value.Of(o.Capacity)
}
