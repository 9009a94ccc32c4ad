package admission

import (
	"iter"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// row is what preemption looks at of a pod in the ledger. Rows lie side by side, for
// one selection looks at every pod of a node.
type row struct {
	*entry
	rank  rank // by the kubelet's rule
	layer layer
	stay  stay
	size  size
}

func rowOf(e *entry) row {
	return row{e, rankOf(e.pod, nil), layerOf(QOS(e.pod)), e.stay, size{e.freed.Memory, e.freed.MilliCPU, e.order}}
}

// gives is what the pod gives back of a resource.
func (r *row) gives(name v1.ResourceName) int64 {
	switch name {
	case v1.ResourceCPU:
		return r.size.cpu
	case v1.ResourceMemory:
		return r.size.memory
	default:
		return r.freed.Of(name)
	}
}

// candidates are the pods that may be victims, as columns.
type candidates struct {
	rows  []*row
	layer []layer
	gives []int64       // pod after pod, what it gives back of each need
	sums  [gone][]int64 // of gives, by layer
	needs int
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
func selectVictims(preemptor *v1.Pod, needs []Need, pods iter.Seq[*row], n int, critical func(*v1.Pod) bool) (Plan, error) {
	if preemptor == nil {
		return Plan{Needs: needs}, errNilPod
	}
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
		p.Victims = append(p.Victims, Victim{Pod: c.rows[i].pod, QOS: QOS(c.rows[i].pod)})
	}
	return p, nil
}

func candidatesFor(preemptor *v1.Pod, needs []Need, pods iter.Seq[*row], n int, critical func(*v1.Pod) bool) candidates {
	c := candidates{
		rows:  make([]*row, 0, n),
		layer: make([]layer, 0, n),
		gives: make([]int64, 0, n*len(needs)),
		needs: len(needs),
	}
	for i := range c.sums {
		c.sums[i] = make([]int64, len(needs))
	}
	mine := rankOf(preemptor, critical)
	for r := range pods {
		other := r.rank
		if critical != nil {
			other = rankOf(r.pod, critical)
		}
		if r.stay != staying || !mine.over(other) {
			continue
		}
		c.rows = append(c.rows, r)
		c.layer = append(c.layer, r.layer)
		for i, need := range needs {
			gives := r.gives(need.Resource)
			c.gives = append(c.gives, gives)
			c.sums[r.layer][i] = plus(c.sums[r.layer][i], gives)
		}
	}
	return c
}

// plus adds amounts up to the largest.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
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
		if d < least || d == least && c.rows[i].size.goesBefore(c.rows[best].size) {
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

// without is what is left of a need when all candidates of the layers are gone,
// of which none was picked.
func (c *candidates) without(need []int64, layers ...layer) []int64 {
	left := slices.Clone(need)
	for _, layer := range layers {
		subtract(left, c.sums[layer])
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
