package syncloop

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// ShutdownOptions say how [SyncLoop.Shutdown] stops the pods.
type ShutdownOptions struct {
	// Grace is the most that a pod gets; zero leaves each its own.
	Grace time.Duration
	// Now kills what still runs at once.
	Now bool
	// Remove removes what the runtime keeps of each pod once it has stopped:
	// volumes, logs, dead containers.
	Remove bool
}

// What is said of a pod that [SyncLoop.Shutdown] stopped.
const (
	reasonTerminated  = "Terminated"
	messageTerminated = "Pod was terminated in response to imminent node shutdown."
)

// Shutdown stops all pods, each with its grace, and returns once nothing runs
// and store and sink have their last words, or when the context ends: the error
// then says what is left, and the stop goes on. From its first call on no pod is
// let in: it fails with Reason NodeShutdown. The loop goes on meanwhile, which
// Hooks and Pods show, and afterwards until the context of Run ends.
//
// A further call hurries the first one with a shorter grace, or with Now, and
// waits too.
//
// Pods that were stopped are Failed with Reason Terminated, unless they had come
// to their end. The store does not keep that: an agent that starts anew runs
// again what its sources want.
func (l *SyncLoop) Shutdown(ctx context.Context, opts ShutdownOptions) error {
	var stopped <-chan struct{}
	if err := l.call(ctx, func() { stopped = l.stopAll(opts) }); err != nil {
		return fmt.Errorf("shutdown: %w", err)
	}
	if err := l.await(ctx, stopped); err != nil {
		return fmt.Errorf("shutdown: pods have not stopped: %w", err)
	}
	if err := l.await(ctx, l.store.settled()); err != nil {
		return fmt.Errorf("shutdown: the store was not brought up to date: %w", err)
	}
	if err := l.await(ctx, l.sink.settled()); err != nil {
		return fmt.Errorf("shutdown: the sink does not have all statuses: %w", err)
	}
	return nil
}

// stopping is the loop's part of a shutdown.
type stopping struct {
	active bool
	opts   ShutdownOptions
	// left are the pods that have not stopped; stopped is closed once there are
	// none.
	left    map[types.UID]bool
	stopped chan struct{}
}

// stopAll begins or hurries the stop of all pods.
func (l *SyncLoop) stopAll(opts ShutdownOptions) <-chan struct{} {
	s := &l.stopping
	if !s.active {
		s.active = true
		s.left = map[types.UID]bool{}
		s.stopped = make(chan struct{})
	}
	s.opts = opts
	if !l.listed {
		return s.stopped // nobody knows yet what runs: takeListing comes back here
	}
	for _, uid := range slices.Sorted(maps.Keys(l.admitting.waiting)) {
		if r := l.admitting.waiting[uid]; r != nil {
			l.admit(l.workers.ctx, r)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(l.strangers)) {
		// What does not run is left as it is while its source may still want it: what
		// is remembered of it, that it is done say, is for the next agent.
		if p := l.strangers[uid]; p.Running || opts.Remove || l.unwanted(uid) {
			l.killStranger(p, time.Now())
		}
	}
	uids := slices.Sorted(maps.Keys(l.pods))
	for _, uid := range uids {
		if r := l.pods[uid]; r.began() && !r.over() {
			s.left[uid] = true
		}
	}
	for _, uid := range uids {
		if r := l.pods[uid]; r != nil {
			l.stopOne(r, opts)
		}
	}
	l.allStopped()
	return s.stopped
}

// stopLate stops a pod that was let in before, and that a source names only while all
// stop: more of it may run than was listed.
func (l *SyncLoop) stopLate(r *record) {
	if r.began() && !r.over() {
		l.stopping.left[r.UID] = true
	}
	l.stopOne(r, l.stopping.opts)
}

func (l *SyncLoop) stopOne(r *record, opts ShutdownOptions) {
	if !r.began() {
		return
	}
	if lifecycle.KnownTerminated(&r.life) {
		if opts.Remove {
			l.step(r, lifecycle.Discard{})
		}
		return
	}
	kill := lifecycle.Kill{Grace: opts.Grace, Now: opts.Now, Discard: opts.Remove}
	if !r.life.TerminationRequested() {
		r.volatile = true
		kill.Verdict = &podstatus.Verdict{Reason: reasonTerminated, Message: messageTerminated}
	}
	l.step(r, kill)
}

// stoppedYet takes note of a pod that has stopped during a shutdown.
func (l *SyncLoop) stoppedYet(r *record) {
	if l.stopping.left[r.UID] && (r.over() || r.forgotten || !r.began()) {
		delete(l.stopping.left, r.UID)
		l.allStopped()
	}
}

func (l *SyncLoop) allStopped() {
	s := &l.stopping
	if !l.listed || len(s.left) > 0 {
		return
	}
	select {
	case <-s.stopped:
	default:
		close(s.stopped)
	}
}
