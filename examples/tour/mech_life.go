package main

import (
	"context"

	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

func walkLife(_ context.Context, p *page) error {
	p.intro(`A pod's life is a state machine: sync, terminating, terminated, finished, and
		never back. An event and the time go in; the next state and what is to be done
		come out. One piece of work is in force at a time; a worker does it, and its end
		is the next event.`)
	l := newLife(p)
	web := newPod("web", grace(30))

	p.step("Its source has it", "lifecycle.Rules.Step")
	l.event("Update, create", lifecycle.Update{Pod: web, Create: true})

	p.step("A change comes while the worker is busy", "lifecycle.Rules.Step")
	l.event("Update, a new label", lifecycle.Update{Pod: changed(web)})
	p.why("Work for one pod is serial. The newest version is kept; older ones are never seen.")

	p.step("The worker comes back", "lifecycle.Rules.Step")
	l.done("Done, well", lifecycle.Done{})
	l.done("Done, well", lifecycle.Done{})
	p.why("The change waited, so there is a second sync. After it no goroutine waits for the pod; its next sync is a time in a heap.")

	p.step("Its source does not have it any more", "lifecycle.Rules.Step")
	l.event("Removed", lifecycle.Removed{})
	p.out("grace %s, deadline %s", l.Grace, clock(l.Deadline))

	p.step("To the end", "lifecycle.Rules.Step")
	l.done("Done: nothing runs", lifecycle.Done{})
	l.done("Done: volumes are gone", lifecycle.Done{})
	l.done("Done: nothing is kept", lifecycle.Done{})
	p.why("Kill, release what it holds, remove what the runtime keeps, forget: in this order, each after the other has succeeded.")

	p.step("A kill overtakes a sync", "lifecycle.Rules.Step")
	l = newLife(p)
	l.event("Update, create", lifecycle.Update{Pod: web, Create: true})
	l.event("Removed", lifecycle.Removed{})
	l.done("Done: nothing runs", lifecycle.Done{})
	l.done("Done of work 1, late", lifecycle.Done{Seq: 1})
	l.done("Done: nothing runs", lifecycle.Done{})
	p.why(`The kill cancels the sync and does not wait for it. Because the sync may still have
		started something, the kill is repeated once it came back.`)

	p.step("It comes again while it is being stopped", "lifecycle.Rules.Step")
	l.event("Update, create", lifecycle.Update{Pod: web, Create: true})
	l.done("Done: volumes are gone", lifecycle.Done{})
	l.done("Done: nothing is kept", lifecycle.Done{})
	p.why(`The new pod waits for the end of the old one: what is left of the old life must
		not be taken for the new one's.`)
	return nil
}
