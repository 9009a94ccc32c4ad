package simtest

import (
	"context"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// What events of a plan do. Each does nothing where it makes no sense: events
// before it may have been left out.

// put gives a source a pod.
func (w *world) put(source string, pod *v1.Pod) {
	if s := w.source(source); source == podmanager.SourceAPI {
		w.know(w.api.create(pod), source)
	} else {
		s.put(pod)
		w.know(pod, source)
	}
}

func (w *world) drop(source, name string) {
	if s := w.source(source); s.named(name) != nil {
		s.drop(s.named(name))
	}
}

// change changes a pod in place.
func (w *world) change(source, name string, f func(*v1.Pod)) {
	pod := w.source(source).named(name)
	if pod == nil {
		return
	}
	pod = pod.DeepCopy()
	f(pod)
	if source == podmanager.SourceAPI {
		w.api.store(pod)
		return
	}
	// The content of a static pod is its identity.
	w.renew(pod)
	w.put(source, pod)
}

// replace puts another pod of the name in the place of one.
func (w *world) replace(source, name string) {
	pod := w.source(source).named(name)
	if pod == nil {
		return
	}
	next := pod.DeepCopy()
	next.DeletionTimestamp, next.DeletionGracePeriodSeconds = nil, nil
	w.renew(next)
	w.drop(source, name)
	w.put(source, next)
}

// renew gives the pod another UID.
func (w *world) renew(pod *v1.Pod) {
	base, number, _ := strings.Cut(string(pod.UID), ".")
	suffix := ""
	if strings.HasSuffix(number, "h") {
		suffix = "h"
	}
	n, _ := strconv.Atoi(strings.TrimSuffix(number, "h"))
	for {
		n++
		pod.UID = types.UID(base + "." + strconv.Itoa(n) + suffix)
		if w.pods[pod.UID] == nil {
			break
		}
	}
	if pod.Annotations[podmanager.AnnotationHash] != "" {
		pod.Annotations[podmanager.AnnotationHash] = string(pod.UID)
	}
}

// bringBack gives a source a pod again that it had: a static one with the same
// UID, which the API does not do.
func (w *world) bringBack(source, name string) {
	s := w.source(source)
	if s.named(name) != nil {
		return
	}
	for _, p := range w.order {
		if p.pod.Name == name && p.source == source {
			pod := p.pod.DeepCopy()
			if source == podmanager.SourceAPI {
				pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = nil, nil
				w.renew(pod)
			}
			w.put(source, pod)
			return
		}
	}
}

// target is the pod of a name that its source has.
func (w *world) target(source, name string) *podState {
	if pod := w.source(source).named(name); pod != nil {
		return w.pods[pod.UID]
	}
	return nil
}

func (w *world) exit(source, name, container string, code int32) {
	if p := w.target(source, name); p != nil {
		w.breaker(func(b Breaker) { _ = b.Exit(p.UID, container, code) })
	}
}

func (w *world) loseTrack(source, name, container string) {
	if p := w.target(source, name); p != nil {
		w.breaker(func(b Breaker) {
			if b.LoseTrack(p.UID, container) == nil {
				p.disturbed(container)
			}
		})
	}
}

func (w *world) failSandbox(source, name string) {
	if p := w.target(source, name); p != nil {
		w.breaker(func(b Breaker) {
			p.disturbed()
			_ = b.FailSandbox(p.UID)
		})
	}
}

func (w *world) forget(source, name string) {
	if p := w.target(source, name); p != nil {
		w.breaker(func(b Breaker) {
			p.disturbed()
			p.vanished = true
			b.Forget(p.UID)
		})
	}
}

func (w *world) invent(uid types.UID) {
	w.breaker(func(b Breaker) {
		pod := &v1.Pod{}
		pod.UID, pod.Namespace, pod.Name = uid, "default", string(uid)
		p := w.know(pod, "")
		p.disturbed()
		w.mustStop(p)
		b.Invent(runtime.RefOf(pod), "c0")
	})
}

func (w *world) disturb(source, name string, c callFault) {
	if p := w.target(source, name); p != nil {
		c.uid = p.UID
		w.faults.calls = append(w.faults.calls, c)
	}
}

func (w *world) deleteMirror() {
	for _, p := range w.api.pods {
		if podmanager.IsMirror(p) {
			w.api.drop(p)
			return
		}
	}
}

// stall lets time pass in which the agent does nothing at all.
func (w *world) stall(d time.Duration) {
	if w.agent != nil && w.agent.stopping {
		return // its sources have 10 s
	}
	time.Sleep(d)
	w.excuseAll()
}

// stop ends the agent in an orderly way.
func (w *world) stop(d time.Duration) {
	if w.agent == nil || w.agent.killed() || w.agent.stopping {
		return
	}
	w.agent.stopping = true
	w.agent.stop()
	w.upAgain = time.Now().Add(d)
}

// evictionInterval is the least time between two evictions.
const evictionInterval = 10 * time.Second

// evict has pods evicted, as the node runs short.
func (w *world) evict() {
	if w.agent == nil || w.agent.killed() || w.agent.stopping {
		return
	}
	choose := w.cfg.Evict
	if choose == nil {
		choose = leastImportant
		if time.Since(w.evicted) < evictionInterval && !w.evicted.IsZero() {
			return
		}
	}
	for _, uid := range choose(w.agent.loop.Pods()) {
		w.evictOne(uid)
	}
}

// leastImportant chooses the first pod that may be evicted.
func leastImportant(pods []*syncloop.PodView) []types.UID {
	for _, v := range pods {
		if v.Pod != nil && v.Status != nil && v.Status.Phase == v1.PodRunning && !critical(v.Pod) && !podmanager.IsStatic(v.Pod) {
			return []types.UID{v.UID}
		}
	}
	return nil
}

func (w *world) evictOne(uid types.UID) {
	p, loop := w.pods[uid], w.agent.loop
	if p == nil {
		return
	}
	w.checkEviction(p)
	p.evicted = true
	w.mustStop(p)
	ctx, agent := context.Background(), w.agent
	go func() {
		_ = loop.Kill(ctx, uid, syncloop.KillOptions{Evict: true, Verdict: &podstatus.Verdict{Reason: "Evicted", Message: "The node was low on resource: memory."}})
		agent.turns.nudge()
	}()
}
