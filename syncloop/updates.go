package syncloop

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// HandlePodUpdates takes pods that changed or were marked for deletion.
func (l *SyncLoop) HandlePodUpdates(ctx context.Context, u podmanager.Update) {
	pods, ok := l.receive(u)
	if !ok {
		return
	}
	for _, pod := range pods {
		l.manager.Put(pod)
		if podmanager.IsMirror(pod) {
			l.mirrorChanged(pod)
			continue
		}
		if r := l.pods[pod.UID]; r != nil {
			l.change(ctx, r, pod, false)
		} else {
			l.add(ctx, pod, u.Source)
		}
	}
	l.hear(u.Source)
}

// change takes a new version of a pod that is known.
func (l *SyncLoop) change(ctx context.Context, r *record, pod *v1.Pod, create bool) {
	marked := pod.DeletionTimestamp != nil && (r.pod == nil || r.pod.DeletionTimestamp == nil)
	if r.pod == nil && r.past != nil {
		// It comes again while it is being stopped: what was said of it goes on.
		r.status, r.version, r.past = lastSaid(r.past.Status, &pod.Status), r.past.Version, nil
	}
	l.warnOfUpdate(r, pod)
	if r.renew(pod) {
		l.wantResize(r)
	}
	l.tellProbes(r)
	switch {
	case r.began():
		l.step(r, lifecycle.Update{Pod: pod, Create: create, Static: isStatic(pod)})
		if marked && r.life.Stage == lifecycle.Finished {
			l.say(r) // whoever deletes it waits for the word that nothing of it is left
		}
	case r.refused != nil:
		l.say(r) // the same
	default:
		l.enter(ctx, r)
	}
	l.publish(r)
}

// warnOfUpdate tells users what speaks against a change that is made all the same.
func (l *SyncLoop) warnOfUpdate(r *record, pod *v1.Pod) {
	if l.cfg.Admission == nil || r.pod == nil || !r.admitted {
		return
	}
	for _, v := range l.cfg.Admission.Updated(r.pod, pod) {
		l.event(pod, v1.EventTypeWarning, v.Reason, v.Message)
	}
}

// HandlePodRemoves takes pods that their source does not have any more: they are
// stopped, whatever other sources say or don't say.
func (l *SyncLoop) HandlePodRemoves(_ context.Context, u podmanager.Update) {
	pods, ok := l.receive(u)
	if !ok {
		return
	}
	for _, pod := range pods {
		if r := l.pods[pod.UID]; r != nil && r.source != u.Source && !podmanager.IsMirror(pod) {
			continue // another source has it now
		}
		l.manager.Remove(pod.UID)
		if podmanager.IsMirror(pod) {
			l.mirrorChanged(pod)
			continue
		}
		if r := l.pods[pod.UID]; r != nil {
			l.remove(r)
		}
	}
	l.hear(u.Source)
}

// remove takes a pod that nobody wants any more to its end.
func (l *SyncLoop) remove(r *record) {
	if r.began() {
		l.step(r, lifecycle.Removed{})
		return
	}
	if r.listed.UID != "" {
		// It is not to run, but the runtime keeps something of it.
		l.strangers[r.UID] = r.listed
	}
	l.forget(r)
}

// HandlePodReconcile takes pods of which only the status in the source changed.
func (l *SyncLoop) HandlePodReconcile(_ context.Context, u podmanager.Update) {
	pods, ok := l.receive(u)
	if !ok {
		return
	}
	for _, pod := range pods {
		l.manager.Put(pod)
		if podmanager.IsMirror(pod) {
			l.reconcileStatic(pod)
		} else if r := l.pods[pod.UID]; r != nil {
			r.renew(pod)
			l.reconcile(r)
		}
	}
	l.hear(u.Source)
}

func (l *SyncLoop) reconcileStatic(mirror *v1.Pod) {
	if r := l.pods[l.manager.TranslateUID(mirror.UID)]; r != nil {
		l.reconcile(r)
	}
}

// reconcile deals with a status that others changed: what it says of readiness
// gates changes the pod's own readiness, and once the world knows of an
// eviction, nobody needs what is left of the pod.
func (l *SyncLoop) reconcile(r *record) {
	api := l.apiStatus(r.pod)
	if api == nil {
		api = &r.pod.Status
	}
	switch {
	case api.Phase == v1.PodFailed && api.Reason == reasonEvicted && r.began():
		l.step(r, lifecycle.Discard{})
	case r.status != nil && l.readinessDiffers(r, api):
		l.step(r, lifecycle.Update{Pod: r.pod})
	}
	l.publish(r)
}

// reasonEvicted is the reason in the status of an evicted pod.
const reasonEvicted = "Evicted"

// readinessDiffers tells whether a pod with readiness gates has a Ready
// condition in its source that is not what would be said of it now.
func (l *SyncLoop) readinessDiffers(r *record, api *v1.PodStatus) bool {
	if len(r.pod.Spec.ReadinessGates) == 0 {
		return false
	}
	told := condition(api, v1.PodReady)
	if told == nil {
		return false
	}
	now := podstatus.Compute(l.input(r))
	want := condition(&now.Status, v1.PodReady)
	return want != nil && (told.Status != want.Status || told.Message != want.Message)
}

func condition(s *v1.PodStatus, kind v1.PodConditionType) *v1.PodCondition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == kind {
			return &s.Conditions[i]
		}
	}
	return nil
}
