package podstatus

import (
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// Terminal tells whether a phase is Succeeded or Failed.
func Terminal(phase v1.PodPhase) bool { return phase == v1.PodSucceeded || phase == v1.PodFailed }

// tally counts the containers of a pod by what they mean for its phase. One
// container may count under several names.
type tally struct {
	fatal          int // plain init containers that failed for good
	pendingInit    int // plain init containers that have not ended yet
	pendingSidecar int // sidecars that have not started yet
	waiting        int // never ran
	running        int
	stopped        int // regular ones that ended
	final          int // stopped ones that will not run again
	succeeded      int // stopped ones that ended with exit code 0
}

// phase is the phase that the containers amount to, by the kubelet's rules, the
// first that matches.
func (b *builder) phase() v1.PodPhase {
	t := b.tally()
	switch {
	case t.fatal > 0:
		return v1.PodFailed
	case t.pendingInit > 0, t.pendingSidecar > 0 && !b.active, t.waiting > 0:
		return v1.PodPending
	case t.running > 0:
		return v1.PodRunning
	case t.stopped > 0:
		return b.stoppedPhase(t)
	default:
		return v1.PodPending
	}
}

// stoppedPhase is the phase of a pod whose regular containers have all ended.
func (b *builder) stoppedPhase(t tally) v1.PodPhase {
	switch {
	case !b.in.Stopped && t.stopped != t.final:
		return v1.PodRunning // some will run again
	case t.stopped == t.succeeded:
		return v1.PodSucceeded
	default:
		return v1.PodFailed
	}
}

func (b *builder) tally() tally {
	var t tally
	for i := range b.ix {
		switch e := &b.ix[i]; e.kind {
		case plainInit:
			b.countInit(&t, e)
		case sidecar:
			countSidecar(&t, e.out)
		case regular:
			b.countRegular(&t, e)
		}
	}
	return t
}

func (b *builder) countInit(t *tally, e *entry) {
	end := lastEnd(e.out)
	switch {
	case e.out.State.Running != nil || end == nil:
		t.pendingInit++
	case end.ExitCode != 0 && !b.restarts(e, end):
		t.fatal++
	}
}

func countSidecar(t *tally, status *v1.ContainerStatus) {
	switch {
	case status.State.Running != nil:
		t.running++
		if status.Started == nil || !*status.Started {
			t.pendingSidecar++
		}
	case lastEnd(status) == nil:
		t.waiting++
		t.pendingSidecar++
	}
}

func (b *builder) countRegular(t *tally, e *entry) {
	end := lastEnd(e.out)
	switch {
	case e.out.State.Running != nil:
		t.running++
	case end == nil:
		t.waiting++
	default:
		t.stopped++
		if b.endedForGood(e) {
			t.final++
		}
		if end == e.out.State.Terminated && end.ExitCode == 0 {
			t.succeeded++
		}
	}
}

// lastEnd is how a container that does not run ended last; nil if it never did.
func lastEnd(status *v1.ContainerStatus) *v1.ContainerStateTerminated {
	if status.State.Terminated != nil {
		return status.State.Terminated
	}
	return status.LastTerminationState.Terminated
}

// restarts tells whether a container that ended so is to run again.
func (b *builder) restarts(e *entry, end *v1.ContainerStateTerminated) bool {
	return end.Reason == reasonRestartingAll || runtime.RestartAfterExit(b.in.Pod, e.spec, end.ExitCode)
}

// endedForGood tells whether a container has ended and will not run again.
func (b *builder) endedForGood(e *entry) bool {
	end := lastEnd(e.out)
	return e.out.State.Running == nil && end != nil && !b.restarts(e, end)
}

// endedNames names the regular containers that ended for good.
func (b *builder) endedNames() map[string]bool {
	if runtime.HasRestartAllRule(b.in.Pod) {
		return nil
	}
	var names map[string]bool
	for i := range b.ix {
		if e := &b.ix[i]; e.kind == regular && b.endedForGood(e) {
			if names == nil {
				names = map[string]bool{}
			}
			names[e.spec.Name] = true
		}
	}
	return names
}
