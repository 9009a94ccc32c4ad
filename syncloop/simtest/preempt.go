package simtest

import (
	"context"
	"hash/fnv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop"
)

// preempt has critical pods take the place of others, and all of them reserve
// something of the node.
func (w *world) preempt(cfg *syncloop.Config) {
	w.pool = &pool{held: map[types.UID]bool{}, tried: map[types.UID]bool{}}
	cfg.Admission.Preempt = true
	cfg.Admission.Checks = append(cfg.Admission.Checks, admission.Check{Name: "Pool", Handler: w.pool})
	cfg.Hooks.PodPreempted = w.hookPreempted
}

// hookPreempted sees that the pod may be stopped to make room.
func (w *world) hookPreempted(pod, by runtime.PodRef, _ v1.ResourceName) {
	victim, preemptor := w.pods[pod.UID], w.pods[by.UID]
	switch {
	case victim == nil || preemptor == nil:
		w.fail(EvictsOne, "pod %s gives way to %s, and nobody knows one of them", pod.UID, by.UID)
		return
	case victim.static || critical(victim.pod) || !preemptor.static && !critical(preemptor.pod):
		w.fail(EvictsOne, "pod %s must not give way to %s", pod.UID, by.UID)
	}
	w.stats.Preempted++
	victim.evicted = true
	if !victim.mustStop {
		w.mustStop(victim)
	}
}

// parked tells whether a pod waits for others to give way: it is in the ledger
// although nothing of it runs.
func parked(v *syncloop.PodView) bool {
	return strings.HasPrefix(v.Waiting, admission.ReasonPreempting)
}

// pool is a check that reserves: every other pod gets nothing at its first try.
type pool struct{ held, tried map[types.UID]bool }

var _ admission.Reserver = (*pool)(nil)

// Admit implements [admission.AdmitHandler].
func (*pool) Admit(context.Context, admission.Request) (admission.Verdict, error) {
	return admission.Admitted(), nil
}

// Reserve implements [admission.Reserver].
func (p *pool) Reserve(_ context.Context, req admission.Request) (admission.Verdict, error) {
	uid := req.Pod.UID
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid))
	if !p.held[uid] && !p.tried[uid] && h.Sum32()%2 == 0 {
		p.tried[uid] = true
		return admission.RetryLater("PoolIsEmpty", "not at the first try", 0), nil
	}
	p.held[uid] = true
	return admission.Admitted(), nil
}

// Commit implements [admission.Reserver].
func (*pool) Commit(*v1.Pod) {}

// Release implements [admission.Reserver].
func (p *pool) Release(pod *v1.Pod) { delete(p.held, pod.UID) }

// checkPool sees that nobody holds anything who is not let in.
func (w *world) checkPool() {
	if w.pool == nil {
		return
	}
	for uid := range w.pool.held {
		if !w.ledger.Has(uid) {
			w.fail(LedgerIsTrue, "pod %s is not in the ledger, and something is reserved for it", uid)
		}
	}
}
