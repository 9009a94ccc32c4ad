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
		// Not at once: of the pods of one update some may be known to the ledger
		// alone yet.
		l.inbox.post(func() { l.stopVictims(r, d.Plan) })
	}
}

// stopVictims stops those that give way to a parked pod, unless it does not need
// their place any more.
func (l *SyncLoop) stopVictims(r *record, plan *admission.Plan) {
	parked := l.pods[r.UID] == r && r.wait != nil && r.wait.reason == admission.ReasonPreempting
	for _, victim := range plan.Victims {
		v := l.pods[victim.Pod.UID]
		switch {
		case v == nil || v.life.TerminationRequested():
		case !parked:
			l.cfg.Admission.Ledger.SetLeaving(admission.KeyOf(v.pod), false)
			l.askAgain()
		case !v.began():
			l.release(v) // it is parked itself, and is judged again
		default:
			l.stopVictim(v, r, victim, plan)
		}
	}
}

func (l *SyncLoop) stopVictim(v, r *record, victim admission.Victim, plan *admission.Plan) {
	l.log.Info("a pod gives way to a critical one", "pod", v.PodRef.String(), "critical", podmanager.FullName(r.pod))
	l.event(v.pod, v1.EventTypeWarning, admission.ReasonPreempting, admission.MessagePreempted)
	if h := l.cfg.Hooks.PodPreempted; h != nil {
		h(v.PodRef, r.PodRef, plan.Signal())
	}
	l.step(v, lifecycle.Kill{Evict: true, Verdict: &podstatus.Verdict{
		Reason: admission.ReasonPreempting, Message: admission.MessagePreempted, Disruption: victim.Condition().Message,
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

// awaitSources leaves a critical pod pending that found no victims, while
// places are kept for pods whose sources have not spoken since the agent started,
// and tells whether there are any: nobody knows yet who may give way.
func (l *SyncLoop) awaitSources(r *record, v admission.Verdict) bool {
	if v.Reason != admission.ReasonUnexpectedAdmissionError || !l.preempts() {
		return false
	}
	for uid := range l.past {
		if l.occupies(uid) {
			l.putOff(r, admission.RetryLater(v.Reason, v.Message, 0))
			return true
		}
	}
	return false
}
