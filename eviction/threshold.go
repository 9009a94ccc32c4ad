package eviction

import (
	"math"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Amount is a quantity, or a part of the capacity. Quantity holds when it is
// set.
type Amount struct {
	Quantity *resource.Quantity
	// Fraction of the capacity, 0 to 1. It has the kubelet's precision, which
	// shows in messages: a tenth of 100Gi is 10737418400 bytes.
	Fraction float32
}

// Of gives the amount in the signal's unit, for a capacity in that unit. A part
// is rounded down and a quantity up, as the kubelet does. What is no number is
// nothing, and what is beyond all numbers the largest.
func (a Amount) Of(capacity int64) int64 {
	if a.Quantity != nil {
		return ceil(*a.Quantity)
	}
	part := float64(capacity) * float64(a.Fraction)
	switch {
	case part >= math.MaxInt64:
		return math.MaxInt64
	case part > math.MinInt64:
		return int64(part)
	}
	return 0
}

// quantity is the amount as messages print it.
func (a Amount) quantity(capacity int64) resource.Quantity {
	if a.Quantity != nil {
		return *a.Quantity
	}
	return *resource.NewQuantity(a.Of(capacity), resource.BinarySI)
}

// String is the amount as a setting spells it: "100Mi", "10%".
func (a Amount) String() string {
	if a.Quantity != nil {
		return a.Quantity.String()
	}
	return strconv.FormatFloat(float64(a.Fraction)*100, 'g', 6, 64) + "%"
}

// MarshalText makes the amount a string in JSON.
func (a Amount) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

func (a Amount) equal(b Amount) bool {
	if a.Quantity == nil || b.Quantity == nil {
		return a.Quantity == b.Quantity && a.Fraction == b.Fraction
	}
	return a.Quantity.Cmp(*b.Quantity) == 0
}

// Threshold says when too little is left. The one operator is "less than".
type Threshold struct {
	Signal Signal `json:"signal"`
	Value  Amount `json:"value"`
	// GracePeriod is how long it must be met before a pod goes; zero makes the
	// threshold a hard one.
	GracePeriod time.Duration `json:"gracePeriod,omitempty"`
	// MinReclaim is how much more than Value must be free again before the
	// threshold counts as left; nil is nothing more.
	MinReclaim *Amount `json:"minReclaim,omitempty"`
}

// same tells whether two thresholds are one: what must be reclaimed does not
// count.
func (t Threshold) same(u Threshold) bool {
	return t.Signal == u.Signal && t.GracePeriod == u.GracePeriod && t.Value.equal(u.Value)
}

// Observation is how much of something is left.
type Observation struct {
	Signal Signal `json:"signal"`
	// Available and Capacity are bytes, inodes or processes.
	Available int64 `json:"available"`
	Capacity  int64 `json:"capacity"`
	// Time is when it was measured. Two observations of one time are one
	// sample, which is acted upon once; a zero time always counts as new.
	Time time.Time `json:"time,omitzero"`
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

// left tells whether so much is free again that the threshold is done with.
func (t Threshold) left(o Observation) bool {
	need := t.Value.Of(o.Capacity)
	if t.MinReclaim != nil {
		need = saturatingAdd(need, t.MinReclaim.Of(o.Capacity))
	}
	return o.Available >= need
}

// saturatingAdd adds what is not negative.
func saturatingAdd(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// ceil is the quantity in whole units, rounded up; one beyond int64 is the
// largest.
func ceil(q resource.Quantity) int64 {
	if q.CmpInt64(math.MaxInt64) >= 0 {
		return math.MaxInt64
	}
	return q.Value()
}
