package simtest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

// asking is the prober of one agent, in a plan with probes: each try of an attempt
// waits for its turn.
type asking struct {
	*world
	agent *agent
}

// newProbes makes what probes the containers of an agent.
func (w *world) newProbes(a *agent) syncloop.Probes {
	if !w.cfg.Probes {
		a.probing = newProbing()
		return a.probing
	}
	asks := asking{w, a}
	m, err := probe.NewManager(probe.Config{Prober: asks, Events: recorder{w}, Hooks: probe.Hooks{Attempt: asks.attempted}})
	if err != nil {
		panic(err) // the prober is our own
	}
	a.prober = m
	return m
}

// probesWait tells whether there is something to take.
func (a *agent) probesWait() bool {
	if a.prober != nil {
		return len(a.prober.Changed()) > 0
	}
	return a.probing.waiting()
}

const ask = "ask "

// asks tells whether the turn is a try of a probe: nothing else may wait for it.
func (t *turn) asks() bool { return strings.HasPrefix(t.what, ask) }

// Probe implements [probe.Prober].
func (a asking) Probe(ctx context.Context, target probe.Target) (r probe.Response, err error) {
	// Whoever is called off returns without a word from the world.
	defer context.AfterFunc(ctx, a.turns.nudge)()
	err = a.agent.call(ctx, ask+target.Container+" "+target.Probe, target.Pod.UID, func() (err error) {
		r, err = a.answer(target)
		return err
	})
	if errors.Is(err, context.DeadlineExceeded) && target.Action.Exec == nil {
		return probe.Response{Result: probe.Failure, Output: "timeout"}, nil
	}
	return r, err
}

var errNoContainer = errors.New("no such container")

// answer is that of the container.
func (a asking) answer(target probe.Target) (r probe.Response, err error) {
	p, kind := a.pods[target.Pod.UID], probe.Kind(target.Probe)
	st, err := a.runtime.PodStatus(context.Background(), target.Pod.UID)
	if err != nil || p == nil {
		return r, errNoContainer
	}
	a.checkAsked(p, target, kind)
	c, of := p.container(target.Container), byID(st, target.ContainerID)
	if c == nil || of == nil || of.State != runtime.StateRunning {
		return r, errNoContainer
	}
	switch a.mood(moodOf{string(p.UID), c.Name, kind}) {
	case errs:
		return r, errInjected
	case fails:
		r.Result = probe.Failure
	case wavers:
		r.Result = one(a.draw, probe.Success, probe.Warning, probe.Failure)
	default:
		r.Result = byNature(c, kind, a.now()-of.StartedAt.Sub(a.began))
	}
	r.Output = string(r.Result)
	return r, nil
}

func byID(st *runtime.PodStatus, id string) *runtime.ContainerStatus {
	for i := range st.Containers {
		if st.Containers[i].ID == id {
			return &st.Containers[i]
		}
	}
	return nil
}

// checkAsked sees that the container may be asked.
func (a asking) checkAsked(p *podState, target probe.Target, kind probe.Kind) {
	c := p.container(target.Container)
	switch {
	case c == nil:
		a.fail(ProbesDecide, "container %s of pod %s is asked, and there is none", target.Container, p.UID)
	case c.StartupProbe != nil && kind != probe.Startup && !p.health(target.ContainerID).started:
		a.fail(ProbesDecide, "%s of container %s of pod %s is asked before its startup probe succeeded", kind, c.Name, p.UID)
	}
	if v, ok := a.agent.loop.Pod(p.UID); kind != probe.Readiness && (!ok || v.Stage != lifecycle.Sync) {
		a.fail(ProbesDecide, "%s of container %s of pod %s is asked while its pod stops", kind, target.Container, p.UID)
	}
}

// attempted takes what an attempt came to, at the moment at which the agent has it.
func (a asking) attempted(i probe.AttemptInfo) {
	p := a.pods[i.Pod.UID]
	if i.Cancelled || p == nil || a.world.agent != a.agent || a.agent.killed() {
		return
	}
	a.stats.Attempts++
	c := p.container(i.Container)
	if c == nil {
		return
	}
	h := p.health(i.ContainerID).of(a.agent)
	if over := h.take(i.Kind, c, i.Attempt); over {
		a.fail(ProbesDecide, "%s of container %s of pod %s is asked although it has said its last word", i.Kind, i.Container, p.UID)
	}
	v := h.verdict(a.agent, i.Kind)
	if v != "" {
		a.trace.note("%s of %s/%s says %s", i.Kind, p.UID, i.Container, v)
	}
	if v == probe.Failure && i.Kind != probe.Readiness && h.failedAt.IsZero() {
		h.failedAt = time.Now()
	}
}

// hang is what a mood makes of a try.
func (w *world) hang(t *turn) (f fate) {
	container, kind, _ := strings.Cut(strings.TrimPrefix(t.what, ask), " ")
	at, bounded := t.ctx.Deadline()
	switch {
	case !bounded:
		w.fail(ProbesDecide, "%s of container %s of pod %s has no timeout", kind, container, t.uid)
	case w.mood(moodOf{string(t.uid), container, probe.Kind(kind)}) == hangs:
		f.notBefore = at
	}
	return f
}
