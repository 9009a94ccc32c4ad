package syncloop

import (
	"context"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// ConditionAdmitted is the condition of a pod that is not let in yet: False,
// since when, with the reason and message of the verdict. It is there only while
// the pod waits, and its phase is Pending then.
const ConditionAdmitted v1.PodConditionType = "kubeparts.dev/Admitted"

// admitting are the pods that wait to be let in.
type admitting struct {
	waiting map[types.UID]*record
	// last is when they were last asked for again all together.
	last time.Time
}

// admissionPause is the least time between two rounds in which all that wait
// are asked for again because something became free.
const admissionPause = time.Second

// admit asks for a pod to be let in.
func (l *SyncLoop) admit(ctx context.Context, r *record) {
	began, had, room := time.Now(), l.occupies(r.UID), l.roomOf(r.UID)
	d := l.judge(ctx, r)
	if had && !l.occupies(r.UID) {
		l.vacated(room) // its place was kept, and it is refused
	}
	if h := l.cfg.Hooks.PodAdmitted; h != nil {
		h(r.pod, d.Verdict, time.Since(began))
	}
	if d.Outcome != admission.Admit && d.Plan == nil {
		l.release(r) // it was parked
	}
	if l.awaitsSources(d.Verdict) {
		d.Outcome = admission.Retry
	}
	switch {
	case d.Outcome == admission.Admit:
		r.entered = l.cfg.Admission != nil
		l.letIn(r)
	case d.Plan != nil && r.listed.Running:
		l.letIn(r)
		l.makeWay(r, d.Plan)
	case d.Plan != nil:
		l.preempt(r, d)
	case d.Outcome == admission.Reject, r.listed.Running && l.cfg.Readmit == ReadmitFail:
		l.reject(r, d.Verdict)
	case r.listed.Running:
		l.letIn(r)
	default:
		l.putOff(r, d.Verdict)
	}
}

// letIn begins the life of a pod that may run here.
func (l *SyncLoop) letIn(r *record) {
	r.admitted = true
	l.begin(r)
	l.remember(r)
}

func (l *SyncLoop) judge(ctx context.Context, r *record) admission.Decision {
	if l.stopping.active {
		return admission.Decision{Verdict: admission.Rejected(admission.ReasonNodeShutdown, admission.MessageNodeShutdown)}
	}
	if l.cfg.Admission == nil {
		return admission.Decision{Verdict: admission.Admitted()}
	}
	pod, ask := r.allocated(), l.cfg.Admission.Admit
	if r.listed.Running {
		pod, ask = r.counted(), l.askOfRunning
		if !l.occupies(pod.UID) {
			l.occupy(pod)
		}
	}
	l.judging.Store(pod)
	d, err := ask(ctx, pod)
	l.judging.Store(nil)
	if err != nil {
		l.log.Error("admission could not judge a pod", "pod", podmanager.FullName(r.pod), "err", err)
		d.Verdict = admission.RetryLater(admission.ReasonUnexpectedAdmissionError, err.Error(), 0)
	}
	return d
}

// askOfRunning judges a pod that runs, and is counted. Whatever the verdict, it
// keeps what it has until nothing of it runs any more.
func (l *SyncLoop) askOfRunning(ctx context.Context, pod *v1.Pod) (admission.Decision, error) {
	d, err := l.cfg.Admission.Check(ctx, pod)
	if err != nil || d.Outcome != admission.Admit {
		return d, err
	}
	return l.cfg.Admission.Resize(ctx, pod)
}

// reject refuses a pod for good. One that runs is stopped with its own grace.
func (l *SyncLoop) reject(r *record, v admission.Verdict) {
	r.wait = nil
	delete(l.admitting.waiting, r.UID)
	l.event(r.pod, v1.EventTypeWarning, v.Reason, v.Message)
	res := podstatus.Reject(l.input(r), v.Reason, v.Message)
	r.volatile = v.Reason == admission.ReasonNodeShutdown
	if r.listed.Running {
		r.life.Verdict = res.Verdict
		l.setStatus(r, &res.Status)
		l.begin(r)
		return
	}
	r.refused = res.Verdict
	l.releaseName(r)
	l.setStatus(r, &res.Status)
}

// putOff leaves a pod pending until something becomes free, or some time passed.
func (l *SyncLoop) putOff(r *record, v admission.Verdict) {
	now := time.Now()
	since := r.waitsSince(now)
	after := v.RetryAfter
	if after <= 0 {
		after = lifecycle.Jitter(l.cfg.AdmissionRetry, r.UID, uint64(now.Sub(since)))
	}
	news := r.wait == nil || r.wait.reason != v.Reason || r.wait.message != v.Message
	r.wait = &admissionWait{since: since, at: now.Add(after), reason: v.Reason, message: v.Message}
	l.admitting.waiting[r.UID] = r
	l.schedule(r)
	if news {
		l.event(r.pod, v1.EventTypeWarning, v.Reason, v.Message)
		l.sayWaiting(r)
	}
}

// waitsSince is since when a pod is put off; an earlier agent may have told it so.
func (r *record) waitsSince(now time.Time) time.Time {
	if r.wait == nil && r.status != nil {
		if c := condition(r.status, ConditionAdmitted); c != nil && c.Reason != reasonNameTaken {
			return c.LastTransitionTime.Time
		}
	}
	if r.wait == nil || r.wait.reason == reasonNameTaken {
		return now
	}
	return r.wait.since
}

// awaitName leaves a static pod pending until the one that has its name has
// ended. It is not judged before: the other one takes what it needs.
func (l *SyncLoop) awaitName(r *record) {
	if r.wait != nil && r.wait.reason == reasonNameTaken {
		return
	}
	l.vacate(r.UID)
	r.wait = &admissionWait{
		since: time.Now(), reason: reasonNameTaken,
		message: "another static pod named " + podmanager.FullName(r.pod) + " has not ended",
	}
	l.sayWaiting(r)
}

// reasonNameTaken is the reason of [ConditionAdmitted] for a static pod that
// waits for another one of its name to end.
const reasonNameTaken = "NameTaken"

// sayWaiting says that a pod is not let in yet, and why.
func (l *SyncLoop) sayWaiting(r *record) {
	res := podstatus.Compute(l.input(r))
	res.Status.Conditions = append(res.Status.Conditions, v1.PodCondition{
		Type: ConditionAdmitted, Status: v1.ConditionFalse,
		Reason: r.wait.reason, Message: r.wait.message,
		LastTransitionTime: metav1.NewTime(r.wait.since.Truncate(time.Second)),
	})
	l.setStatus(r, &res.Status)
}

// release takes a pod that has stopped out of the ledger, and has those that
// wait for room asked for again.
func (l *SyncLoop) release(r *record) {
	if !r.entered {
		return
	}
	r.entered = false
	l.vacate(r.UID)
}

// askAgain has the pods that wait asked for again, soon.
func (l *SyncLoop) askAgain() {
	if len(l.admitting.waiting) > 0 {
		now := time.Now()
		at := l.admitting.last.Add(admissionPause)
		if at.Before(now) {
			at = now
		}
		l.timers.set(admissionPass, at)
	}
}

// enterLedger enters a pod without asking anybody.
func (l *SyncLoop) enterLedger(r *record) {
	r.entered = l.cfg.Admission != nil && l.occupy(r.counted())
}

// retryAdmission asks again for all pods that wait, oldest first.
func (l *SyncLoop) retryAdmission(now time.Time) {
	l.admitting.last = now
	waiting := make([]*record, 0, len(l.admitting.waiting))
	for _, r := range l.admitting.waiting {
		waiting = append(waiting, r)
	}
	slices.SortFunc(waiting, func(a, b *record) int {
		if c := a.pod.CreationTimestamp.Compare(b.pod.CreationTimestamp.Time); c != 0 {
			return c
		}
		if c := a.wait.since.Compare(b.wait.since); c != 0 {
			return c
		}
		return strings.Compare(string(a.UID), string(b.UID))
	})
	for _, r := range waiting {
		l.admit(l.workers.ctx, r)
		l.publish(r)
	}
}
