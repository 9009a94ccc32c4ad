package simtest

import (
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

// health is what the attempts of probes came to of one container instance: a plain
// model of what the agent has to make of them.
type health struct {
	// started and ready: an agent's probe once said so.
	started, ready bool
	// failed: liveness or startup failed. failedAt is when they did first for the
	// agent that asks.
	failed   bool
	failedAt time.Time
	// unready: readiness failed since the agent last took it for ready.
	// wasUnready: it did since all agreed that it is ready, and an agent ended.
	unready, wasUnready bool

	// agent asks; streaks are what it heard.
	agent   *agent
	streaks map[probe.Kind]*streak
}

// streak is how many attempts in a row came to the same, and the verdict that
// followed; empty before the first.
type streak struct {
	good    bool
	n       int32
	verdict probe.Result
}

// health is that of an instance.
func (p *podState) health(id string) *health {
	h := p.healths[id]
	if h == nil {
		h = &health{}
		p.healths[id] = h
	}
	return h
}

// of returns h as an agent knows it: each begins with no attempt.
func (h *health) of(a *agent) *health {
	if h.agent != a {
		h.agent, h.streaks, h.failedAt = a, map[probe.Kind]*streak{}, time.Time{}
	}
	return h
}

// verdict is what an agent's own attempts say; empty if they say nothing.
func (h *health) verdict(a *agent, kind probe.Kind) probe.Result {
	if s := h.streaks[kind]; h.agent == a && s != nil {
		return s.verdict
	}
	return ""
}

// take counts an attempt, and tells whether none was to be made any more.
func (h *health) take(kind probe.Kind, c *v1.Container, a probe.Attempt) (over bool) {
	s := h.streaks[kind]
	if s == nil {
		s = &streak{}
		h.streaks[kind] = s
	}
	if s.verdict != "" && (kind == probe.Startup || kind == probe.Liveness && s.verdict == probe.Failure) {
		return true
	}
	if a.Err != nil && kind != probe.Startup {
		return false
	}
	good := a.Err == nil && (a.Result == probe.Success || a.Result == probe.Warning)
	if s.n++; s.good != good {
		s.good, s.n = good, 1
	}
	settings := probe.SettingsOf(map[probe.Kind]*v1.Probe{
		probe.Startup: c.StartupProbe, probe.Readiness: c.ReadinessProbe, probe.Liveness: c.LivenessProbe,
	}[kind])
	switch {
	case good && s.n >= settings.SuccessThreshold:
		s.verdict = probe.Success
	case !good && s.n >= settings.FailureThreshold:
		s.verdict = probe.Failure
	default:
		return false
	}
	h.published(kind, s.verdict)
	return false
}

// published takes a verdict.
func (h *health) published(kind probe.Kind, verdict probe.Result) {
	failed := verdict == probe.Failure
	switch kind {
	case probe.Readiness:
		h.ready = h.ready || !failed
		h.unready, h.wasUnready = h.unready || failed, h.wasUnready || failed
	case probe.Startup:
		h.started = h.started || !failed
		h.failed = h.failed || failed
	case probe.Liveness:
		h.failed = h.failed || failed
	}
}

// container is that of a name in the pod's spec; nil if there is none.
func (p *podState) container(name string) *v1.Container {
	for c := range containers(&p.pod.Spec) {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// runningOf gives the containers that a status says run and whose probes are made.
func (p *podState) runningOf(s *v1.PodStatus) func(yield func(*v1.Container, *v1.ContainerStatus) bool) {
	return func(yield func(*v1.Container, *v1.ContainerStatus) bool) {
		for _, list := range [][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
			for i := range list {
				c := p.container(list[i].Name)
				if list[i].State.Running != nil && c != nil && probed(p.pod, c) && !yield(c, &list[i]) {
					return
				}
			}
		}
	}
}

func bareID(id string) string { return strings.TrimPrefix(id, "sim://") }

// checkProbes sees that the agent takes no container for started or ready whose
// own probes did not say so, and that none loses its readiness for another reason.
func (w *world) checkProbes() {
	if !w.cfg.Probes || w.agent == nil || w.agent.loop == nil {
		return
	}
	for _, v := range w.agent.loop.Pods() {
		p := w.pods[v.UID]
		if p == nil || v.Status == nil {
			continue
		}
		for c, s := range p.runningOf(v.Status) {
			w.checkProbed(p, v, c, s)
		}
	}
}

func (w *world) checkProbed(p *podState, v *syncloop.PodView, c *v1.Container, s *v1.ContainerStatus) {
	h, started := p.health(bareID(s.ContainerID)), s.Started != nil && *s.Started
	switch {
	case started && c.StartupProbe != nil && !h.started:
		w.fail(ProbesDecide, "container %s of pod %s has started before its startup probe succeeded", c.Name, p.UID)
	case s.Ready && !started:
		w.fail(ProbesDecide, "container %s of pod %s is ready and has not started", c.Name, p.UID)
	case s.Ready && c.ReadinessProbe != nil && !h.ready:
		w.fail(ProbesDecide, "container %s of pod %s is ready before its readiness probe succeeded", c.Name, p.UID)
	case started && v.Stage == lifecycle.Sync && v.Work == "" && v.LastError == nil && !w.agent.probesWait() && !w.deadlinePassed(p):
		w.checkReady(p, c, s, h.verdict(w.agent, probe.Readiness))
	}
	before := p.readies[c.Name]
	now := readiness{id: s.ContainerID, agent: w.agent, ready: s.Ready}
	if before == now {
		return
	}
	p.readies[c.Name] = now
	switch {
	case s.Ready:
		h.unready = h.verdict(w.agent, probe.Readiness) == probe.Failure
	case before.ready && before.id == now.id && before.agent == now.agent && !h.unready && v.Stage == lifecycle.Sync && !p.wasDisturbed():
		w.fail(RestartTouchesNothing, "container %s of pod %s is not ready any more, and no probe said so", c.Name, p.UID)
	}
}

// checkReady sees that an agent which has taken all that probes said, and has no other
// word on its way, goes by it.
func (w *world) checkReady(p *podState, c *v1.Container, s *v1.ContainerStatus, verdict probe.Result) {
	switch {
	case s.Ready && verdict == probe.Failure:
		w.fail(ProbesDecide, "container %s of pod %s is ready although its probe failed", c.Name, p.UID)
	case !s.Ready && verdict == probe.Success:
		w.fail(ProbesDecide, "container %s of pod %s is not ready although its probe succeeded", c.Name, p.UID)
	}
}

// checkPolicy sees that a container which is never restarted is not for a probe, either.
func (w *world) checkPolicy(p *podState, old, next *instance, name string) {
	c := p.container(name)
	if c == nil || c.RestartPolicy != nil || p.pod.Spec.RestartPolicy != v1.RestartPolicyNever || !p.health(old.id).failed {
		return
	}
	if !old.disturbed && !p.vanished && p.lives == 0 && old.sandbox == next.sandbox && old.image == next.image && !restartsAll(p.pod) {
		w.fail(ProbesDecide, "container %s of pod %s is never to be restarted, and is as its probe failed", name, p.UID)
	}
}

// readiness is what an agent took a container for.
type readiness struct {
	id    string
	agent *agent
	ready bool
}

// settle follows the end of an agent: where its last word was that a container is
// ready, and had arrived, the next one has to say the same until its probe fails.
func (w *world) settle(a *agent) {
	if !w.cfg.Probes || a.loop == nil {
		return
	}
	for _, p := range w.order {
		v, ok := a.loop.Pod(p.UID)
		if !ok || v.Status == nil || p.said == nil {
			continue
		}
		arrived := map[string]bool{}
		for c, s := range p.runningOf(p.said.Status) {
			arrived[c.Name+s.ContainerID] = s.Ready
		}
		for c, s := range p.runningOf(v.Status) {
			h := p.health(bareID(s.ContainerID))
			if s.Ready && arrived[c.Name+s.ContainerID] && h.verdict(a, probe.Readiness) != probe.Failure {
				h.wasUnready = false
			}
		}
	}
}

// checkHealth sees, of a node at rest, that what probes said last is what is said of
// a container, and that one which failed is stopped within its grace.
func (w *world) checkHealth(v *syncloop.PodView, st *runtime.PodStatus) {
	p := w.pods[v.UID]
	if !w.cfg.Probes || v.Stage != lifecycle.Sync {
		return
	}
	for c, s := range p.runningOf(v.Status) {
		h, started := p.health(bareID(s.ContainerID)), s.Started != nil && *s.Started
		switch i := byID(st, bareID(s.ContainerID)); {
		case i == nil || i.State != runtime.StateRunning || w.justChanged(i):
		case !h.failedAt.IsZero() && h.agent == w.agent && time.Since(h.failedAt) > grace(p.pod)+trouble:
			w.fail(ProbesDecide, "container %s of pod %s runs on %s after its probe failed", c.Name, v.UID, time.Since(h.failedAt))
		case !started && (c.StartupProbe == nil || h.verdict(w.agent, probe.Startup) == probe.Success):
			w.fail(ProbesDecide, "container %s of pod %s has started, and is not said to have", c.Name, v.UID)
		case started && !s.Ready && c.ReadinessProbe == nil:
			w.fail(ProbesDecide, "container %s of pod %s has started, has no probe, and is not said to be ready", c.Name, v.UID)
		}
	}
}
