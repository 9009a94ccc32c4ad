package runtimetest

import (
	"context"
	"fmt"
	"time"

	"github.com/kubeparts/kubeparts/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// KillPod implements [runtime.Runtime]. Sidecars are asked to stop after the
// containers that they serve, the last of the spec first. What runs at the
// deadline is killed, whatever its turn.
func (f *Fake) KillPod(ctx context.Context, req runtime.KillRequest) error {
	uid := req.Ref.UID
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("kill pod %s: %w", req.Ref, err)
	}
	f.update(uid, func(p *fakePod) bool {
		deadline := req.Deadline
		if deadline.IsZero() {
			deadline = time.Now().Add(req.Grace)
		}
		p.kills++
		if p.stopBy.IsZero() || deadline.Before(p.stopBy) {
			p.stopBy = deadline
		}
		return f.advanceStop(p)
	})
	if err := f.awaitStop(ctx, uid); err != nil {
		return fmt.Errorf("kill pod %s: %w", req.Ref, err)
	}
	return nil
}

// advanceStop asks for the end of the containers whose turn it is, and closes
// the sandboxes once none is left. The lock is held. It reports whether the pod
// changed.
func (f *Fake) advanceStop(p *fakePod) bool {
	if p.stopBy.IsZero() {
		return false
	}
	now := time.Now()
	changed := false
	for turn, ok := p.stopTurn(); ok; {
		for _, c := range p.containers {
			if c.stopForPod(now, p.stopBy, c.order == turn, f.ender(p.ref.UID, c)) {
				changed = true
			}
		}
		next, more := p.stopTurn()
		if more && next == turn {
			return changed
		}
		turn, ok = next, more
	}
	p.stopBy = time.Time{}
	for i := range p.sandboxes {
		if s := &p.sandboxes[i]; s.Ready {
			s.Ready, s.IPs, changed = false, nil, true
		}
	}
	return changed
}

// stopForPod kills the container at the deadline, and asks it to end before if
// it is its turn. It reports whether it ended.
func (c *fakeContainer) stopForPod(now, deadline time.Time, turn bool, f fire) bool {
	if !c.mayRun() {
		return false
	}
	if c.state == runtime.StateUnknown {
		c.state = runtime.StateRunning
		c.end(now, exitKilled, reasonError)
		return true
	}
	if turn {
		c.term(now, f)
	}
	c.killBy(now, deadline, f)
	return !c.mayRun()
}

// mayRun tells whether the container runs, as far as anyone knows.
func (c *fakeContainer) mayRun() bool {
	return c.state == runtime.StateRunning || c.state == runtime.StateUnknown
}

// stopTurn returns the lowest order among the containers that may run.
func (p *fakePod) stopTurn() (turn int, ok bool) {
	for _, c := range p.containers {
		if !c.mayRun() {
			continue
		}
		if !ok || c.order < turn {
			turn, ok = c.order, true
		}
	}
	return turn, ok
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

// awaitStop returns nil once nothing of the pod runs.
func (f *Fake) awaitStop(ctx context.Context, uid types.UID) error {
	for {
		f.mu.Lock()
		p := f.pods[uid]
		if p == nil {
			f.mu.Unlock()
			return nil
		}
		c := p.running()
		if c == nil {
			f.mu.Unlock()
			return nil
		}
		ended := c.wait()
		f.mu.Unlock()
		select {
		case <-ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
