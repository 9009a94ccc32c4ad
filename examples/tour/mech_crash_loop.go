package main

import (
	"context"
	"time"

	"github.com/kubeparts/kubeparts/runtime"
)

func walkCrashLoop(_ context.Context, p *page) error {
	p.intro(`A container that ends again and again is restarted with growing waits: not at all
		the first time, then 10 seconds after its end, doubling up to 5 minutes. Plan
		says until when to wait; nobody sleeps. Here the time is a variable, and an
		hour of crashes takes none.`)
	e := newEngine(newPod("web"))
	e.carryOut(e.plan())

	p.step("The second crash", "runtime.Plan")
	e.exit("main", 1)
	e.carryOut(e.plan()) // the first restart comes at once
	e.now = e.now.Add(time.Second)
	e.exit("main", 1)
	p.in("%s\nnow %s", showContainers(&e.status), clock(e.now))
	a := e.plan()
	p.out("%s", showActions(a))
	p.out("come back at %s", clock(a.RetryAt))
	p.out("event %s %s: %s", a.Events[0].Type, a.Events[0].Reason, a.Events[0].Message)
	p.why("The wait counts from the end of the container, not from when somebody looked.")

	p.step("Eight crashes", "runtime.Plan", "runtime.Backoff.Started")
	t := &table{}
	t.row("restart", "ended", "started", "wait")
	for range 8 {
		ended := e.status.Container("main").FinishedAt
		if a := e.plan(); !a.RetryAt.IsZero() {
			e.now = a.RetryAt
		}
		e.carryOut(e.plan())
		newest := e.status.Container("main")
		t.row(newest.RestartCount, clock(ended), clock(newest.StartedAt), newest.StartedAt.Sub(ended))
		e.now = e.now.Add(time.Second)
		e.exit("main", 1)
	}
	p.out("%s", t)

	p.step("It runs for more than 10 minutes, and crashes", "runtime.Plan")
	if a := e.plan(); !a.RetryAt.IsZero() {
		e.now = a.RetryAt
	}
	e.carryOut(e.plan())
	e.now = e.now.Add(11 * time.Minute)
	e.exit("main", 1)
	e.pass(p)
	p.why("It has worked. The waits begin anew.")

	p.step("A new agent, which remembers nothing", "runtime.Backoff.Observe", "runtime.Plan")
	e.now = e.now.Add(time.Second)
	e.exit("main", 1)
	e.backoff = runtime.Backoff{}
	p.in("%s\nnow %s", showContainers(&e.status), clock(e.now))
	p.out("%s", showActions(e.plan()))
	p.why(`From the restart count the back-off is rebuilt, but from the time between the last
		two instances it follows that the waits had begun anew.`)
	return nil
}
