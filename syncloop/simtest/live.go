package simtest

import (
	"context"
	"fmt"
	"slices"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// live lets the plan happen, and then waits until the node has come to rest.
func (w *world) live() {
	if watcher, ok := w.runtime.(runtime.Watcher); ok {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() { _ = watcher.Watch(ctx, w.marks.add) }()
		synctest.Wait()
		w.marks.exact = true
	}
	w.start()
	for _, e := range w.plan.events {
		w.runUntil(e.at, func() bool {
			w.act(e.name)
			w.stats.Events++
			if e.fault {
				w.stats.Faults++
			}
			e.do(w)
			return true
		})
		if w.broken.Load() != nil {
			break
		}
	}
	if w.broken.Load() == nil {
		w.heal()
		w.rest()
	}
	w.end()
}

// rest waits until the node has come to rest, no longer than it may take.
func (w *world) rest() {
	bound := w.now() + w.plan.pace.bound()
	for wait := time.Minute; w.broken.Load() == nil; wait *= 3 {
		w.runUntil(min(w.now()+wait, bound), nil)
		if w.broken.Load() != nil {
			return
		}
		if w.checkConverged(); w.broken.Load() == nil {
			return
		}
		if w.now() < bound {
			w.broken.Store(nil)
		}
	}
}

// runUntil gives turns until the time has come, and all turns that are ready by
// then; with an event, that is one of the things to choose from once its time
// has come, and the end.
func (w *world) runUntil(at time.Duration, event func() bool) {
	for w.broken.Load() == nil {
		synctest.Wait()
		w.observe()
		if w.broken.Load() != nil {
			return
		}
		left := at - w.now()
		switch {
		case left <= 0 && event != nil && w.chooseEvent():
			event()
			return
		case w.choose():
		case left <= 0 && event == nil:
			return
		case left <= 0:
			event()
			return
		default:
			w.sleep(left)
		}
	}
}

// sleep lets time pass until something has come, at most so long.
func (w *world) sleep(most time.Duration) {
	if next := w.nextTime(); !next.IsZero() {
		most = min(most, time.Until(next))
	}
	select {
	case <-w.turns.wake:
		return
	default:
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.turns.wake:
	}
}

// nextTime is when something has its time that does not make itself known.
func (w *world) nextTime() (next time.Time) {
	now := time.Now()
	consider := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, t := range w.turns.all() {
		consider(t.fate.notBefore)
	}
	for _, h := range w.hints {
		consider(h.at)
	}
	for _, s := range w.sources {
		consider(s.silent)
	}
	consider(w.upAgain)
	for _, p := range w.order {
		if p.mustStop {
			consider(p.stopBy().Add(time.Nanosecond))
		}
	}
	return next
}

// choices are what may happen next.
type choices struct {
	turns    []*turn
	hints    []int
	sources  []*source
	channels []channel
}

func (c *choices) len() int { return len(c.turns) + len(c.hints) + len(c.sources) + len(c.channels) }

func (w *world) choices() (c choices) {
	now := time.Now()
	for _, t := range w.turns.all() {
		if !t.seen {
			t.seen = true
			t.fate = w.decide(t)
		}
		if t.ready(now) {
			c.turns = append(c.turns, t)
		}
	}
	if w.agent == nil || w.agent.stopping || w.agent.over() {
		return c
	}
	for i, h := range w.hints {
		if !h.at.After(now) {
			c.hints = append(c.hints, i)
		}
	}
	for _, s := range w.sources {
		if s.due(now) {
			c.sources = append(c.sources, s)
		}
	}
	c.channels = w.agent.readyChannels()
	return c
}

// chooseEvent tells whether the event of the plan is next.
func (w *world) chooseEvent() bool {
	c := w.choices()
	return w.draw.IntN(c.len()+1) == 0
}

// choose lets one of the things happen that may; false if there is none.
func (w *world) choose() bool {
	if w.agentDown() {
		return true
	}
	c := w.choices()
	n := c.len()
	if n == 0 {
		return false
	}
	w.countdown()
	if w.agent == nil || w.agent.killed() {
		return true
	}
	i := w.draw.IntN(n)
	switch {
	case i < len(c.turns):
		w.give(c.turns[i])
		return true
	case i < len(c.turns)+len(c.hints):
		w.hint(c.hints[i-len(c.turns)])
		return true
	}
	i -= len(c.turns) + len(c.hints)
	if i < len(c.sources) {
		w.deliver(c.sources[i])
		return true
	}
	ch := c.channels[i-len(c.sources)]
	w.agent.step(ch)
	synctest.Wait()
	if update, found := w.agent.found(); found {
		w.act("the loop takes", channelNames[ch], update)
	}
	w.checkLedger()
	w.checkProbes()
	return true
}

func (w *world) give(t *turn) {
	w.act(t.what, string(t.uid), t.fate.String())
	if !t.asks() && (t.fate.fails || !t.fate.notBefore.IsZero()) {
		w.hampered(t.uid)
	}
	w.turns.give(t)
}

// deliver has a source say its next word.
func (w *world) deliver(s *source) {
	r := s.next()
	w.act(s.name+" says", string(r.Op), names(r.Pods))
	w.told(s, r)
	s.out <- r
	w.agent.set(config, true)
}

// hint hands a hint over.
func (w *world) hint(i int) {
	h := w.hints[i]
	w.hints = slices.Delete(w.hints, i, i+1)
	if w.notify == nil {
		return
	}
	w.act("hint", string(h.uid))
	w.notify(h.uid)
	w.agent.set(events, true)
}

// act is an action: something that happens at one moment.
func (w *world) act(words ...string) {
	w.stats.Steps++
	w.trace.step(w.now(), words...)
}

func names(pods []*v1.Pod) string {
	var uids []string
	for _, p := range pods {
		uids = append(uids, string(p.UID))
	}
	return fmt.Sprint(uids)
}
