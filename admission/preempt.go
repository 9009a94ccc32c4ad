package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// What a critical pod is told while it waits for its victims, and what they are
// told. Texts for victims are the kubelet's.
const (
	// ReasonPreempting is the Reason of the pod that waits, of the victims'
	// status and of the events about them.
	ReasonPreempting = "Preempting"
	// MessagePreempted is the message of a victim's status and of its event.
	MessagePreempted = "Preempted in order to admit critical pod"
	// DisruptionPreempted is the message of the condition DisruptionTarget in a
	// victim's status, which is True for the reason TerminationByKubelet.
	DisruptionPreempted = "Pod was preempted by Kubelet to accommodate a critical pod."
)

// Plan is how a critical pod gets its room. Whoever called [Chain.Admit] owes then: to
// stop the victims with their own grace, in the order given or all at once, to take
// each out of the ledger when nothing of it runs, and to call Admit for the pod again
// when all of them are gone; a victim that can't be stopped is noted with
// [Ledger.SetStuck] before, which may give a plan with others. Until then the pod
// itself is in the ledger; giving up is [Chain.Remove]. A plan of [Chain.Check]
// obliges to nothing.
type Plan struct {
	// Needs is what must become free, in the kubelet's order of resources.
	Needs []Need
	// Victims are the pods to stop: BestEffort, then Burstable, then Guaranteed
	// ones. It is empty when those that are leaving already give enough.
	Victims []Victim
}

// Signal is the first resource of which there was too little, "" for none.
func (p *Plan) Signal() v1.ResourceName {
	if p == nil || len(p.Needs) == 0 {
		return ""
	}
	return p.Needs[0].Resource
}

// Need is an amount of one resource: cpu in millicores, all else in base units.
type Need struct {
	Resource v1.ResourceName `json:"resource"`
	Quantity int64           `json:"quantity"`
}

// Victim is a pod that has to go. The phase of its status becomes Failed, with
// [ReasonPreempting], [MessagePreempted] and [DisruptionPreempted].
type Victim struct {
	Pod *v1.Pod
	QOS v1.PodQOSClass
}

// NoVictimsError says that stopping all pods that may be stopped is not enough.
type NoVictimsError struct {
	// Missing is what would still be missing then.
	Missing []Need
}

// Error is the kubelet's text.
func (e *NoVictimsError) Error() string {
	var b strings.Builder
	for _, n := range e.Missing {
		fmt.Fprintf(&b, "(res: %s, q: %d), ", n.Resource, n.Quantity)
	}
	return fmt.Sprintf("no set of running pods found to reclaim resources: [%s]", b.String())
}

// PlanPreemption selects the pods that have to go for a pod that needs so much,
// by the kubelet's rules: as few as it can and of the lowest QoS classes, and
// among equals the smaller; among those that are equal in that too the one that
// comes last in pods, which the kubelet leaves to chance. It changes nothing.
// Priorities protect, they do not order: see [Preemptable]. The error is a
// *[NoVictimsError], save for a preemptor that is nil. Nil pods are nobody.
func PlanPreemption(preemptor *v1.Pod, needs []Need, pods []*v1.Pod) (Plan, error) {
	all := &Ledger{pods: make(map[Key]*entry, len(pods))}
	for i, pod := range pods {
		if pod == nil {
			continue
		}
		all.rows = append(all.rows, rowOf(&entry{Prepared: Prepare(pod), order: uint64(i)}))
	}
	return selectVictims(preemptor, needs, all.entries(), len(pods), nil)
}

// Plan is [PlanPreemption] among the pods of the ledger; among equals the one
// goes that was entered last. Pods that are leaving already are no victims: the
// needs are what is missing without them. Nor are those that are stuck.
func (l *Ledger) Plan(preemptor *v1.Pod, needs []Need) (Plan, error) {
	return l.plan(preemptor, needs, nil)
}

// plan is Plan with the rule for critical pods; nil is [IsCritical].
func (l *Ledger) plan(preemptor *v1.Pod, needs []Need, critical func(*v1.Pod) bool) (Plan, error) {
	return selectVictims(preemptor, needs, l.entries(), l.count, critical)
}

// preempt is the verdict about a critical pod that lacks nothing but room.
func (c *Chain) preempt(pod *v1.Pod, verdicts []CheckVerdict, ledger *Ledger) (Verdict, *Plan) {
	needs := ledger.needs(verdicts, leaving)
	p, err := ledger.plan(pod, needs, c.Critical)
	if err != nil && ledger.stuckWouldDo(pod, verdicts, needs, c.Critical) {
		return RetryLater(ReasonPreempting, "waiting for pods that are being stopped and do not stop", 0), &p
	}
	if err != nil {
		return Rejected(ReasonUnexpectedAdmissionError, fmt.Sprintf(
			"Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: %v", err)), nil
	}
	if len(p.Victims) == 0 {
		return RetryLater(ReasonPreempting, "waiting for pods that are being stopped", 0), &p
	}
	return RetryLater(ReasonPreempting, "waiting for pods to stop that give way: "+namesOf(p.Victims), 0), &p
}

// victimsNamed is how many victims a message names.
const victimsNamed = 10

func namesOf(victims []Victim) string {
	names := make([]string, 0, victimsNamed)
	for _, v := range victims[:min(len(victims), victimsNamed)] {
		names = append(names, v.Pod.Namespace+"/"+v.Pod.Name)
	}
	text := strings.Join(names, ", ")
	if more := len(victims) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// goesFirst tells whether there is room for a parked pod if those stand back that
// were parked after it. Else each of several would keep the place of the others, and
// all wait for the last victim.
func (c *Chain) goesFirst(ctx context.Context, parked *entry, p *Prepared) bool {
	alone := *c
	alone.Ledger = c.Ledger.Fork()
	for r := range c.Ledger.entries() {
		if r.parked && r.order > parked.order {
			alone.Ledger.remove(r.key)
		}
	}
	if alone.Ledger.count == c.Ledger.count {
		return false
	}
	d, err := alone.judge(ctx, p, false)
	return err == nil && d.Outcome == Admit
}

// stuckWouldDo tells whether there would be room if the pods that are stuck
// stopped after all.
func (l *Ledger) stuckWouldDo(pod *v1.Pod, verdicts []CheckVerdict, needs []Need, critical func(*v1.Pod) bool) bool {
	less := l.needs(verdicts, leaving, stuck)
	if slices.Equal(less, needs) {
		return false
	}
	_, err := l.plan(pod, less, critical)
	return err == nil
}

// needs is what is short, less what the pods on their way out give back.
func (l *Ledger) needs(verdicts []CheckVerdict, gone ...stay) []Need {
	var needs []Need
	for _, v := range verdicts {
		for _, s := range v.Short {
			needs = append(needs, Need{s.Resource, s.Missing()})
		}
	}
	for e := range l.entries() {
		for i := range needs {
			if slices.Contains(gone, e.stay) {
				needs[i].Quantity -= e.running.Of(needs[i].Resource)
			}
		}
	}
	return slices.DeleteFunc(needs, func(n Need) bool { return n.Quantity <= 0 })
}
