package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// hook is how one run of a lifecycle hook fares. That is known before it begins, so
// that a stop with a preStop hook takes a timer and no goroutine.
type hook struct {
	takes time.Duration // less than none: until the container ends
	fails bool
}

// hooksOf returns the hooks of an instance that is about to be started; nil where it
// has none.
func (f *Fake) hooksOf(i Instance, spec *v1.Container) (postStart, preStop *hook) {
	if spec.Lifecycle == nil {
		return nil, nil
	}
	return f.hookOf(i, spec.Lifecycle.PostStart), f.hookOf(i, spec.Lifecycle.PreStop)
}

func (f *Fake) hookOf(i Instance, handler *v1.LifecycleHandler) *hook {
	switch {
	case handler == nil:
		return nil
	case handler.Sleep != nil:
		return &hook{takes: max(0, time.Duration(handler.Sleep.Seconds)*time.Second)}
	case handler.Exec == nil:
		return &hook{}
	}
	i.Command, i.Init = handler.Exec.Command, true
	switch s := f.hook(i); {
	case s.StartError != nil:
		return &hook{fails: true}
	case !s.Exits:
		return &hook{takes: -1}
	default:
		return &hook{takes: max(0, s.RunFor), fails: s.ExitCode != 0}
	}
}

// postStart runs the hook of an instance that was just started. If the hook fails,
// the instance is stopped and the reason returned. The error ends the pass, and
// leaves the container to whoever wanted that.
func (s *syncing) postStart(ctx context.Context, id string, spec *v1.Container, h *hook) (reason, message string, err error) {
	failed := s.waitFor(ctx, id, h)
	err = ctx.Err()
	if err == nil && failed != nil {
		s.update(s.ref.UID, func(p *fakePod) bool {
			c := p.byID(id)
			if p.kills != s.kills || p.closing || c == nil {
				err = errOvertaken
				return false
			}
			s.warn(p.ref, spec.Name, "FailedPostStartHook", "PostStartHook failed")
			c.stopIn(runtime.Grace(s.req.Pod, spec, runtime.KillOther))
			return s.advanceStop(p)
		})
	}
	if err != nil || failed == nil {
		return "", "", err
	}
	err = s.awaitEnd(ctx, s.ref.UID, func(c *fakeContainer) bool { return c.id == id })
	return runtime.ReasonPostStartHookError, "PostStartHook failed", err
}

var errHookFailed = errors.New("the hook failed")

// waitFor lets a hook run in an instance: to its end, that of the instance, or the
// context's.
func (s *syncing) waitFor(ctx context.Context, id string, h *hook) error {
	if h.takes != 0 {
		var ended <-chan struct{} = closed
		s.update(s.ref.UID, func(p *fakePod) bool {
			if c := p.byID(id); c != nil {
				ended = c.wait()
			}
			return false
		})
		var done <-chan time.Time
		if h.takes > 0 {
			t := time.NewTimer(h.takes)
			defer t.Stop()
			done = t.C
		}
		select {
		case <-done:
		case <-ended:
			return fmt.Errorf("container %s has ended", id)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if h.fails {
		return errHookFailed
	}
	return nil
}

// preStopRuns begins the preStop hook of a container that is to stop, or carries on
// with it, and tells whether it still runs; wake is called when that may have changed.
// It has until the grace is over. However long it took, the container has
// [runtime.MinGrace] afterwards.
func (f *Fake) preStopRuns(p *fakePod, c *fakeContainer, now time.Time) bool {
	h := c.preStop
	if h == nil {
		return false
	}
	if c.hookSince.IsZero() {
		c.hookSince = now
	}
	ends, cut := c.hookSince.Add(h.takes), false
	if h.takes < 0 || ends.After(c.stopBy) {
		ends, cut = c.stopBy, true
	}
	if left := ends.Sub(now); left > 0 {
		if c.hook == nil {
			c.hook = time.AfterFunc(left, func() { f.update(p.ref.UID, f.advanceStop) })
		} else {
			c.hook.Reset(left)
		}
		return true
	}
	if h.fails || cut {
		f.warn(p.ref, c.name, "FailedPreStopHook", "PreStopHook failed")
	}
	c.preStop, c.spareUntil = nil, now.Add(runtime.MinGrace)
	return false
}

// unsent is an event that is sent once the lock is free.
type unsent struct {
	about           *v1.ObjectReference
	reason, message string
}

// warn has users told of a container. The lock is held.
func (f *Fake) warn(ref runtime.PodRef, container, reason, message string) {
	if f.events == nil {
		return
	}
	f.unsent = append(f.unsent, unsent{
		&v1.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: ref.Namespace, Name: ref.Name, UID: ref.UID,
			FieldPath: "spec.containers{" + container + "}",
		}, reason, message,
	})
}

// send sends what warn was told.
func (f *Fake) send(events []unsent) {
	for _, e := range events {
		f.events.Eventf(e.about, v1.EventTypeWarning, e.reason, "%s", e.message)
	}
}
