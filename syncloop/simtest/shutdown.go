package simtest

import (
	"context"
	"fmt"
	"time"

	"github.com/kubeparts/kubeparts/syncloop"
)

// shutdown is the orderly end of an agent's pods, and of the agent after them.
type shutdown struct {
	// done is closed when it has come to its end, well or not; nil before it
	// begins. hurry ends the patience of whoever waits for it.
	done  chan struct{}
	hurry context.CancelFunc
	// away is for how long the agent is away then.
	away time.Duration
}

// hasShut tells whether the pods have been stopped, and the agent has not.
func (a *agent) hasShut() bool {
	if a.shut.done == nil || a.stopping || a.killed() {
		return false
	}
	select {
	case <-a.shut.done:
		return true
	default:
		return false
	}
}

// addShutdown puts one into a plan, at the time of another event. It draws after all
// else, so that the rest of the plan does not depend on it.
func (p *planner) addShutdown() {
	if len(p.events) == 0 || !p.chance(15) {
		return
	}
	opts := syncloop.ShutdownOptions{
		Grace: one(p.draw, 0, 0, 5*time.Second), Now: p.chance(20), Remove: p.chance(40),
	}
	patience, away := p.between(time.Second, 3*time.Minute), p.between(time.Second, 10*time.Minute)
	at := p.IntN(len(p.events))
	e := event{p.events[at].at, fmt.Sprintf("the node is shut down for %s: %+v, patience %s", away, opts, patience), true, func(w *world) {
		w.shutDown(opts, patience, away)
	}}
	p.events = append(p.events[:at:at], append([]event{e}, p.events[at:]...)...)
}

// shutDown has all pods stopped, and then the agent.
func (w *world) shutDown(opts syncloop.ShutdownOptions, patience, away time.Duration) {
	a := w.agent
	if a == nil || a.killed() || a.stopping || a.shut.done != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	a.shut = shutdown{make(chan struct{}), cancel, away}
	for _, p := range w.order {
		p.ending = true
		if p.running {
			w.mustStop(p)
		}
	}
	go func() {
		defer cancel()
		_ = a.loop.Shutdown(ctx, opts)
		close(a.shut.done)
		a.turns.nudge()
	}()
}

// wasShut follows the end of an agent that shut down: the next one runs again what
// its sources want, for nothing of it is remembered.
func (w *world) wasShut() {
	for _, p := range w.order {
		p.lives = max(p.lives, 1)
		p.mustStop = p.mustStop && (!p.wanted || p.deleting || p.source == "")
	}
}
