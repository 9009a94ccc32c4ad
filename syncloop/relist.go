package syncloop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

// relister lists the runtime's pods again and again, and tells the loop what
// differs from the last list. What could not be listed changes nothing.
type relister struct {
	known map[types.UID]runtime.ListedPod
	// soon asks for a list before its time.
	soon chan struct{}
	// trouble is how the lists have fared.
	trouble trouble
	// watched: the runtime gives hints, so that lists are seldom needed.
	watched atomic.Bool
}

// listing is one list, as far as it is news.
type listing struct {
	// changed are pods that are new or have another revision; gone are those
	// that were in the last list.
	changed []runtime.ListedPod
	gone    []types.UID
	// all is the whole list; nobody writes to it.
	all map[types.UID]runtime.ListedPod
	// moment before the list was read.
	moment uint64
}

// The pauses between attempts while the runtime can't be listed.
const (
	relistBackoff    = 100 * time.Millisecond
	relistBackoffMax = 5 * time.Second
)

// The time between two lists where the host does not say.
const (
	relistPolled  = time.Second
	relistWatched = 5 * time.Minute
)

func (l *SyncLoop) relistInterval() time.Duration {
	switch {
	case l.cfg.RelistInterval > 0:
		return l.cfg.RelistInterval
	case l.relister.watched.Load():
		return relistWatched
	default:
		return relistPolled
	}
}

// watchBegins is how long a watch may take to begin without a change in between
// being missed.
const watchBegins = time.Second

// relistLoop lists at once and then at intervals until the context ends.
func (l *SyncLoop) relistLoop(ctx context.Context) {
	timer := time.NewTimer(l.relistInterval())
	defer timer.Stop()
	for failures := 0; ctx.Err() == nil; {
		wait := l.relistInterval()
		if err := l.relist(ctx); err != nil {
			wait = min(relistBackoff<<min(failures, 10), relistBackoffMax)
			failures++
		} else {
			failures = 0
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-l.relister.soon:
		}
	}
}

// relist reads one list and posts what is news in it.
func (l *SyncLoop) relist(ctx context.Context) error {
	began := time.Now()
	moment := l.moment()
	pods, err := l.cfg.Runtime.ListPods(ctx)
	if err != nil {
		err = fmt.Errorf("list the pods of the runtime: %w", err)
		if ctx.Err() == nil {
			l.log.Error("what is known of pods stays as it was", "err", err)
		}
		l.relisted(0, 0, began, err)
		return err
	}
	news := listing{moment: moment}
	known := make(map[types.UID]runtime.ListedPod, len(pods))
	for _, p := range pods {
		known[p.UID] = p
		if old, ok := l.relister.known[p.UID]; !ok || old.Revision != p.Revision || old.Running != p.Running {
			news.changed = append(news.changed, p)
		}
	}
	for uid := range l.relister.known {
		if _, ok := known[uid]; !ok {
			news.gone = append(news.gone, uid)
		}
	}
	slices.Sort(news.gone) // so that a replay is exact
	l.relister.known, news.all = known, known
	l.inbox.post(func() { l.takeListing(ctx, news) })
	l.relisted(len(pods), len(news.changed)+len(news.gone), began, nil)
	return nil
}

func (l *SyncLoop) relisted(pods, changed int, began time.Time, err error) {
	l.relister.trouble.note(err, time.Now())
	if h := l.cfg.Hooks.Relisted; h != nil {
		h(pods, changed, time.Since(began), err)
	}
}

// takeListing has the pods looked at that changed. What a list says of a pod is
// believed only if nothing was done to the pod since.
func (l *SyncLoop) takeListing(ctx context.Context, news listing) {
	for _, p := range news.changed {
		r := l.pods[p.UID]
		if r == nil {
			l.strangers[p.UID] = p
			continue
		}
		r.listed = p
		l.lookAt(r, p.Running, news.moment)
	}
	for _, uid := range news.gone {
		if _, stranger := l.strangers[uid]; stranger {
			delete(l.strangers, uid)
			if past := l.past[uid]; past == nil || past.ended() {
				l.vacate(uid)
			}
		}
		if r := l.pods[uid]; r != nil {
			r.listed = runtime.ListedPod{}
			l.lookAt(r, false, news.moment)
		}
	}
	l.checkUnlisted(news)
	if l.listed {
		return
	}
	l.listed = true
	l.reservePlaces()
	held := l.held
	l.held = nil
	for _, u := range held {
		l.keepPlaces(u.Pods)
	}
	for _, u := range held {
		handleUpdate(ctx, u, l)
	}
	if l.stopping.active {
		l.stopAll(l.stopping.opts)
	}
}

// checkUnlisted looks at the pods that were seen to have something in the runtime
// after the list before this one was read: those that it lacks were lost between
// the two, and no difference of lists shows that.
func (l *SyncLoop) checkUnlisted(news listing) {
	unlisted := l.unlisted
	l.unlisted = nil
	for _, uid := range unlisted {
		r := l.pods[uid]
		switch {
		case r == nil || !r.unlisted:
		case news.moment <= r.read || news.moment <= r.done:
			l.unlisted = append(l.unlisted, uid)
		default:
			r.unlisted = false
			if _, ok := news.all[uid]; !ok {
				l.lookAt(r, false, news.moment)
			}
		}
	}
}

// lookAt deals with a pod that a list of the moment shows as changed.
func (l *SyncLoop) lookAt(r *record, running bool, moment uint64) {
	switch {
	case moment <= r.read || moment <= r.done:
	case !lifecycle.KnownTerminated(&r.life):
		l.step(r, lifecycle.Poke{})
	case running:
		l.log.Warn("the runtime runs something of a pod that had ended", "pod", r.PodRef.String())
		l.step(r, lifecycle.Stray{})
	}
}

// relistSoon asks for a list before its time.
func (l *SyncLoop) relistSoon() {
	select {
	case l.relister.soon <- struct{}{}:
	default:
	}
}

// pump hands the hints over to the loop, one at a time.
func (l *SyncLoop) pump(ctx context.Context, events chan<- RuntimeEvent) {
	for {
		uid, ok := l.dirty.next()
		if !ok {
			select {
			case <-ctx.Done():
				return
			case <-l.dirty.wake:
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case events <- RuntimeEvent{UID: uid}:
		}
	}
}

var errWatchEnded = errors.New("watch returned before its context ended")

// watchLoop listens to the runtime's hints. After a watch that failed some may
// have been missed: everything is listed again.
func (l *SyncLoop) watchLoop(ctx context.Context, w runtime.Watcher) {
	said := ""
	for failures := 0; ; failures++ {
		began := time.Now()
		late := time.AfterFunc(watchBegins, l.relistSoon) // should it not say that it has begun
		err := w.Watch(ctx, func(uid types.UID) {
			if uid == "" { // it has begun: what was missed before shows in a list
				late.Stop()
				l.relistSoon()
				return
			}
			l.dirty.add(uid, l.moment())
		})
		late.Stop()
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, runtime.ErrNotSupported) { // it only passes on what lies under it
			l.relister.watched.Store(false)
			l.relistSoon()
			return
		}
		if time.Since(began) > relistBackoffMax {
			failures = 0
		}
		if err == nil {
			err = errWatchEnded
		}
		if err.Error() != said {
			said = err.Error()
			l.log.Warn("the watch of the runtime failed, it is begun anew each time", "err", err)
		}
		l.relistSoon()
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(relistBackoff<<min(failures, 10), relistBackoffMax)):
		}
	}
}

// lookAtIdle reads a pod that the runtime gave a hint about, and that nobody works on:
// one that the loop does not know, or that had ended.
func (l *SyncLoop) lookAtIdle(ctx context.Context, uid types.UID) {
	l.workers.run(false, just(func() {
		moment := l.moment()
		status, err := l.cfg.Runtime.PodStatus(ctx, uid)
		l.inbox.post(func() {
			l.workers.done()
			if err != nil || status == nil || len(status.Containers)+len(status.Sandboxes) == 0 {
				return
			}
			running := status.Running() || sandboxReady(status)
			switch r := l.pods[uid]; {
			case r == nil:
				l.strangers[uid] = runtime.ListedPod{PodRef: status.PodRef, Running: running}
			case lifecycle.KnownTerminated(&r.life):
				l.lookAt(r, running, moment)
			}
		})
	}))
}

// sandboxReady tells whether a sandbox of the pod may run, which may outlive its
// containers where an agent was killed between their end and its.
func sandboxReady(s *runtime.PodStatus) bool {
	return slices.ContainsFunc(s.Sandboxes, func(s runtime.SandboxStatus) bool { return s.Ready })
}
