package admission

import (
	"iter"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// candidates are the pods that may be victims, as columns: one selection looks
// at every pod of a node several times over.
type candidates struct {
	entries []*entry
	layer   []layer
	size    []size
	gives   []int64 // row after row, what a pod gives back of each need
	needs   int
}

// size decides between pods that leave equally much of the need.
type size struct {
	memory, cpu int64
	order       uint64
}

// layer is the QoS class of a candidate; gone is one that was picked.
type layer uint8

const (
	bestEffort layer = iota
	burstable
	guaranteed
	gone
)

func layerOf(class v1.PodQOSClass) layer {
	switch class {
	case v1.PodQOSGuaranteed:
		return guaranteed
	case v1.PodQOSBurstable:
		return burstable
	}
	return bestEffort
}

// selectVictims is the kubelet's selection among n pods. Guaranteed pods go only
// for what all others together can't give, Burstable ones only for what is left
// of that without all BestEffort ones, and these for the rest.
func selectVictims(preemptor *v1.Pod, needs []Need, pods iter.Seq[*entry], n int, critical func(*v1.Pod) bool) (Plan, error) {
	c := candidatesFor(preemptor, needs, pods, n, critical)
	need := make([]int64, len(needs))
	for i, n := range needs {
		need[i] = n.Quantity
	}
	left := c.without(need, bestEffort, burstable, guaranteed)
	if !met(left) {
		return Plan{Needs: needs}, noVictims(needs, left)
	}
	fromGuaranteed := c.pick(guaranteed, c.without(need, bestEffort, burstable))
	need = c.minus(need, fromGuaranteed)
	fromBurstable := c.pick(burstable, c.without(need, bestEffort))
	need = c.minus(need, fromBurstable)
	fromBestEffort := c.pick(bestEffort, need)

	p := Plan{Needs: needs}
	for _, i := range slices.Concat(fromBestEffort, fromBurstable, fromGuaranteed) {
		p.Victims = append(p.Victims, Victim{Pod: c.entries[i].pod, QOS: c.entries[i].qos})
	}
	return p, nil
}

func candidatesFor(preemptor *v1.Pod, needs []Need, pods iter.Seq[*entry], n int, critical func(*v1.Pod) bool) candidates {
	c := candidates{
		entries: make([]*entry, 0, n),
		layer:   make([]layer, 0, n),
		size:    make([]size, 0, n),
		gives:   make([]int64, 0, n*len(needs)),
		needs:   len(needs),
	}
	mine := IsCritical(preemptor)
	if critical != nil {
		mine = critical(preemptor)
	}
	for e := range pods {
		if e.stay != staying || !preemptable(preemptor, e.pod, mine, e.isCritical(critical)) {
			continue
		}
		c.entries = append(c.entries, e)
		c.layer = append(c.layer, layerOf(e.qos))
		c.size = append(c.size, size{e.freed.Memory, e.freed.MilliCPU, e.order})
		for _, n := range needs {
			c.gives = append(c.gives, e.freed.Of(n.Resource))
		}
	}
	return c
}

// row is what the i-th candidate gives back.
func (c *candidates) row(i int) []int64 { return c.gives[i*c.needs : (i+1)*c.needs] }

// pick takes the best candidate of a layer until the need is met, or nobody is
// left, and returns them in order.
func (c *candidates) pick(from layer, need []int64) []int {
	var picked []int
	for !met(need) {
		best := c.nearest(from, need)
		if best < 0 {
			break
		}
		c.layer[best] = gone
		picked = append(picked, best)
		need = c.minus(need, picked[len(picked)-1:])
	}
	return picked
}

// nearest is the candidate that leaves least of the need; of several the one
// with the smaller memory request, then cpu, then the one that came last.
func (c *candidates) nearest(from layer, need []int64) int {
	best, least := -1, math.Inf(1)
	for i, layer := range c.layer {
		if layer != from {
			continue
		}
		d := distance(need, c.row(i), least)
		if d < least || d == least && c.size[i].goesBefore(c.size[best]) {
			best, least = i, d
		}
	}
	return best
}

// goesBefore compares memory, then cpu; of equals the one that came last goes.
func (s size) goesBefore(other size) bool {
	switch {
	case s.memory != other.memory:
		return s.memory < other.memory
	case s.cpu != other.cpu:
		return s.cpu < other.cpu
	}
	return s.order > other.order
}

// distance is what is left of the need, as a sum of squared parts of one; 0 is
// all of it met. It may stop above the limit.
func distance(need, gives []int64, limit float64) float64 {
	sum := 0.0
	for i, n := range need {
		if n <= gives[i] {
			continue
		}
		part := float64(n-gives[i]) / float64(n)
		sum += float64(part * part)
		if sum > limit {
			break
		}
	}
	return sum
}

// without is what is left of a need when all candidates of the layers are gone.
func (c *candidates) without(need []int64, layers ...layer) []int64 {
	left := slices.Clone(need)
	for i, layer := range c.layer {
		if slices.Contains(layers, layer) {
			subtract(left, c.row(i))
		}
	}
	return left
}

// minus is what is left of a need when these candidates are gone.
func (c *candidates) minus(need []int64, picked []int) []int64 {
	left := slices.Clone(need)
	for _, i := range picked {
		subtract(left, c.row(i))
	}
	return left
}

func subtract(need, gives []int64) {
	for i := range need {
		need[i] = max(need[i]-gives[i], 0)
	}
}

func met(need []int64) bool {
	return !slices.ContainsFunc(need, func(n int64) bool { return n > 0 })
}

func noVictims(needs []Need, left []int64) error {
	err := &NoVictimsError{}
	for i, n := range left {
		if n > 0 {
			err.Missing = append(err.Missing, Need{needs[i].Resource, n})
		}
	}
	return err
}
