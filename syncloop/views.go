package syncloop

import (
	"cmp"
	"maps"
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
	// Pending tells that something was heard that waits for the end of Work.
	Pending bool
	// Failures counts the pieces of work in a row that failed.
	Failures int
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

// views are what there is to see of each pod. Readers never wait for the loop, nor
// it for them longer than it takes to copy one view.
type views struct {
	mu   sync.RWMutex
	pods map[types.UID]*published
}

// published is the place of one pod's newest view. It is written over, and copied for
// who reads: a pod changes far more often than anybody looks.
type published struct {
	mu   sync.Mutex
	view PodView
}

func (p *published) copy() *PodView {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := p.view
	return &v
}

// publish shows a pod as it stands.
func (l *SyncLoop) publish(r *record) {
	if r.forgotten {
		return
	}
	v := PodView{
		PodRef: r.PodRef, Pod: r.pod, Source: r.source, Status: r.status,
		Stage: r.life.Stage, Work: r.life.Work, WorkSince: r.workSince,
		Pending: r.life.Pending, Failures: r.life.Failures,
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
	if r.shown == nil {
		r.shown = &published{view: v}
		l.views.add(r.UID, r.shown)
		return
	}
	r.shown.mu.Lock()
	r.shown.view = v
	r.shown.mu.Unlock()
}

func (v *views) add(uid types.UID, p *published) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.pods == nil {
		v.pods = map[types.UID]*published{}
	}
	v.pods[uid] = p
}

func (v *views) drop(uid types.UID) {
	v.mu.Lock()
	delete(v.pods, uid)
	v.mu.Unlock()
}

func (v *views) all() []*PodView {
	v.mu.RLock()
	places := slices.AppendSeq(make([]*published, 0, len(v.pods)), maps.Values(v.pods))
	v.mu.RUnlock()
	pods := make([]*PodView, len(places))
	for i, p := range places {
		pods[i] = p.copy()
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
	p, ok := l.views.pods[uid]
	l.views.mu.RUnlock()
	if !ok {
		return nil, false
	}
	return p.copy(), true
}
