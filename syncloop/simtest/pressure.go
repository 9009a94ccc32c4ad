package simtest

import (
	"context"
	"hash/fnv"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/eviction"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// addPressure has the node run short of memory now and then. What it draws is
// beside all else, so that the rest of the plan is the same without it.
func (p *plan) addPressure() {
	d := newDraw(p.seed, 3)
	end := p.events[len(p.events)-1].at
	for range 1 + d.IntN(3) {
		lasts := d.between(time.Second, one(d, 20*time.Second, 2*time.Minute, 10*time.Minute))
		p.events = append(p.events, event{
			d.between(0, end), "memory is short for " + lasts.String(), true, func(w *world) { w.runShort(lasts) },
		})
	}
	slices.SortStableFunc(p.events, func(a, b event) int { return int(a.at - b.at) })
}

// afterPressure is how long an agent still looks at its node when memory is not
// short any more.
const afterPressure = 2 * time.Minute

// runShort makes memory short for a while.
func (w *world) runShort(d time.Duration) {
	w.shortUntil = time.Now().Add(d)
	if w.agent != nil && !w.agent.killed() && !w.agent.stopping {
		w.keepWatch(w.agent)
	}
}

// keepWatch has an agent's eviction manager at work while memory is short, and a
// little longer.
func (w *world) keepWatch(a *agent) {
	until := w.shortUntil.Add(afterPressure)
	if !w.cfg.Pressure || a.manager.Load() != nil || !until.After(time.Now()) {
		return
	}
	policy, err := eviction.Settings{
		Hard: map[string]string{"memory.available": "1Gi"}, PressureTransitionPeriod: metav1.Duration{Duration: time.Minute},
	}.Policy()
	if err != nil {
		panic(err) // the settings are our own
	}
	m, err := eviction.NewManager(eviction.Config{
		Policy: policy, Stats: measuring{w, a}, Events: recorder{w}, Node: &v1.ObjectReference{Kind: "Node", Name: w.node.Name},
		Pods: func() []*v1.Pod { return mayRun(a.loop.Pods()) },
		Kill: func(ctx context.Context, v eviction.Victim) error { return w.evictVictim(ctx, a, v) },
		CleanedUp: func(uid types.UID) bool {
			v, ok := a.loop.Pod(uid)
			return !ok || v.Stage == lifecycle.Finished
		},
	})
	if err != nil {
		panic(err)
	}
	a.manager.Store(m)
	ctx, cancel := context.WithDeadline(context.Background(), until)
	go func() {
		select {
		case <-a.dead:
		case <-a.ended:
		case <-ctx.Done():
		}
		cancel()
	}()
	go func() {
		_ = m.Run(ctx) // the end of its context
		a.manager.Store(nil)
		a.turns.nudge()
	}()
}

// mayRun are the pods of which something may run.
func mayRun(views []*syncloop.PodView) (pods []*v1.Pod) {
	for _, v := range views {
		if v.Pod != nil && (v.Stage == lifecycle.Sync || v.Stage == lifecycle.Terminating) {
			pods = append(pods, v.Pod)
		}
	}
	return pods
}

// underPressure keeps pods out as the agent's manager says.
func underPressure(a *agent) admission.Check {
	return admission.Check{Name: "Eviction", Handler: eviction.NewAdmitHandler(func() []v1.NodeConditionType {
		if m := a.manager.Load(); m != nil {
			return m.Conditions()
		}
		return nil
	})}
}

// measuring is the node's memory: 8 GiB, of which little is left while it is
// short, and what pods use of it.
type measuring struct {
	w *world
	a *agent
}

// NodeStats implements [eviction.NodeMeter].
func (m measuring) NodeStats(ctx context.Context) (stats *eviction.NodeStats, err error) {
	err = m.a.call(ctx, "NodeStats", "", func() error {
		available, used := uint64(6<<30), uint64(2<<30)
		m.a.short = time.Now().Before(m.w.shortUntil)
		if m.a.short {
			available, used = 512<<20, 7680<<20
		}
		stats = &eviction.NodeStats{Memory: &eviction.MemoryStats{
			Time: metav1.NewTime(time.Now()), AvailableBytes: &available, WorkingSetBytes: &used,
		}}
		return nil
	})
	return stats, err
}

// PodStats implements [eviction.StatsProvider]: what a pod uses follows from its
// UID. Some have no stats.
func (measuring) PodStats(_ context.Context, uid types.UID) (*eviction.PodStats, error) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid))
	used := uint64(h.Sum32() % 1000)
	if used < 100 {
		return nil, runtime.ErrNotFound
	}
	used <<= 20
	return &eviction.PodStats{Memory: &eviction.MemoryStats{WorkingSetBytes: &used}}, nil
}

// evictVictim evicts the pod that a manager chose.
func (w *world) evictVictim(ctx context.Context, a *agent, v eviction.Victim) error {
	uid := v.Pod.UID
	err := a.call(ctx, "Evict", uid, func() error {
		w.checkVictim(uid, a)
		a.evicting = uid
		return nil
	})
	if err != nil {
		return err
	}
	err = a.loop.Kill(ctx, uid, syncloop.KillOptions{
		Evict: true, Grace: v.Grace(),
		Verdict: &podstatus.Verdict{Reason: eviction.Reason, Message: v.Message, Disruption: v.Disruption},
	})
	_ = a.call(context.Background(), "Evict returns", uid, func() error {
		a.evicting = ""
		return nil
	})
	return err
}

// checkVictim sees that a manager's victim may go: it is the only one of its
// round, and the node can do without it.
func (w *world) checkVictim(uid types.UID, a *agent) {
	p := w.pods[uid]
	switch {
	case p == nil:
		w.fail(EvictsOne, "pod %s is evicted, and nobody knows it", uid)
		return
	case podmanager.IsStatic(p.pod) || p.static || critical(p.pod):
		w.fail(EvictsOne, "static or critical pod %s is evicted", uid)
	case a.evicting != "":
		w.fail(EvictsOne, "pod %s is evicted while %s is", uid, a.evicting)
	case !a.short: // whatever it is by now
		w.fail(EvictsOne, "pod %s is evicted, and nothing is short", uid)
	}
	p.evicted = true
	w.stats.Evicted++
	if !p.mustStop {
		w.mustStop(p)
	}
}
