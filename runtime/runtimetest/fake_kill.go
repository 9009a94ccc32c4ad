package runtimetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// KillPod implements [runtime.Runtime]. Containers are asked to stop in the
// order of [runtime.StopOrder], once their preStop hooks have ended. What runs at
// the deadline is killed, whatever its turn, save that a container whose hook took
// long has [runtime.MinGrace] after it. A grace of less than a second has no hooks.
func (f *Fake) KillPod(ctx context.Context, req runtime.KillRequest) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("kill pod %s: %w", req.Ref, err)
	}
	deadline := req.Deadline
	if deadline.IsZero() {
		deadline = time.Now().Add(req.Grace)
	}
	uid := req.Ref.UID
	var status *runtime.PodStatus
	f.update(uid, func(p *fakePod) bool {
		p.kills++
		status = p.status(time.Now())
		return false
	})
	order := runtime.StopOrder(req.Pod, status, req.Grace)
	f.update(uid, func(p *fakePod) bool {
		p.closing = true
		for _, stop := range order {
			if c := p.byID(stop.ID); c != nil && c.stopBy.IsZero() {
				c.after = stop.After
			}
		}
		for _, c := range p.containers {
			c.stopAt(deadline, req.Grace)
		}
		return f.advanceStop(p)
	})
	if err := f.awaitEnd(ctx, uid, everyContainer); err != nil {
		return fmt.Errorf("kill pod %s: %w", req.Ref, err)
	}
	return nil
}

func everyContainer(*fakeContainer) bool { return true }

// stopIn asks for the end of the container within the grace.
func (c *fakeContainer) stopIn(grace time.Duration) { c.stopAt(time.Now().Add(grace), grace) }

// stopAt asks for the end of the container by the deadline, unless an earlier
// one holds. advanceStop carries it out. The grace of the first to ask decides
// whether there is time for the preStop hook.
func (c *fakeContainer) stopAt(deadline time.Time, grace time.Duration) {
	if c.stopBy.IsZero() && grace < time.Second {
		c.preStop = nil
	}
	if c.mayRun() && (c.stopBy.IsZero() || deadline.Before(c.stopBy)) {
		c.stopBy = deadline
	}
}

// advanceStop carries on with the stop of the containers that are asked to end,
// and closes the sandboxes of a pod that is killed once nothing of it runs. It
// is called after each change. The lock is held. It reports whether the pod
// changed.
func (f *Fake) advanceStop(p *fakePod) (changed bool) {
	now := time.Now()
	for again := true; again; {
		again = false
		for _, c := range p.containers {
			if !c.stopBy.IsZero() && c.mayRun() && !f.preStopRuns(p, c, now) {
				c.advanceStop(now, p.allEnded(c.after), f.ender(p.ref.UID, c))
				again = again || !c.mayRun()
			}
		}
		changed = changed || again
	}
	if !p.closing || p.running() != nil {
		return changed
	}
	p.closing = false
	for i := range p.sandboxes {
		if s := &p.sandboxes[i]; s.Ready {
			s.Ready, s.IPs, changed = false, nil, true
		}
	}
	return changed
}

// advanceStop asks the container to end if it is its turn, and kills it at its
// deadline in any case.
func (c *fakeContainer) advanceStop(now time.Time, turn bool, f fire) {
	if c.state == runtime.StateUnknown {
		c.end(now, exitKilled, reasonError)
		return
	}
	by := c.stopBy
	if c.spareUntil.After(by) {
		by = c.spareUntil
	}
	// One whose deadline comes with its turn is killed, so that it does not depend
	// on which of two timers goes off first.
	if turn && (c.killAt.IsZero() || now.Before(by)) {
		c.term(now, f)
	}
	c.killBy(now, by, f)
}

// allEnded tells whether none of the containers runs.
func (p *fakePod) allEnded(ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool {
		c := p.byID(id)
		return c != nil && c.mayRun()
	})
}

// ender returns what a container's timers call.
func (f *Fake) ender(uid types.UID, c *fakeContainer) fire {
	return func(code int32, reason string) {
		f.update(uid, func(p *fakePod) bool {
			if !c.end(time.Now(), code, reason) {
				return false
			}
			f.advanceStop(p)
			return true
		})
	}
}

// awaitEnd returns nil once none of the containers that are chosen runs.
func (f *Fake) awaitEnd(ctx context.Context, uid types.UID, chosen func(*fakeContainer) bool) error {
	for {
		var ended <-chan struct{}
		f.update(uid, func(p *fakePod) bool {
			for _, c := range p.containers {
				if c.mayRun() && chosen(c) {
					ended = c.wait()
					break
				}
			}
			return false
		})
		if ended == nil {
			return nil
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
