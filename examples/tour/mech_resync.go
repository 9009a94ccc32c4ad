package main

import (
	"context"
	"errors"
	"time"

	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

func walkResync(_ context.Context, p *page) error {
	p.intro(`Each second the kubelet asks which pods are due. Here each pod says when, and one
		heap of timers serves all. The time that a pod is due at is a part of its state.
		Waits are stretched by up to a half, so that pods do not move in step; by how
		much follows from the UID and the number of the work, so that a replay gives the
		same times.`)
	l := newLife(p)
	l.State, _ = l.rules.Step(l.State, lifecycle.Update{Pod: newPod("web"), Create: true}, l.now)

	p.step("After a sync that went well", "lifecycle.Rules.Step", "lifecycle.Jitter")
	l.done("Done, well, at "+clock(l.now), lifecycle.Done{})
	p.out("due at %s", clock(l.Due))
	p.why("A minute, stretched. What was missed is found then at the latest.")

	p.step("Its time has come", "lifecycle.Rules.Step")
	l.now = l.Due
	l.event("Due at "+clock(l.now), lifecycle.Due{})

	p.step("After a sync that failed", "lifecycle.Rules.Step")
	l.done("Done, error", lifecycle.Done{Err: errors.New("the runtime does not answer")})
	p.out("due at %s, failures %d", clock(l.Due), l.Failures)
	p.why("10 seconds, stretched.")

	p.step("A back-off ends earlier than the minute", "lifecycle.Rules.Step")
	l.now = l.Due
	l.event("Due at "+clock(l.now), lifecycle.Due{})
	l.done("Done, to be repeated in 7 s", lifecycle.Done{RetryAt: l.now.Add(7 * time.Second)})
	p.out("due at %s, failures %d", clock(l.Due), l.Failures)
	p.why("Plan said when the back-off of a container ends: that moment, and no tick, starts it.")
	return nil
}
