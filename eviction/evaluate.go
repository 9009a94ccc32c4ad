package eviction

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// Policy is by what a host decides. [Settings.Policy] makes one of a kubelet's
// configuration.
type Policy struct {
	Thresholds []Threshold
	// TransitionPeriod is how long a condition is reported after it was last
	// there. With zero none is ever reported.
	TransitionPeriod time.Duration
	// MaxPodGracePeriod is the most that a pod gets for which a soft threshold
	// was met; negative leaves it its own.
	MaxPodGracePeriod time.Duration
	// Layout of the file systems.
	Layout Layout
	// LocalStorageLimits evicts pods that exceed what their spec allows of
	// emptyDirs and ephemeral storage.
	LocalStorageLimits bool
	// Custom are signals of the host's own, for which it gives observations.
	Custom map[Signal]CustomSignal
}

// meaning is what a signal stands for.
func (p Policy) meaning(s Signal) CustomSignal {
	if c, ok := p.Custom[s]; ok {
		return c
	}
	return CustomSignal{Condition: s.Condition(), Resource: s.Resource()}
}

// Input is all that a round looks at. It is read-only.
type Input struct {
	Policy Policy
	// Observations of this round. A signal that was not measured is left out.
	Observations []Observation
	// Pods are the active ones, with their stats; nil is none. The stats of
	// [Pods.Limited] are looked at in every round, those of all when one must
	// go.
	Pods *Pods
	// Spare says of pods why they may not go in this round, besides protected
	// ones: their stats could not be read, say.
	Spare map[types.UID]string
	// State is the one that the last round handed over.
	State State
	Now   time.Time
}

// Outcome is what a round decides. Whoever carries it out does, in this order:
// report Conditions, send Events, evict Over; and when there are none of these,
// do all of Reclaim and observe anew, and evict Victim unless [Outcome.Relieved].
type Outcome struct {
	// Conditions of the node to report: memory, disk, pids, then a host's
	// own by name.
	Conditions []v1.NodeConditionType
	// Over are pods over their local-storage limits. All of them go; nothing
	// else is done in the same round.
	Over []Victim
	// Short is the resource that is being reclaimed, "" when nothing must be,
	// and Signal the one that tells of it.
	Short  v1.ResourceName
	Signal Signal
	// Reclaim is what to free first, in order, before a pod is touched.
	Reclaim []Reclaim
	// Victim is the pod that must go, nil when nobody must or may.
	Victim *Victim
	// Stuck is set when a pod must go and none may.
	Stuck *Stuck
	// Events are about the node.
	Events []runtime.Event
	// Problems are what of the input was not acted upon.
	Problems []Problem
	// State is for the next round.
	State State

	in      Input
	ranking *ranking
}

// Stuck tells that nobody may go although the node is short.
type Stuck struct {
	Resource v1.ResourceName
	// Pods is how many there are, none of which may go; Ranking has the reason
	// of each.
	Pods int
	// First is set in the first round of a row, in which it is told as an
	// event.
	First bool
}

// Evaluate decides one round: which conditions the node has, what to reclaim,
// and which pod must go. It does nothing, writes to nothing that it is given,
// and answers the same to the same. At most one pod goes, besides those over
// their local-storage limits, and never a protected one.
//
// It costs a few comparisons in a calm round, and one pass over the pods when
// one must go; the whole order is computed by [Outcome.Ranking] alone.
func Evaluate(in Input) Outcome {
	j := judge(in.Policy, in.Observations, in.State, in.Now)
	out := Outcome{Conditions: j.state.Conditions, Problems: j.problems, State: j.state, in: in}
	if out.Over = overLimits(in); len(out.Over) > 0 {
		return out
	}
	trigger, ok := firstReclaimable(in.Policy, j.acting)
	if !ok {
		if len(j.state.Met) == 0 {
			out.State.Stuck = ""
		}
		return out
	}
	out.act(trigger, j.acting)
	return out
}

// act decides what is done about a threshold.
func (out *Outcome) act(trigger Threshold, acting []Threshold) {
	p := out.in.Policy
	out.Signal, out.Short = trigger.Signal, p.meaning(trigger.Signal).Resource
	out.Events = append(out.Events, runtime.Event{
		Type: v1.EventTypeWarning, Reason: "EvictionThresholdMet", Message: "Attempting to reclaim " + string(out.Short),
	})
	out.Reclaim = p.Layout.reclaims(trigger.Signal)
	ranking := p.rankingOf(trigger.Signal)
	out.ranking = &ranking
	if at := ranking.first(out.in.Pods, out.in.Spare); at >= 0 {
		pod, stats := out.in.Pods.kept[at].pod, out.in.Pods.stats(at)
		victim := underPressure(p, out.Short, trigger, pod, stats, basis(p, out.Short, acting, out.State))
		out.Victim, out.State.Stuck = &victim, ""
		return
	}
	out.Stuck = &Stuck{Resource: out.Short, Pods: out.in.Pods.Len(), First: out.State.Stuck != out.Short}
	out.State.Stuck = out.Short
	if out.Stuck.First {
		out.Events = append(out.Events, out.Stuck.event())
	}
}

// firstReclaimable is the first threshold of a resource that has a name.
func firstReclaimable(p Policy, acting []Threshold) (Threshold, bool) {
	for _, t := range acting {
		if p.meaning(t.Signal).Resource != "" {
			return t, true
		}
	}
	return Threshold{}, false
}

// Relieved tells whether the node-level reclaim was enough, by what was observed
// after it: no threshold is met any more, grace periods not counted, and of each
// so much is free that its minimum reclaim is, too. Then no pod goes.
func (out *Outcome) Relieved(after []Observation) bool {
	seen, _ := possible(after)
	for _, t := range out.in.Policy.Thresholds {
		if o := find(seen, t.Signal); o != nil && !t.left(*o) {
			return false
		}
	}
	return true
}

// Ranking is the whole order in which pods would go, protected ones among them,
// with the reason for each place. It is empty in a calm round. The Pods of the
// input must not have changed since.
func (out *Outcome) Ranking() []Place {
	if out.ranking == nil {
		return nil
	}
	return out.ranking.all(out.in.Pods, out.in.Spare)
}

// Rank orders pods as they would go if the signal were short, whether it is or
// not.
func Rank(p Policy, s Signal, pods *Pods) []Place {
	r := p.rankingOf(s)
	return r.all(pods, nil)
}
