package syncloop

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

// HandlePodCleanups is the housekeeping. It looks at what is known to be left
// over, never at all pods, and only begins what is to be done: workers do it.
// Most of the kubelet's five clean-ups follow from the event itself here; these
// rounds take up what had to wait until a source was heard.
//
//  1. Workers of pods that are gone: the removal of a pod takes its life to the
//     end, and a worker ends with its work.
//  2. Pods in the runtime that nobody wants: killed here, once their source
//     was heard.
//  3. Volumes of pods that have stopped: a step of their life; those of pods
//     that nobody wants go with 2.
//  4. Mirrors whose static pod is gone: deleted here.
//  5. What the runtime keeps for pods that are gone: the last step of their
//     life; what an earlier agent left behind goes with 2.
func (l *SyncLoop) HandlePodCleanups(context.Context) {
	if !l.listed {
		return
	}
	began := time.Now()
	l.killStrangers(began)
	l.forgetPast()
	l.cleanMirrors()
	if h := l.cfg.Hooks.Housekeeping; h != nil {
		h(time.Since(began))
	}
}

// killStrangers takes pods that only the runtime knows to their end.
func (l *SyncLoop) killStrangers(now time.Time) {
	for _, uid := range slices.Sorted(maps.Keys(l.strangers)) {
		p := l.strangers[uid]
		if l.pods[uid] != nil {
			delete(l.strangers, uid)
			continue
		}
		if l.unwanted(uid) {
			l.killStranger(p, now)
		}
	}
}

// unwanted tells whether no source can name a stranger any more.
func (l *SyncLoop) unwanted(uid types.UID) bool {
	source := ""
	if past := l.past[uid]; past != nil {
		source = past.Source
	}
	return l.sourceHeard(source)
}

func (l *SyncLoop) killStranger(p runtime.ListedPod, now time.Time) {
	past := l.past[p.UID]
	r := newRecord(p.PodRef, now)
	r.listed, r.entered, r.past = p, l.occupies(p.UID), past
	delete(l.strangers, p.UID)
	delete(l.past, p.UID)
	l.pods[p.UID] = r
	l.log.Warn("nobody wants this pod of the runtime", "pod", p.String(), "running", p.Running)
	if h := l.cfg.Hooks.StrangerFound; h != nil {
		h(p.PodRef)
	}
	l.step(r, lifecycle.Stray{})
	if past != nil && !past.TerminatingSince.IsZero() {
		l.step(r, lifecycle.Resume{Since: past.TerminatingSince, Grace: past.Grace})
	}
}

// forgetPast drops what the store remembers of pods that are gone.
func (l *SyncLoop) forgetPast() {
	for uid, past := range l.past {
		if _, stranger := l.strangers[uid]; !stranger && l.sourceHeard(past.Source) {
			delete(l.past, uid)
			l.vacate(uid)
			l.store.remove(uid)
		}
	}
}

// sourceHeard tells whether a source does not want the pods that it has not
// named. One that is not known, or that is empty, stands for all of them.
func (l *SyncLoop) sourceHeard(source string) bool {
	if c := l.cfg.PodConfig; c != nil {
		return c.SeenAll() || source != "" && c.Seen(source)
	}
	if source != "" && (len(l.cfg.Sources) == 0 || slices.Contains(l.cfg.Sources, source)) {
		return l.heard[source]
	}
	for _, s := range l.cfg.Sources {
		if !l.heard[s] {
			return false
		}
	}
	return len(l.heard) > 0
}
