package syncloop

import (
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/admission/resize"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

// A pod that was let in has the resources that its spec asked for then. Whatever
// its spec asks for later, it is run, counted and spoken of by what it was granted,
// until the node has room for the other: see package resize. What was granted is
// remembered with the pod.

const (
	// resizePass is the timer of the resizes that wait. No pod has such a UID.
	resizePass types.UID = "\x00resize"
	// resizeRetry is how long after the last try those that wait are all tried
	// again, though nothing is known to have become free.
	resizeRetry = 3 * time.Minute
	// sourcesRetry is the pause while not all sources have been heard: what they
	// want comes first.
	sourcesRetry = 30 * time.Second
)

// size is what a pod was granted of the resources that it asks for.
type size struct {
	// allocation is what it was granted; nil is what its spec says.
	allocation *resize.Allocation
	// pod is the pod with that; nil if its spec says the same.
	pod *v1.Pod
	// pending and inProgress are the conditions that hold, nil if they don't.
	// They are replaced, never written to.
	pending, inProgress *v1.PodCondition
	// granted is when this agent granted it.
	granted time.Time
}

// conditions are those that hold, in the kubelet's order.
func (s *size) conditions() (list []v1.PodCondition) {
	for _, c := range [...]*v1.PodCondition{s.pending, s.inProgress} {
		if c != nil {
			list = append(list, *c)
		}
	}
	return list
}

// allocated is the pod with the resources that it was granted.
func (r *record) allocated() *v1.Pod {
	if r.size.pod != nil {
		return r.size.pod
	}
	return r.pod
}

// counted is the pod as the ledger counts it: while its containers still have what
// they had before, that counts too. The status of its source may be older.
func (r *record) counted() *v1.Pod { return resize.Counted(r.allocated(), r.status) }

// renew takes a new version of the pod, and tells whether it asks for other
// resources than the one before.
func (r *record) renew(pod *v1.Pod) (changed bool) {
	if before := r.pod; before != nil && r.admitted && resize.Differ(before, pod) {
		changed = true
		if r.size.allocation == nil {
			r.size.allocation = resize.Of(before)
		}
		if before.Generation == pod.Generation {
			r.size.pending = nil // a source that does not count generations
		}
	}
	r.pod, r.size.pod = pod, nil
	if allocated, differs := r.size.allocation.Apply(pod); differs {
		r.size.pod = allocated
	}
	return changed
}

// recallSize takes up what was said of resizes before this agent came.
func (r *record) recallSize() {
	// What still runs has what it was granted, also where the agent before only
	// stopped it, and so did not let it in.
	if r.past != nil && (r.past.Admitted || r.listed.Running) {
		r.size.allocation = r.past.Allocated
	}
	r.renew(r.pod)
	said := r.status
	if said == nil {
		said = &r.pod.Status
	}
	if c := condition(said, v1.PodResizePending); c != nil && r.size.pod != nil {
		r.size.pending = c.DeepCopy()
	}
	if c := condition(said, v1.PodResizeInProgress); c != nil {
		r.size.inProgress = c.DeepCopy()
	} else if !resize.Settled(r.allocated(), said) {
		// The agent before granted it and ended before it said so, or nobody
		// remembers what it was granted.
		c := resize.InProgressCondition(r.pod.Generation, nil, nil, time.Now())
		r.size.inProgress = &c
	}
}

// wantResize has a pod's wish tried after this step, or forgets it where the pod
// asks for what it has again.
func (l *SyncLoop) wantResize(r *record) {
	switch {
	case r.size.pod == nil:
		l.resizes.Remove(r.UID)
		r.size.pending = nil
	case r.admitted && !r.life.TerminationRequested():
		l.resizes.Push(r.pendingResize())
	}
}

func (r *record) pendingResize() resize.Pending {
	var since time.Time
	if r.size.pending != nil {
		since = r.size.pending.LastTransitionTime.Time
	}
	return resize.PendingOf(r.size.pod, r.pod, since)
}

// tryResizes tries those that may fit now, after each step: never in the middle of
// an update of many pods.
func (l *SyncLoop) tryResizes() {
	if !l.resizes.Ready() || l.stopping.active {
		return
	}
	if !l.sourceHeard("") {
		l.timers.set(resizePass, time.Now().Add(sourcesRetry))
		return
	}
	for p, ok := l.resizes.Next(); ok; p, ok = l.resizes.Next() {
		if r := l.pods[p.UID]; r != nil && r.size.pod != nil && !r.life.TerminationRequested() {
			l.tryResize(r, p)
		}
	}
	at := time.Time{}
	if l.resizes.Len() > 0 {
		at = time.Now().Add(resizeRetry)
	}
	l.timers.set(resizePass, at)
}

func (l *SyncLoop) tryResize(r *record, p resize.Pending) {
	began, before := time.Now(), l.roomOf(r.UID)
	l.judging.Store(r.pod)
	v, err := resize.Grant(l.workers.ctx, l.cfg.Admission, l.cfg.Resize, r.size.pod, resize.Counted(r.pod, r.status))
	l.judging.Store(nil)
	if err != nil {
		l.log.Error("a resize could not be judged, it is tried again", "pod", r.PodRef.String(), "err", err)
		l.resizes.Block(p, nil)
		return
	}
	if h := l.cfg.Hooks.PodResize; h != nil {
		h(r.PodRef, v, time.Since(began))
	}
	if v.Outcome == resize.Fits {
		l.freed(before.Less(l.roomOf(r.UID)))
		l.grant(r)
		return
	}
	c, news := resize.PendingCondition(v, r.pod, r.size.pending, time.Now())
	if news {
		reason, message := resize.RefusedEvent(v, r.pod)
		l.event(r.pod, v1.EventTypeWarning, reason, message)
	}
	said := r.size.pending
	r.size.pending = &c
	if v.Outcome == resize.Deferred {
		p.Since = c.LastTransitionTime.Time
		l.resizes.Block(p, v.Short)
	}
	if said == nil || *said != c {
		l.step(r, lifecycle.Poke{})
	}
}

// grant gives a pod what it asks for; its next sync carries that out.
func (l *SyncLoop) grant(r *record) {
	c := resize.InProgressCondition(r.pod.Generation, nil, nil, time.Now())
	r.size = size{allocation: resize.Of(r.pod), inProgress: &c, granted: time.Now()}
	r.takes = nil
	l.event(r.pod, v1.EventTypeNormal, resize.ReasonStarted, resize.StartedMessage(r.pod))
	l.remember(r)
	l.step(r, lifecycle.Update{Pod: r.pod, Static: isStatic(r.pod)})
}

// account counts a pod by what it has now, and what it gave back as free.
func (l *SyncLoop) account(r *record) {
	if !r.entered || r.status == nil || admission.Finished(&v1.Pod{Status: *r.status}) {
		return
	}
	before := l.roomOf(r.UID)
	if err := l.cfg.Admission.Update(r.counted()); err != nil {
		l.log.Error("a pod that was resized could not be counted", "pod", r.PodRef.String(), "err", err)
		return
	}
	r.takes = nil
	l.remember(r)
	l.freed(before.Less(l.roomOf(r.UID)))
}

// freed tells those that wait for room that so much of it became free.
func (l *SyncLoop) freed(room admission.Requests) {
	if room.Zero() {
		return
	}
	l.resizes.Freed(room)
	l.askAgain()
}

// resizeDone takes over what a worker found out about a resize.
func (l *SyncLoop) resizeDone(r *record, j *job) {
	if r.size.inProgress != j.resizing {
		return // another one was granted meanwhile
	}
	switch failed := j.outcome.resizeFailed; {
	case j.outcome.resized:
		r.size.inProgress = nil
		l.event(r.pod, v1.EventTypeNormal, resize.ReasonCompleted, resize.CompletedMessage(j.input.Pod))
		l.account(r)
		l.resized(r, j, nil)
	case failed != nil:
		if j.resizing == nil || j.resizing.Message != failed.Message {
			l.event(r.pod, v1.EventTypeWarning, resize.ReasonError, resize.ErrorMessage(j.input.Pod, errors.New(failed.Message)))
		}
		r.size.inProgress = failed
		l.resized(r, j, errors.New(failed.Message))
	}
}

// resized tells the host how a resize that was granted went.
func (l *SyncLoop) resized(r *record, j *job, err error) {
	h := l.cfg.Hooks.PodResized
	if h == nil {
		return
	}
	granted := r.size.granted
	if granted.IsZero() && j.resizing != nil { // by the agent before
		granted = j.resizing.LastTransitionTime.Time
	}
	h(r.PodRef, time.Since(granted), err)
}

// followResize sees whether the containers have what the pod was granted.
func (j *job) followResize() {
	if j.resizing == nil || !runtime.Resized(j.input.Pod, j.input.Observed) {
		return
	}
	j.outcome.resized = true
	j.setResizing(nil)
}

// resizeFailed notes that containers could not be given what the pod was granted.
func (j *job) resizeFailed(cause *runtime.ResizeError) {
	generation := j.input.Pod.Generation
	if j.resizing != nil {
		generation = j.resizing.ObservedGeneration
	}
	c := resize.InProgressCondition(generation, cause, j.resizing, time.Now())
	j.outcome.resized, j.outcome.resizeFailed = false, &c
	j.setResizing(&c)
}

// setResizing changes what the status says of the resize in progress.
func (j *job) setResizing(c *v1.PodCondition) {
	s := size{inProgress: c}
	for i := range j.input.Resize {
		if j.input.Resize[i].Type == v1.PodResizePending {
			s.pending = &j.input.Resize[i]
		}
	}
	j.input.Resize = s.conditions()
}
