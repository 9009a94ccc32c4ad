package syncloop

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

// mirrorOf returns the mirror of a static pod, nil if none is known.
func (l *SyncLoop) mirrorOf(pod *v1.Pod) *v1.Pod {
	if pod == nil || !isStatic(pod) {
		return nil
	}
	return l.manager.MirrorByFullName(podmanager.FullName(pod))
}

// mirrorChanged has the static pod looked at whose mirror came, changed or
// went. A mirror without static pod is for the housekeeping.
func (l *SyncLoop) mirrorChanged(mirror *v1.Pod) {
	static := l.manager.PodByFullName(podmanager.FullName(mirror))
	if static == nil || !isStatic(static) {
		return
	}
	r := l.pods[static.UID]
	if r == nil {
		return
	}
	if r.said {
		l.say(r) // the new mirror has not heard of it
	}
	if r.began() {
		l.step(r, lifecycle.Update{Pod: r.pod, Static: true})
	}
}

// mirrorLimit is how long a sync waits for what its pod's mirror needs.
const mirrorLimit = 10 * time.Second

// reconcileMirror sees that a static pod has the mirror that it should have. It
// is called by workers. What goes wrong does not hold up the pod, nor for long what
// hangs: the pod may be the API server that is asked for.
func (l *SyncLoop) reconcileMirror(ctx context.Context, pod *v1.Pod) {
	if l.cfg.Mirrors == nil || !isStatic(pod) {
		return
	}
	mirror := l.mirrorOf(pod)
	if podmanager.PlanMirror(pod, mirror) == (podmanager.MirrorPlan{}) {
		return
	}
	limited, cancel := context.WithTimeout(ctx, mirrorLimit)
	defer cancel()
	var node *v1.Node
	if l.cfg.Nodes != nil {
		n, err := l.cfg.Nodes.Node(limited, false)
		if err != nil {
			l.log.Warn("no mirror is made while the node can't be read", "pod", podmanager.FullName(pod), "err", err)
		}
		node = n
	}
	if err := podmanager.ReconcileMirror(limited, l.cfg.Mirrors, pod, mirror, node); err != nil && ctx.Err() == nil {
		l.log.Warn("the mirror is not as it should be", "pod", podmanager.FullName(pod), "err", err)
	}
}

// cleanMirrors deletes mirrors whose static pod is gone, one after the other and
// beside the loop. One whose pod is still being stopped stays until that is done.
func (l *SyncLoop) cleanMirrors() {
	if l.cfg.Mirrors == nil || l.cleaning || !l.sourceHeard("") {
		return
	}
	var orphans []*v1.Pod
	for _, name := range l.manager.OrphanedMirrors() {
		if _, stopping := l.names.Holder(name); stopping {
			continue
		}
		if mirror := l.manager.MirrorByFullName(name); mirror != nil {
			orphans = append(orphans, mirror)
		}
	}
	if len(orphans) == 0 {
		return
	}
	l.cleaning = true
	ctx := l.workers.ctx
	l.workers.run(false, just(func() {
		for _, mirror := range orphans {
			l.deleteMirror(ctx, mirror)
		}
		l.inbox.post(func() {
			l.cleaning = false
			l.workers.done()
		})
	}))
}

func (l *SyncLoop) deleteMirror(ctx context.Context, mirror *v1.Pod) {
	if l.manager.Mirror(mirror.UID) != mirror || l.manager.PodByFullName(podmanager.FullName(mirror)) != nil {
		return // the world has changed since
	}
	if _, err := l.cfg.Mirrors.DeleteMirror(ctx, mirror.Namespace, mirror.Name, mirror.UID); err != nil && ctx.Err() == nil {
		l.log.Warn("a mirror without its static pod could not be deleted", "pod", podmanager.FullName(mirror), "err", err)
	}
}
