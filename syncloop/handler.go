package syncloop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

var _ SyncHandler = (*SyncLoop)(nil)

// ErrUnexpectedUpdate is wrapped by the report of an update that no loop can
// carry out.
var ErrUnexpectedUpdate = errors.New("unexpected update")

// HandleUnexpected reports an update that no loop can carry out.
func (l *SyncLoop) HandleUnexpected(_ context.Context, u podmanager.Update) {
	err := fmt.Errorf("%w: operation %q with %s from source %q", ErrUnexpectedUpdate, u.Op, count(len(u.Pods), "pod", "pods"), u.Source)
	l.log.Error("the update changes nothing", "err", err)
	if h := l.cfg.Hooks.UnexpectedUpdate; h != nil {
		h(err)
	}
}

// HandleRuntimeEvent has the pod looked at, unless that was done since.
func (l *SyncLoop) HandleRuntimeEvent(ctx context.Context, e RuntimeEvent) {
	moment := l.dirty.remove(e.UID)
	r := l.pods[e.UID]
	switch {
	case r == nil, lifecycle.KnownTerminated(&r.life) && moment > r.done:
		l.lookAtIdle(ctx, e.UID)
	case moment > r.read:
		l.step(r, lifecycle.Poke{})
	}
}

// HandlePodSyncs takes what came back from workers and others, and starts what
// is due.
func (l *SyncLoop) HandlePodSyncs(context.Context) {
	for _, message := range l.inbox.take() {
		message()
	}
	now := time.Now()
	for {
		uid, ok := l.timers.take(now)
		if !ok {
			return
		}
		l.due(uid, now)
	}
}

// admissionPass is the timer of the pods that wait to be let in. No pod has such
// a UID.
const admissionPass types.UID = "\x00admission"

// due deals with a timer that went off.
func (l *SyncLoop) due(uid types.UID, now time.Time) {
	switch uid {
	case workersPass:
		l.workers.look()
		return
	case admissionPass:
		l.retryAdmission(now)
		return
	case resizePass:
		l.resizes.WakeAll()
		return
	}
	r := l.pods[uid]
	if r == nil {
		return
	}
	switch {
	case r.wait != nil:
		l.admit(l.workers.ctx, r)
		l.publish(r)
	case !r.life.Due.IsZero() && !r.life.Due.After(now):
		l.step(r, lifecycle.Due{})
	case l.isStuck(r, now):
		l.noteStuck(r)
	default:
		// Its active deadline: the status that the sync makes says the rest.
		r.pastDeadline = true
		l.step(r, lifecycle.Poke{})
	}
}

// step takes the pod's life one event further and carries out what follows.
func (l *SyncLoop) step(r *record, e lifecycle.Event) {
	before := r.life
	var actions []lifecycle.Action
	r.life, actions = l.rules.Step(r.life, e, time.Now())
	if r.life.Stage != before.Stage {
		l.stageChanged(r, before.Stage)
	}
	if r.life.Stage != before.Stage || r.life.TerminationRequested() != before.TerminationRequested() {
		l.tellProbes(r)
	}
	for _, a := range actions {
		l.act(r, a)
	}
	if r.forgotten {
		return
	}
	l.schedule(r)
	if !before.TerminationRequested() && r.life.TerminationRequested() {
		l.remember(r)
	}
	l.publish(r)
	l.stoppedYet(r)
}

func (l *SyncLoop) act(r *record, a lifecycle.Action) {
	switch a := a.(type) {
	case lifecycle.Cancel:
		if r.cancel != nil {
			r.cancel()
		}
	case lifecycle.Start:
		l.startWork(r, a)
	case lifecycle.AcquireName:
		if l.names.Acquire(r.fullName(), r.UID) {
			l.step(r, lifecycle.NameGranted{})
		}
	case lifecycle.ReleaseName:
		l.releaseName(r)
	case lifecycle.Complete:
		l.complete(a.Waiters)
	case lifecycle.Recreate:
		l.recreate(r)
	case lifecycle.Forget:
		l.forget(r)
	}
}

// stageChanged follows a change of stage.
func (l *SyncLoop) stageChanged(r *record, from lifecycle.Stage) {
	stage := r.life.Stage
	if h := l.cfg.Hooks.PodStage; h != nil && stage != "" {
		h(r.PodRef, stage)
	}
	switch stage {
	case lifecycle.Sync:
		return
	case lifecycle.Terminating:
		l.leaves(r)
		return
	}
	// Nothing of it runs: what it took is free, and who waits for that may say so.
	l.release(r)
	if r.status != nil && stage != "" && from != "" {
		l.say(r) // what an agent before said is not to be said again unseen
	}
}

// releaseName gives the pod's full name back, or its place in the queue, and
// wakes the next one.
func (l *SyncLoop) releaseName(r *record) {
	next, ok := l.names.Release(r.fullName(), r.UID)
	if !ok {
		return
	}
	l.inbox.post(func() {
		switch successor := l.pods[next]; {
		case successor == nil:
		case successor.began():
			l.step(successor, lifecycle.NameGranted{})
		default:
			l.enter(l.workers.ctx, successor)
			l.publish(successor)
		}
	})
}

// schedule sets the pod's timer to whatever comes first.
func (l *SyncLoop) schedule(r *record) {
	at := r.life.Due
	if r.wait != nil {
		at = r.wait.at
	}
	for _, t := range [...]time.Time{l.deadline(r), l.stuckAt(r)} {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	l.timers.set(r.UID, at)
}
