package syncloop

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission/resize"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// setStatus makes a status the pod's newest.
func (l *SyncLoop) setStatus(r *record, status *v1.PodStatus) {
	r.status = status
	if !r.ran && status.Phase == v1.PodRunning {
		r.ran = true
		if h := l.cfg.Hooks.PodStarted; h != nil {
			h(r.PodRef, time.Since(r.added))
		}
	}
	l.schedule(r)
	l.say(r)
	l.tellProbes(r)
}

// say sends the pod's newest status, and what goes with it, to the store and on
// to the sink, as a word of its own. Pod and Pods show it first, so that whoever
// hears of it from the sink finds it there.
func (l *SyncLoop) say(r *record) {
	l.publish(r)
	l.version++
	r.said, r.version = true, l.version
	u := StatusUpdate{
		Pod:      r.pod,
		Mirror:   l.mirrorOf(r.pod),
		Status:   r.status,
		Version:  r.version,
		MayRun:   r.mayRun(),
		Finished: r.life.Stage == lifecycle.Finished || !r.began() && r.refused != nil,
	}
	l.remember(r)
	if l.cfg.Store == nil || !l.store.hold(r.PodRef, u, r.mustLast()) {
		l.sink.offer(r.PodRef, u)
	}
}

// mustLast tells whether what is said of the pod may not be taken back by an agent
// that starts anew, so that it is written down first: an end, and that probes
// found it ready.
func (r *record) mustLast() bool {
	ready := condition(r.status, v1.PodReady)
	return podstatus.Terminal(r.status.Phase) || r.probed && ready != nil && ready.Status == v1.ConditionTrue
}

// remember has the store remember the pod as it stands. What it remembers of a
// pod that nobody wants holds until nothing is left of the pod.
func (l *SyncLoop) remember(r *record) {
	if l.cfg.Store == nil || r.pod == nil {
		return
	}
	if r.takes == nil && r.entered {
		r.takes = l.takes(r.allocated())
	}
	if r.admitted && r.size.allocation == nil {
		r.size.allocation = resize.Of(r.pod)
	}
	if record, keep := r.remember(); keep {
		l.store.save(record)
	} else {
		l.store.remove(r.UID)
	}
}

// deadline is when the pod's active deadline must be looked at; zero for never.
func (l *SyncLoop) deadline(r *record) time.Time {
	if r.life.Stage != lifecycle.Sync || r.pod == nil || r.pod.Spec.ActiveDeadlineSeconds == nil || r.status == nil || r.pastDeadline {
		return time.Time{}
	}
	at, ok := podstatus.Deadline(r.pod, r.status)
	if !ok {
		return time.Time{}
	}
	now := time.Now()
	return now.Add(at.Sub(now))
}
