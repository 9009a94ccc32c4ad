package syncloop

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// A critical pod that lacks nothing but room takes the place of others. It is
// parked meanwhile: it is in the ledger, so that nobody takes the room that others
// leave, and waits like any pod that is not let in yet. Its victims stop side by
// side, and each one's end has it judged again. Pods that are being stopped for
// other reasons count as leaving too, so that nobody is stopped in vain. One that
// does not stop is not counted on any more after a while: others are chosen then.

// preempt parks a critical pod until there is room, and has its victims stopped.
func (l *SyncLoop) preempt(r *record, d admission.Decision) {
	r.entered = true
	more := len(d.Plan.Victims) > 0
	if !more && r.wait != nil && r.wait.reason == d.Reason {
		d.Message = r.wait.message // it waits for the same ones as before
	}
	l.putOff(r, d.Verdict)
	if more {
		l.stopSoon(r, d.Plan, func() bool { return r.wait != nil && r.wait.reason == admission.ReasonPreempting })
	}
}

// makeWay has others give way to a critical pod that ran before this agent came, on
// a node that has less room by now. It has its place already, and runs on.
func (l *SyncLoop) makeWay(r *record, plan *admission.Plan) {
	for _, v := range plan.Victims {
		l.cfg.Admission.Ledger.SetLeaving(admission.KeyOf(v.Pod), true)
	}
	l.stopSoon(r, plan, func() bool { return !r.life.TerminationRequested() })
}

// stopSoon has the victims of a plan stopped if the pod still needs their place.
// Not at once: of the pods of one update some may be known to the ledger alone yet.
func (l *SyncLoop) stopSoon(r *record, plan *admission.Plan, needs func() bool) {
	l.inbox.post(func() { l.stopVictims(r, plan, !r.forgotten && needs()) })
}

// stopVictims stops those that give way to a pod, unless it does not need their
// place any more.
func (l *SyncLoop) stopVictims(r *record, plan *admission.Plan, needs bool) {
	for _, victim := range plan.Victims {
		v := l.pods[victim.Pod.UID]
		switch {
		case v == nil || v.life.TerminationRequested():
		case !needs:
			l.cfg.Admission.Ledger.SetLeaving(admission.KeyOf(v.pod), false)
			l.askAgain()
		case !v.began():
			l.release(v) // it is parked itself, and is judged again
		default:
			l.stopVictim(v, r, plan.Signal())
		}
	}
}

func (l *SyncLoop) stopVictim(v, r *record, signal v1.ResourceName) {
	l.log.Info("a pod gives way to a critical one", "pod", v.PodRef.String(), "critical", podmanager.FullName(r.pod))
	l.event(v.pod, v1.EventTypeWarning, admission.ReasonPreempting, admission.MessagePreempted)
	if h := l.cfg.Hooks.PodPreempted; h != nil {
		h(v.PodRef, r.PodRef, signal)
	}
	l.step(v, lifecycle.Kill{Evict: true, Verdict: &podstatus.Verdict{
		Reason: admission.ReasonPreempting, Message: admission.MessagePreempted, Disruption: admission.DisruptionPreempted,
	}})
}

// preempts tells whether somebody may preempt here.
func (l *SyncLoop) preempts() bool { return l.cfg.Admission != nil && l.cfg.Admission.Preempt }

// leaves notes that a pod is being stopped: a preemption counts on its room.
func (l *SyncLoop) leaves(r *record) {
	if r.entered && l.preempts() {
		l.cfg.Admission.Ledger.SetLeaving(admission.Key(r.UID), true)
	}
}

// stuckAt is when a pod that is being stopped is not counted on any more: after
// one and a half times its grace, at least 10 seconds. Zero is never.
func (l *SyncLoop) stuckAt(r *record) time.Time {
	if r.life.Stage != lifecycle.Terminating || !r.entered || r.stuck || !l.preempts() {
		return time.Time{}
	}
	return r.life.TerminatingSince.Add(killLimit(r.life.Grace))
}

func (l *SyncLoop) isStuck(r *record, now time.Time) bool {
	at := l.stuckAt(r)
	return !at.IsZero() && !at.After(now)
}

// noteStuck notes that a pod does not stop. Its stop goes on.
func (l *SyncLoop) noteStuck(r *record) {
	r.stuck = true
	l.cfg.Admission.Ledger.SetStuck(admission.Key(r.UID))
	if v := r.verdict(); v != nil && v.Reason == admission.ReasonPreempting && r.pod != nil {
		l.exceededGrace(r.pod)
	}
	l.schedule(r)
	l.askAgain()
}

// awaitsSources tells whether a critical pod that found no victims is to be asked
// for again: while places are kept for pods whose sources have not spoken since the
// agent started, nobody knows yet who may give way.
func (l *SyncLoop) awaitsSources(v admission.Verdict) bool {
	if v.Outcome != admission.Reject || v.Reason != admission.ReasonUnexpectedAdmissionError || !l.preempts() {
		return false
	}
	for uid := range l.past {
		if l.occupies(uid) {
			return true
		}
	}
	return false
}
