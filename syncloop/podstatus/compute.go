package podstatus

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/runtime"
)

// Compute makes the status of a pod. It never panics, writes to nothing it is
// given and keeps nothing of it. With its own result as what was said last, and
// as what the API server has, it changes nothing.
func Compute(in Input) Result {
	var b builder // on the stack, for statuses are made all the time
	b.begin(in)
	b.compute(true)
	return b.finish()
}

// compute makes the status; a guarded one has no transition that can't be.
func (b *builder) compute(guarded bool) {
	b.identify()
	b.containerStatuses()
	if guarded {
		b.illegal = b.refuseIllegal()
	}
	b.applyProbes()
	b.settlePhase()
	b.conditions()
	b.ended = b.endedNames() // before the lists are sorted, in which the entries have their places
}

// builder makes one status, step by step.
type builder struct {
	in   Input
	api  *v1.PodStatus // never nil, as the next two
	said *v1.PodStatus // what was said last, else the pod's own status
	old  *v1.PodStatus // said, or that of a mirror of this life
	ix   index

	// waitingReason is that of a container that was never there.
	waitingReason string
	// initialized: the runtime knows a regular container, so that the init
	// containers it forgot must have ended well.
	initialized bool
	// restartAll: containers that are gone were removed to start anew.
	restartAll bool
	// active: the runtime knows a regular container in the newest sandbox.
	active bool

	status  v1.PodStatus
	verdict *Verdict
	events  []runtime.Event
	illegal *IllegalTransition
	ended   map[string]bool
}

// begin takes the input and gathers what each step needs.
func (b *builder) begin(in Input) {
	b.in, b.verdict = in, in.Verdict
	b.api = cmp.Or(in.API, &in.Pod.Status)
	b.said = cmp.Or(in.Previous, &in.Pod.Status)
	b.old = b.said
	if in.Previous == nil && in.API != nil && b.sameLife(in.API) {
		b.old = in.API
	}
	b.ix = newIndex(in.Pod, in.Observed, b.old)
	b.waitingReason = reasonCreating
	if len(in.Pod.Spec.InitContainers) > 0 {
		b.waitingReason = reasonInitializing
	}
	b.initialized = b.ix.hasRegular("")
	b.restartAll = in.RestartAll || isTrue(b.said.Conditions, v1.AllContainersRestarting)
	if sandbox, ready := activeSandbox(in.Observed); ready {
		b.active = b.ix.hasRegular(sandbox)
	}
}

// sameLife tells whether a status is of this life of the pod: it knows an instance
// of a container that the runtime knows too.
func (b *builder) sameLife(status *v1.PodStatus) bool {
	if b.in.Observed == nil {
		return false
	}
	known := map[string]bool{}
	for i := range b.in.Observed.Containers {
		known[b.containerID(b.in.Observed.Containers[i].ID)] = true
	}
	knows := func(c v1.ContainerStatus) bool { return known[c.ContainerID] }
	return slices.ContainsFunc(status.ContainerStatuses, knows) ||
		slices.ContainsFunc(status.InitContainerStatuses, knows)
}

// activeSandbox returns the sandbox that containers run in.
func activeSandbox(observed *runtime.PodStatus) (id string, ready bool) {
	if observed == nil || len(observed.Sandboxes) == 0 {
		return "", false
	}
	return observed.Sandboxes[0].ID, observed.Sandboxes[0].Ready
}

// identify fills in what does not depend on containers.
func (b *builder) identify() {
	b.status.QOSClass = b.qosClass()
	b.status.StartTime = b.startTime()
	b.status.Resources = &v1.ResourceRequirements{}
	if r := b.in.Pod.Spec.Resources; r != nil {
		r.DeepCopyInto(b.status.Resources)
		b.status.AllocatedResources = r.Requests.DeepCopy()
	}
	b.addresses()
}

// qosClass is the one that the API server has, for it never changes.
func (b *builder) qosClass() v1.PodQOSClass {
	return cmp.Or(b.api.QOSClass, admission.QOS(b.in.Pod))
}

// startTime is the first one that was ever said, or now.
func (b *builder) startTime() *metav1.Time {
	if b.old.StartTime != nil {
		return b.old.StartTime.DeepCopy()
	}
	return &metav1.Time{Time: b.in.Now.Truncate(time.Second)}
}

// settlePhase sets phase, reason and message. A terminal phase that was said is
// final. Reason and message belong to a phase and live as long as it does.
func (b *builder) settlePhase() {
	from := b.said
	b.status.Phase = b.phase()
	if end := b.saidTerminal(); end != nil {
		from = end
		b.status.Phase = end.Phase
	} else {
		b.checkDeadline()
	}
	if b.status.Phase == from.Phase {
		b.status.Reason = cmp.Or(from.Reason, b.in.Pod.Status.Reason)
		b.status.Message = cmp.Or(from.Message, b.in.Pod.Status.Message)
	}
	b.applyVerdict()
}

// saidTerminal is the status in which the pod was said to have ended, if any: by
// this agent, or in the API server by someone else.
func (b *builder) saidTerminal() *v1.PodStatus {
	for _, said := range []*v1.PodStatus{b.said, &b.in.Pod.Status} {
		if Terminal(said.Phase) {
			return said
		}
	}
	return nil
}

// sentenced tells whether a verdict holds: it outweighs whatever the containers
// did, also a success, which the kubelet lets replace an eviction. Only a
// success that was said before the verdict stays.
func (b *builder) sentenced() bool {
	end := b.saidTerminal()
	return b.verdict != nil && (end == nil || end.Phase == v1.PodFailed)
}

// applyVerdict sets phase, reason and message as the verdict has them.
func (b *builder) applyVerdict() {
	if b.sentenced() {
		b.status.Phase, b.status.Reason, b.status.Message = v1.PodFailed, b.verdict.Reason, b.verdict.Message
	}
}

// resume goes on from the status that was said last.
func (b *builder) resume() {
	b.status = *b.old.DeepCopy()
	b.status.QOSClass = b.qosClass()
	b.status.StartTime = b.startTime()
	b.applyVerdict()
	b.applyDisruption()
}

// finish settles the status against the one before.
func (b *builder) finish() Result {
	settle(b.in.Pod, b.old, &b.status, b.in.Now)
	return Result{
		Status:   b.status,
		Changed:  b.in.Previous == nil || !Equal(b.in.Previous, &b.status),
		Terminal: Terminal(b.status.Phase),
		Verdict:  b.verdict,
		Events:   b.events,
		Ended:    b.ended,
		Illegal:  b.illegal,
	}
}
