package admission

import (
	"maps"
	"math"

	v1 "k8s.io/api/core/v1"
)

// total is a sum of requests that never overflows: sums are kept in two words,
// so that taking out again what was put in gives the exact rest.
type total struct {
	milliCPU, memory, ephemeralStorage wide
	scalar                             map[v1.ResourceName]wide
}

// wide is an unsigned sum of numbers of 63 bits, in units of high and low; it
// holds more addends than a node has pods.
type wide struct{ high, low int64 }

const lowBits = 32

func (w wide) plus(n int64) wide {
	w.low += n & (1<<lowBits - 1)
	w.high += n >> lowBits
	return w
}

func (w wide) minus(n int64) wide {
	w.low -= n & (1<<lowBits - 1)
	w.high -= n >> lowBits
	return w
}

// value is the sum, or the largest int64 when it is larger.
func (w wide) value() int64 {
	high, low := w.high+w.low>>lowBits, w.low&(1<<lowBits-1)
	if high >= 1<<(63-lowBits) {
		return math.MaxInt64
	}
	return high<<lowBits | low
}

func (t *total) add(r Requests) {
	t.milliCPU = t.milliCPU.plus(r.MilliCPU)
	t.memory = t.memory.plus(r.Memory)
	t.ephemeralStorage = t.ephemeralStorage.plus(r.EphemeralStorage)
	for name, n := range r.Scalar {
		if t.scalar == nil {
			t.scalar = make(map[v1.ResourceName]wide)
		}
		t.scalar[name] = t.scalar[name].plus(n)
	}
}

func (t *total) subtract(r Requests) {
	t.milliCPU = t.milliCPU.minus(r.MilliCPU)
	t.memory = t.memory.minus(r.Memory)
	t.ephemeralStorage = t.ephemeralStorage.minus(r.EphemeralStorage)
	for name, n := range r.Scalar {
		if t.scalar[name] = t.scalar[name].minus(n); t.scalar[name] == (wide{}) {
			delete(t.scalar, name) // names come and go with pods, and each fork copies them
		}
	}
}

func (t *total) clone() total {
	c := *t
	c.scalar = maps.Clone(t.scalar)
	return c
}

func (t *total) requests() Requests {
	r := Requests{
		MilliCPU:         t.milliCPU.value(),
		Memory:           t.memory.value(),
		EphemeralStorage: t.ephemeralStorage.value(),
	}
	for name, w := range t.scalar {
		if n := w.value(); n != 0 {
			if r.Scalar == nil {
				r.Scalar = make(map[v1.ResourceName]int64)
			}
			r.Scalar[name] = n
		}
	}
	return r
}
