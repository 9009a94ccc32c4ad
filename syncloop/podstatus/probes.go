package podstatus

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// inheritanceMargin is by how much a container must be older than the agent to
// inherit its readiness from that of the pod in the API.
const inheritanceMargin = 10 * time.Second

// applyProbes sets what the statuses say of probes: started and ready. Ephemeral
// containers have neither.
func (b *builder) applyProbes() {
	for i := range b.ix {
		e := &b.ix[i]
		if e.kind == ephemeral {
			continue
		}
		started := b.started(e)
		e.out.Started = &started
		if e.kind == plainInit {
			ended := e.out.State.Terminated
			e.out.Ready = ended != nil && ended.ExitCode == 0
			continue
		}
		e.out.Ready = started && b.ready(e)
	}
}

// started tells whether a container runs and passed its startup probe. What was
// passed stays passed where nothing newer is known: an agent that starts anew
// must not doubt it.
func (b *builder) started(e *entry) bool {
	if e.out.State.Running == nil {
		return false
	}
	if result, known := b.in.Startup.Results[e.newest.ID]; known {
		return result == runtime.VerdictSuccess
	}
	if e.sameInstance() && e.old.Started != nil && *e.old.Started {
		return true
	}
	return !b.in.Startup.Workers[e.spec.Name]
}

// ready tells whether a started container serves. What an earlier agent said of
// this very instance holds until probes say otherwise; where nobody said anything
// of it, nor of another, the readiness of its pod in the API server counts, as in
// the kubelet.
func (b *builder) ready(e *entry) bool {
	result, known := b.in.Readiness.Results[e.newest.ID]
	switch {
	case known && result == runtime.VerdictSuccess:
		return true
	case !known && b.predatesAgent(e, 0) && e.sameInstance() && e.old.Ready:
		return true
	case !known && b.predatesAgent(e, inheritanceMargin) && !b.namesAnother(e):
		return e.spec.ReadinessProbe == nil || isTrue(b.api.Conditions, v1.PodReady)
	default:
		return !b.in.Readiness.Workers[e.spec.Name]
	}
}

// predatesAgent tells whether a container ran before this agent did, by more than
// the margin.
func (b *builder) predatesAgent(e *entry, margin time.Duration) bool {
	return !b.in.AgentStarted.IsZero() && e.newest.StartedAt.Before(b.in.AgentStarted.Add(-margin))
}

// namesAnother tells whether what the API server has is about another instance.
func (b *builder) namesAnother(e *entry) bool {
	another := func(c v1.ContainerStatus) bool {
		return c.Name == e.spec.Name && c.ContainerID != "" && c.ContainerID != e.out.ContainerID
	}
	return slices.ContainsFunc(b.api.ContainerStatuses, another) || slices.ContainsFunc(b.api.InitContainerStatuses, another)
}

// sameInstance tells whether what was said last is about the newest instance.
func (e *entry) sameInstance() bool {
	return e.old != nil && e.old.ContainerID == e.out.ContainerID
}
