package runtimetest

import (
	"context"
	"time"

	"github.com/kubeparts/kubeparts/runtime"
)

// Exit codes and reasons as a real engine reports them.
const (
	exitKilled      = 137
	reasonCompleted = "Completed"
	reasonError     = "Error"
)

// process is the run of one container in memory: a state and a few timers, none
// while it idles. The lock of the fake that owns it guards it, and
// the fake's fire ends it when a timer says so.
type process struct {
	script   Script
	state    runtime.State
	created  time.Time
	started  time.Time
	finished time.Time
	code     int32
	reason   string
	message  string

	asked  bool      // to end by itself
	killAt time.Time // when it is killed; zero for never
	exit   *time.Timer
	kill   *time.Timer
	hook   *time.Timer   // while a Fake runs its preStop hook
	ended  chan struct{} // made for the first who waits, closed at the end
}

// fire ends a process from a timer: it takes the owner's lock, calls end, and
// tells the watchers.
type fire func(code int32, reason string)

// start runs the process. The owner holds its lock.
func (p *process) start(now time.Time, f fire) {
	p.state, p.started = runtime.StateRunning, now
	if !p.script.Exits {
		return
	}
	if p.script.RunFor <= 0 {
		p.end(now, p.script.ExitCode, p.script.Reason)
		return
	}
	p.exit = time.AfterFunc(p.script.RunFor, func() { f(p.script.ExitCode, p.script.Reason) })
}

// term asks the process to end. Only the first time counts.
func (p *process) term(now time.Time, f fire) {
	if p.state != runtime.StateRunning || p.asked {
		return
	}
	p.asked = true
	if p.script.IgnoresTerm {
		return
	}
	if p.exit != nil {
		p.exit.Stop()
	}
	if p.script.StopAfter <= 0 {
		p.end(now, p.script.StopCode, "")
		return
	}
	p.exit = time.AfterFunc(p.script.StopAfter, func() { f(p.script.StopCode, "") })
}

// killBy kills the process at the deadline. Called again, an earlier deadline
// holds and a later one changes nothing.
func (p *process) killBy(now, deadline time.Time, f fire) {
	if p.state != runtime.StateRunning || !p.killAt.IsZero() && !deadline.Before(p.killAt) {
		return
	}
	p.killAt = deadline
	left := deadline.Sub(now)
	switch {
	case left <= 0:
		p.end(now, exitKilled, reasonError)
	case p.kill != nil:
		p.kill.Reset(left)
	default:
		p.kill = time.AfterFunc(left, func() { f(exitKilled, reasonError) })
	}
}

// end records the end of a process that may run; of any other it changes
// nothing. It reports whether it did.
func (p *process) end(now time.Time, code int32, reason string) bool {
	if !p.mayRun() {
		return false
	}
	p.stopTimers()
	if reason == "" && code == 0 {
		reason = reasonCompleted
	} else if reason == "" {
		reason = reasonError
	}
	p.state, p.finished = runtime.StateExited, now
	p.code, p.reason, p.message = code, reason, p.script.Message
	if p.ended != nil {
		close(p.ended)
	}
	return true
}

// forgetRun makes a running process one that nobody knows the state of.
func (p *process) forgetRun() {
	p.stopTimers()
	p.state, p.asked, p.killAt = runtime.StateUnknown, false, time.Time{}
}

func (p *process) stopTimers() {
	for _, t := range []*time.Timer{p.exit, p.kill, p.hook} {
		if t != nil {
			t.Stop()
		}
	}
	p.exit, p.kill, p.hook = nil, nil, nil
}

// mayRun tells whether the process runs, as far as anyone knows.
func (p *process) mayRun() bool {
	return p.state == runtime.StateRunning || p.state == runtime.StateUnknown
}

// wait returns a channel that is closed once the process does not run.
func (p *process) wait() <-chan struct{} {
	if !p.mayRun() {
		return closed
	}
	if p.ended == nil {
		p.ended = make(chan struct{})
	}
	return p.ended
}

// closed is what there is no need to wait for.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Wait returns nil after d, or the context's error if that ends first.
func Wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Hang returns when the context ends, with its error.
func Hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}
