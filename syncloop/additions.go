package syncloop

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// receive takes the pods of an update, unless it must be kept back: until the
// runtime was listed once, nobody can tell a pod that is new from one that runs.
func (l *SyncLoop) receive(u podmanager.Update) (pods []*v1.Pod, ok bool) {
	if !l.listed {
		l.held = append(l.held, u)
		return nil, false
	}
	pods = u.Pods
	if slices.Contains(pods, nil) {
		l.log.Error("an update holds pods that are nil", "source", u.Source, "op", string(u.Op))
		pods = slices.DeleteFunc(slices.Clone(pods), func(p *v1.Pod) bool { return p == nil })
	}
	return pods, true
}

// HandlePodAdditions takes pods that are new: they become known, oldest first,
// and then ask to be let in.
func (l *SyncLoop) HandlePodAdditions(ctx context.Context, u podmanager.Update) {
	pods, ok := l.receive(u)
	if !ok {
		return
	}
	l.keepPlaces(pods)
	for _, pod := range byCreation(pods) {
		l.manager.Put(pod)
		if podmanager.IsMirror(pod) {
			l.mirrorChanged(pod)
			continue
		}
		l.add(ctx, pod, u.Source)
	}
	if u.Op != podmanager.OpRestore {
		l.hear(u.Source)
	}
}

// byCreation sorts pods, the oldest first and static ones, which have no time of
// creation, before all.
func byCreation(pods []*v1.Pod) []*v1.Pod {
	sorted := slices.Clone(pods)
	slices.SortStableFunc(sorted, func(a, b *v1.Pod) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	return sorted
}

// add takes one pod that its source has.
func (l *SyncLoop) add(ctx context.Context, pod *v1.Pod, source string) {
	r := l.pods[pod.UID]
	if r != nil {
		r.source = source
		l.change(ctx, r, pod, true)
		return
	}
	r = newRecord(runtime.RefOf(pod), time.Now())
	r.pod, r.source = pod, source
	l.pods[pod.UID] = r
	l.recognise(r)
	r.recallSize()
	l.enter(ctx, r)
	l.publish(r)
}

// recognise joins a pod with what the store and the runtime know of it.
func (l *SyncLoop) recognise(r *record) {
	r.listed = l.strangers[r.UID]
	delete(l.strangers, r.UID)
	r.past = l.past[r.UID]
	delete(l.past, r.UID)
	if r.listed.UID != "" && !isStatic(r.pod) {
		l.releaseName(r) // it was kept for a static pod
	}
	if r.past == nil {
		return
	}
	r.life.Verdict = r.past.Verdict
	r.version = r.past.Version
	r.status = lastSaid(r.past.Status, &r.pod.Status)
	r.ran = r.status != nil && r.status.Phase == v1.PodRunning
}

// lastSaid is what was said last of a pod: what the store has, unless the agent
// before ended after it had said more and before that was written down. Then it is
// nil for a pod that had come to its end, whose source tells all; and restart
// counts are the higher ones.
func lastSaid(stored, source *v1.PodStatus) *v1.PodStatus {
	switch {
	case stored == nil, podstatus.Terminal(source.Phase) && stored.Phase != source.Phase:
		return nil
	case !restartedMore(source, stored):
		return stored
	}
	said := stored.DeepCopy()
	raiseRestarts(said.InitContainerStatuses, source.InitContainerStatuses)
	raiseRestarts(said.ContainerStatuses, source.ContainerStatuses)
	return said
}

// enter brings a pod that is known to the beginning of its life here: at once if
// it has come to its end or ran before, otherwise by way of admission.
func (l *SyncLoop) enter(ctx context.Context, r *record) {
	switch {
	case l.ended(r), r.pod.DeletionTimestamp != nil:
		r.admitted = r.listed.Running // an earlier agent let it in
		l.begin(r)
	case isStatic(r.pod) && !r.listed.Running && !l.names.Acquire(r.fullName(), r.UID):
		l.awaitName(r)
	case l.cfg.Readmit == ReadmitKeep && (r.listed.UID != "" || r.past != nil && r.past.Admitted):
		// One that was being stopped, and of which nothing runs, takes nothing: its
		// next life asks to be let in.
		r.admitted = r.listed.Running || r.past == nil || !r.past.over()
		l.begin(r)
		if l.stopping.active {
			l.stopLate(r)
		}
	default:
		l.admit(ctx, r)
	}
}

// ended tells whether the pod has come to its end, whoever says so.
func (l *SyncLoop) ended(r *record) bool {
	return podstatus.Terminal(r.pod.Status.Phase) ||
		r.status != nil && podstatus.Terminal(r.status.Phase) || r.life.Verdict != nil
}

// begin begins the life of a pod. What it takes is entered in the ledger,
// unless it takes nothing any more.
func (l *SyncLoop) begin(r *record) {
	r.wait = nil
	delete(l.admitting.waiting, r.UID)
	ended := l.ended(r)
	if !r.entered && (r.listed.Running || r.admitted && !ended || l.occupies(r.UID)) {
		l.enterLedger(r)
	}
	var past Record
	if r.past != nil {
		past = *r.past
	}
	l.step(r, lifecycle.Update{
		Pod: r.pod, Create: true, Static: isStatic(r.pod), Ended: ended,
		Observed: r.listed.UID != "", Running: r.listed.Running,
	})
	if !past.TerminatingSince.IsZero() {
		l.step(r, lifecycle.Resume{Since: past.TerminatingSince, Grace: past.Grace})
	}
	r.past = nil
	if r.size.pod != nil {
		l.wantResize(r)
	}
}

// recreate begins a new life of a pod whose last one is over.
func (l *SyncLoop) recreate(r *record) {
	life := r.life
	fresh := newRecord(r.PodRef, time.Now())
	fresh.pod, fresh.source, fresh.life = r.pod, r.source, life
	fresh.shown, fresh.unlisted = r.shown, r.unlisted
	*r = *fresh
	if h := l.cfg.Hooks.PodRestarted; h != nil {
		h(r.PodRef)
	}
	l.inbox.post(func() {
		if !r.forgotten && !r.began() {
			l.enter(l.workers.ctx, r)
			l.publish(r)
		}
	})
}

// forget drops all that is known of a pod.
func (l *SyncLoop) forget(r *record) {
	r.forgotten = true
	l.release(r)
	if r.probed {
		l.cfg.Probes.Remove(r.UID)
	}
	delete(l.pods, r.UID)
	delete(l.admitting.waiting, r.UID)
	l.timers.set(r.UID, time.Time{})
	l.store.forget(r.UID)
	l.sink.forget(r.UID)
	l.views.drop(r.UID)
	l.gate.forget(r.UID)
	l.resizes.Remove(r.UID)
	l.releaseName(r)
	l.stoppedYet(r)
	if h := l.cfg.Hooks.PodForgotten; h != nil {
		h(r.PodRef)
	}
}

// hear notes that a source has spoken.
func (l *SyncLoop) hear(source string) {
	if !l.heard[source] {
		l.heard[source] = true
		l.log.Info("heard of a source", "source", source)
	}
}
