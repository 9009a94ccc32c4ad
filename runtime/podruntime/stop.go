package podruntime

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// requestTimeout is how long a backend may take for a call beyond what the call
// itself waits for. It bounds the calls that no caller's context bounds.
const requestTimeout = 2 * time.Minute

// stopOrder says how to stop one container.
type stopOrder struct {
	id      string
	name    string    // of the container
	message string    // of the Killing event
	by      time.Time // when the grace is over
	after   []string  // IDs whose end it waits for
	// hook is the container with its preStop hook; nil to run none.
	hook *hookTarget
	// object is what events are about.
	object *v1.ObjectReference
}

// stopping is the stop of one container. There is one at a time for each, which
// whoever wants the container stopped joins.
type stopping struct {
	stopOrder
	deadline *deadline
	done     chan struct{}
	err      error // once done
}

// stopAll begins the stops that are not in flight yet, moves forward those that
// are, and returns all of them. The stops go on by themselves.
func (r *Runtime) stopAll(s *podState, orders []stopOrder) []*stopping {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*stopping, len(orders))
	var begun []*stopping
	for i, o := range orders {
		old := s.stops[o.id]
		if old != nil && !old.over() {
			old.deadline.move(o.by)
			all[i] = old
			continue
		}
		if old != nil {
			o.hook, o.message = nil, "" // it ran, and was told, the first time
		}
		all[i] = &stopping{stopOrder: o, deadline: newDeadline(o.by), done: make(chan struct{})}
		if s.stops == nil {
			s.stops = make(map[string]*stopping)
		}
		s.stops[o.id] = all[i]
		begun = append(begun, all[i])
	}
	for _, one := range begun {
		var before []*stopping
		for _, id := range one.after {
			if other := s.stops[id]; other != nil && other != one {
				before = append(before, other)
			}
		}
		go r.stop(s, one, before)
	}
	return all
}

func (s *stopping) over() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// stop carries a stop out: event, hook, turn, stop. A stop that fails is done
// as well, so that nobody waits for it in vain.
func (r *Runtime) stop(state *podState, s *stopping, before []*stopping) {
	defer close(s.done)
	if s.message != "" {
		r.event(s.object, v1.EventTypeNormal, "Killing", s.message)
	}
	if s.hook != nil {
		end := state.begin("the preStop hook of ", s.name)
		r.preStop(s)
		end()
	}
	for _, other := range before {
		if !s.deadline.await(other.done) {
			break
		}
	}
	defer state.begin("the end of container ", s.name)()
	if err := r.stopContainer(s); err != nil {
		s.err = fmt.Errorf("stop container %s: %w", s.id, err)
		r.cfg.Logger.Error("container could not be stopped", "container", s.id, "error", err)
	}
}

// preStop runs the hook until the deadline at most, and leaves it to its fate
// then. One for which there is no time is not begun.
func (r *Runtime) preStop(s *stopping) {
	if by, _ := s.deadline.get(); time.Until(by) <= 0 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := r.runHook(ctx, s.hook, s.id); err != nil {
			r.event(s.object, v1.EventTypeWarning, "FailedPreStopHook", "PreStopHook failed")
			r.cfg.Logger.Warn("preStop hook failed", "container", s.id, "error", err)
		}
	}()
	s.deadline.await(done)
}

// stopContainer stops the container with what is left of its grace. When the
// deadline moves meanwhile, the backend is told the shorter grace.
func (r *Runtime) stopContainer(s *stopping) error {
	for {
		at, moved := s.deadline.get()
		grace := max(time.Until(at), runtime.MinGrace)
		ctx, cancel := context.WithTimeout(context.Background(), grace+requestTimeout)
		unlink := context.AfterFunc(moved, cancel)
		err := r.cfg.Backend.StopContainer(ctx, s.id, grace)
		again := !unlink()
		cancel()
		switch {
		case err == nil, errors.Is(err, runtime.ErrNotFound):
			return nil
		case !again:
			return err
		}
	}
}

// awaitStops waits for all stops, and returns what went wrong with them. When
// the context ends they go on.
func awaitStops(ctx context.Context, stops []*stopping) error {
	var errs []error
	for _, s := range stops {
		select {
		case <-s.done:
			errs = append(errs, s.err)
		case <-ctx.Done():
			return ended(ctx)
		}
	}
	return errors.Join(errs...)
}
