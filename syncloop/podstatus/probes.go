package podstatus

import (
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
	return e.saysStarted(e.old) || e.saysStarted(b.named(e)) || !b.in.Startup.Workers[e.spec.Name]
}

// ready tells whether a started container serves. What an earlier agent said of
// this very instance holds until probes say otherwise; where the API server has no
// word on an instance the readiness of the pod counts, as in the kubelet.
func (b *builder) ready(e *entry) bool {
	result, known := b.in.Readiness.Results[e.newest.ID]
	if known {
		return result == runtime.VerdictSuccess || !b.in.Readiness.Workers[e.spec.Name]
	}
	api := b.named(e)
	switch {
	case b.predatesAgent(e, 0) && (e.saysReady(e.old) || e.saysReady(api)):
		return true
	case b.predatesAgent(e, inheritanceMargin) && e.spec.ReadinessProbe != nil:
		return api == nil && isTrue(b.api.Conditions, v1.PodReady)
	case b.predatesAgent(e, inheritanceMargin) && api == nil:
		return true
	default:
		return !b.in.Readiness.Workers[e.spec.Name]
	}
}

// saysStarted tells whether a status calls the newest instance started.
func (e *entry) saysStarted(s *v1.ContainerStatus) bool {
	return s != nil && s.Started != nil && *s.Started && s.ContainerID == e.out.ContainerID
}

// saysReady tells whether a status calls the newest instance ready.
func (e *entry) saysReady(s *v1.ContainerStatus) bool {
	return s != nil && s.Ready && s.ContainerID == e.out.ContainerID
}

// predatesAgent tells whether a container ran before this agent did, by more than
// the margin.
func (b *builder) predatesAgent(e *entry, margin time.Duration) bool {
	return !b.in.AgentStarted.IsZero() && e.newest.StartedAt.Before(b.in.AgentStarted.Add(-margin))
}

// named is what the API server has of the container; nil if it knows no instance.
func (b *builder) named(e *entry) *v1.ContainerStatus {
	for _, list := range [...][]v1.ContainerStatus{b.api.ContainerStatuses, b.api.InitContainerStatuses} {
		for i := range list {
			if list[i].Name == e.spec.Name && list[i].ContainerID != "" {
				return &list[i]
			}
		}
	}
	return nil
}
