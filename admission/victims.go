package admission

import (
	"cmp"
	"math"

	v1 "k8s.io/api/core/v1"
)

// candidate is a pod that may be a victim.
type candidate struct {
	e     *entry
	gives []int64 // of each need
	taken bool
}

// layers are the candidates by QoS class.
type layers struct {
	bestEffort, burstable, guaranteed []candidate
}

// selectVictims is the kubelet's selection. Guaranteed pods go only for what all
// others together can't give, Burstable ones only for what is left of that
// without all BestEffort ones, and these for the rest.
func selectVictims(preemptor *v1.Pod, needs []Need, entries []*entry, critical func(*v1.Pod) bool) (Plan, error) {
	l := layersOf(preemptor, needs, entries, critical)
	need := make([]int64, len(needs))
	for i, n := range needs {
		need[i] = n.Quantity
	}
	left := without(without(without(need, l.guaranteed), l.burstable), l.bestEffort)
	if !met(left) {
		return Plan{Needs: needs}, noVictims(needs, left)
	}
	guaranteed := pick(l.guaranteed, without(without(need, l.bestEffort), l.burstable))
	need = without(need, guaranteed)
	burstable := pick(l.burstable, without(need, l.bestEffort))
	bestEffort := pick(l.bestEffort, without(need, burstable))

	p := Plan{Needs: needs}
	for _, layer := range [][]candidate{bestEffort, burstable, guaranteed} {
		for _, c := range layer {
			p.Victims = append(p.Victims, Victim{Pod: c.e.pod, QOS: c.e.qos})
		}
	}
	return p, nil
}

func layersOf(preemptor *v1.Pod, needs []Need, entries []*entry, critical func(*v1.Pod) bool) layers {
	rule := critical
	if rule == nil {
		rule = IsCritical
	}
	mine := rule(preemptor)
	amounts := make([]int64, 0, len(entries)*len(needs))
	var l layers
	for _, e := range entries {
		if e.leaving || !preemptable(preemptor, e.pod, mine, e.isCritical(critical)) {
			continue
		}
		for _, n := range needs {
			amounts = append(amounts, e.freed.Of(n.Resource))
		}
		c := candidate{e: e, gives: amounts[len(amounts)-len(needs):]}
		switch e.qos {
		case v1.PodQOSGuaranteed:
			l.guaranteed = append(l.guaranteed, c)
		case v1.PodQOSBurstable:
			l.burstable = append(l.burstable, c)
		default:
			l.bestEffort = append(l.bestEffort, c)
		}
	}
	return l
}

// pick takes the best candidate until the need is met, or nobody is left.
func pick(from []candidate, need []int64) []candidate {
	var picked []candidate
	for !met(need) {
		best := nearest(from, need)
		if best < 0 {
			break
		}
		from[best].taken = true
		picked = append(picked, from[best])
		need = without(need, picked[len(picked)-1:])
	}
	return picked
}

// nearest is the candidate that leaves least of the need; of several the one
// with the smaller memory request, then cpu, then the one that came last.
func nearest(from []candidate, need []int64) int {
	best, least := -1, math.Inf(1)
	for i := range from {
		if from[i].taken {
			continue
		}
		d := distance(need, from[i].gives, least)
		if d < least || d == least && (best < 0 || goesBefore(from[i].e, from[best].e)) {
			best, least = i, d
		}
	}
	return best
}

func goesBefore(a, b *entry) bool {
	return cmp.Or(
		cmp.Compare(a.freed.Memory, b.freed.Memory),
		cmp.Compare(a.freed.MilliCPU, b.freed.MilliCPU),
		cmp.Compare(b.order, a.order),
	) < 0
}

// distance is what is left of the need, as a sum of squared parts of one; 0 is
// all of it met. It may stop at the limit.
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

// without is what is left of a need when the candidates are gone.
func without(need []int64, gone []candidate) []int64 {
	left := make([]int64, len(need))
	copy(left, need)
	for _, c := range gone {
		for i := range left {
			left[i] = max(left[i]-c.gives[i], 0)
		}
	}
	return left
}

func met(need []int64) bool {
	for _, n := range need {
		if n > 0 {
			return false
		}
	}
	return true
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
