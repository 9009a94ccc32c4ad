package syncloop

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// ErrNotRunning is wrapped by the error of a call that needs a loop that runs.
var ErrNotRunning = errors.New("the loop does not run")

// ErrGraceExceeded is wrapped by the error of [SyncLoop.Kill] for a pod that
// did not stop in time. Its stop goes on.
var ErrGraceExceeded = errors.New("timeout waiting to kill pod")

// KillOptions say how [SyncLoop.Kill] stops a pod.
type KillOptions struct {
	// Grace is the most that it gets; zero leaves it its own.
	Grace time.Duration
	// Now kills what still runs at once.
	Now bool
	// Evict marks the kill as an eviction in the state of the pod's life, if
	// nothing else had begun its end. It changes nothing else: the words of an
	// eviction are its Verdict.
	Evict bool
	// Verdict makes the pod Failed with its reason and message, unless a
	// verdict was passed on it before. Nil passes none.
	Verdict *podstatus.Verdict
}

// Kill stops one pod although its source wants it, and returns once nothing of it
// runs. The pod does not come back under its UID, whatever its restart policy and its
// source say; without a Verdict its phase follows from its exit codes, and is
// Succeeded if all of them are zero. Kill gives up waiting after one and a half times
// the grace, at least 10 seconds, with an event and ErrGraceExceeded. A pod that is
// not known gives runtime.ErrNotFound; one that has stopped, or never began, is no
// error.
func (l *SyncLoop) Kill(ctx context.Context, uid types.UID, opts KillOptions) error {
	var (
		pod     *v1.Pod
		known   bool
		stopped = make(chan struct{})
		limit   time.Duration
	)
	err := l.call(ctx, func() {
		r := l.pods[uid]
		if known = r != nil; !known {
			return
		}
		pod = r.pod
		waiter := l.wait(stopped)
		l.step(r, lifecycle.Kill{Grace: opts.Grace, Now: opts.Now, Evict: opts.Evict, Verdict: opts.Verdict, Waiter: waiter})
		limit = killLimit(r.life.Grace)
	})
	if err == nil && !known {
		err = runtime.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("kill pod %s: %w", uid, err)
	}
	wait, cancel := context.WithTimeoutCause(ctx, limit, ErrGraceExceeded)
	defer cancel()
	if err = l.await(wait, stopped); err == nil {
		return nil
	}
	if errors.Is(err, ErrGraceExceeded) {
		l.exceededGrace(pod)
	}
	return fmt.Errorf("kill pod %s: %w", uid, err)
}

// killLimit is how long a pod of the grace may take to stop.
func killLimit(grace time.Duration) time.Duration { return max(10*time.Second, grace+grace/2) }

func (l *SyncLoop) exceededGrace(pod *v1.Pod) {
	l.event(pod, v1.EventTypeWarning, "ExceededGracePeriod", "Container runtime did not kill the pod within specified grace period.")
}

// wait makes a waiter that a channel stands for.
func (l *SyncLoop) wait(stopped chan struct{}) lifecycle.Waiter {
	l.lastWaiter++
	if l.waiters == nil {
		l.waiters = map[lifecycle.Waiter]chan struct{}{}
	}
	l.waiters[l.lastWaiter] = stopped
	return l.lastWaiter
}

func (l *SyncLoop) complete(waiters []lifecycle.Waiter) {
	for _, w := range waiters {
		close(l.waiters[w])
		delete(l.waiters, w)
	}
}

// call has the loop run a function, and returns once it did.
func (l *SyncLoop) call(ctx context.Context, f func()) error {
	if !l.running.Load() {
		return ErrNotRunning
	}
	done := make(chan struct{})
	l.inbox.post(func() {
		f()
		close(done)
	})
	return l.await(ctx, done)
}

// await waits for a channel to be closed while the loop runs.
func (l *SyncLoop) await(ctx context.Context, c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.over:
		return ErrNotRunning
	}
}
