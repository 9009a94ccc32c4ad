package syncloop

import (
	"cmp"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// PodView is what the loop knows of one pod at one moment. It is a snapshot that
// nobody writes to.
type PodView struct {
	runtime.PodRef
	// Pod is the newest version of it; nil for a pod that only the runtime
	// knows. Its status is not up to date: see Status.
	Pod *v1.Pod
	// Source is where it came from.
	Source string
	// Status was said last; nil before the first word.
	Status *v1.PodStatus
	// Stage of its life; empty for a pod that waits to be let in, or was
	// refused.
	Stage lifecycle.Stage
	// Work is what a worker does for it now, since WorkSince; empty when idle.
	Work      lifecycle.Work
	WorkSince time.Time
	// Waiting tells why a pod that should run is not being worked on: it is
	// not let in yet, or another static pod of its name has not ended. Since
	// is when that began.
	Waiting      string
	WaitingSince time.Time
	// RetryAt is when it is looked at again by itself; zero for never.
	RetryAt time.Time
	// LastError is what went wrong last, nil after a success.
	LastError error
	// Admitted tells whether it was let in; Refused is why it never will be.
	Admitted bool
	Refused  *podstatus.Verdict
	// TerminatingSince and Deadline are set while, and after, it is stopped.
	TerminatingSince, Deadline time.Time
}

// views are the newest snapshots. Readers never wait for the loop.
type views struct {
	mu   sync.RWMutex
	pods map[types.UID]*PodView
}

// publish makes a new snapshot of a pod.
func (l *SyncLoop) publish(r *record) {
	if l.pods[r.UID] != r {
		return
	}
	v := &PodView{
		PodRef: r.PodRef, Pod: r.pod, Source: r.source, Status: r.status,
		Stage: r.life.Stage, Work: r.life.Work, WorkSince: r.workSince,
		RetryAt: r.life.Due, LastError: r.lastErr, Admitted: r.admitted, Refused: r.refused,
		TerminatingSince: r.life.TerminatingSince, Deadline: r.life.Deadline,
	}
	switch {
	case r.wait != nil:
		v.Waiting = r.wait.reason + ": " + r.wait.message
		v.WaitingSince, v.RetryAt = r.wait.since, r.wait.at
	case r.life.Stage == lifecycle.Sync && !r.life.Started:
		v.Waiting = "another static pod named " + r.fullName() + " has not ended"
		v.WaitingSince = r.added
	}
	l.views.mu.Lock()
	if l.views.pods == nil {
		l.views.pods = map[types.UID]*PodView{}
	}
	l.views.pods[r.UID] = v
	l.views.mu.Unlock()
}

func (v *views) drop(uid types.UID) {
	v.mu.Lock()
	delete(v.pods, uid)
	v.mu.Unlock()
}

func (v *views) all() []*PodView {
	v.mu.RLock()
	defer v.mu.RUnlock()
	pods := make([]*PodView, 0, len(v.pods))
	for _, view := range v.pods {
		pods = append(pods, view)
	}
	return pods
}

// Pods returns what is known of each pod, sorted by namespace, name and UID. It
// does not stop the loop, and works after Run too.
func (l *SyncLoop) Pods() []*PodView {
	pods := l.views.all()
	slices.SortFunc(pods, func(a, b *PodView) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return pods
}

// Pod returns what is known of one pod.
func (l *SyncLoop) Pod(uid types.UID) (*PodView, bool) {
	l.views.mu.RLock()
	defer l.views.mu.RUnlock()
	v, ok := l.views.pods[uid]
	return v, ok
}
