package main

import (
	"context"
	"fmt"
	"time"

	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

func walkGrace(_ context.Context, p *page) error {
	p.intro(`A pod that is being stopped has a grace period. Whoever asks again may shorten it
		and never lengthen it, and the deadline never moves back.`)
	l := newLife(p)
	web := newPod("web", grace(60))
	l.State, _ = l.rules.Step(l.State, lifecycle.Update{Pod: web, Create: true}, l.now)
	l.State, _ = l.rules.Step(l.State, lifecycle.Done{Seq: l.Seq}, l.now)
	show := func(what string, k lifecycle.Kill) {
		l.event(fmt.Sprintf("%s at %s", what, clock(l.now)), k)
		p.out("grace %s, deadline %s", l.Grace, clock(l.Deadline))
	}

	p.step("A kill that says nothing of a grace", "lifecycle.Rules.Step", "lifecycle.Grace")
	show("Kill", lifecycle.Kill{Waiter: 1})
	p.why("The pod's own counts: 60 seconds.")

	p.step("An eviction that gives it 10 seconds", "lifecycle.Rules.Step")
	l.now = l.now.Add(5 * time.Second)
	show("Kill, grace 10s", lifecycle.Kill{Grace: 10 * time.Second, Waiter: 2})
	p.why("It overtakes the kill in flight: that one's context is cancelled, and a new one starts.")

	p.step("A kill that gives it 2 minutes", "lifecycle.Rules.Step")
	l.now = l.now.Add(time.Second)
	show("Kill, grace 2m", lifecycle.Kill{Grace: 2 * time.Minute})
	p.why("More than it has. Nothing changes.")

	p.step("At once", "lifecycle.Rules.Step")
	show("Kill, now", lifecycle.Kill{Now: true})
	p.why("The deadline is this moment: what still runs is killed.")

	p.step("It has stopped", "lifecycle.Rules.Step")
	l.done("Done: nothing runs", lifecycle.Done{})
	p.why("Everybody who asked is told.")

	p.step("The least of all that was said", "lifecycle.Grace")
	t := &table{}
	t.row("pod", "deletion", "asked for", "grace")
	five := int64(5)
	for _, c := range []struct {
		deletion *int64
		asked    time.Duration
	}{{nil, 0}, {&five, 0}, {&five, 2 * time.Second}, {&five, time.Minute}, {nil, time.Millisecond}} {
		pod := changed(web)
		pod.DeletionGracePeriodSeconds = c.deletion
		deletion := "-"
		if c.deletion != nil {
			deletion = fmt.Sprintf("%ds", *c.deletion)
		}
		t.row("60s", deletion, c.asked, lifecycle.Grace(0, c.asked, pod))
	}
	p.out("%s", t)
	p.why("It is never below a second.")
	return nil
}
