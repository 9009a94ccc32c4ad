package admission

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// Resize judges an entered pod by other resources than it has, and counts it by
// them from now on if it is admitted. Whatever the verdict, the pod stays
// entered and keeps what is reserved for it, and nobody gives way to it: a resize
// does not preempt. A pod that is not in is [ErrNotEntered].
func (c *Chain) Resize(ctx context.Context, pod *v1.Pod) (Decision, error) {
	switch {
	case c.Ledger == nil:
		return Decision{}, errNilLedger
	case pod == nil:
		return Decision{}, errNilPod
	}
	p := c.Prepare(pod)
	before := c.Ledger.find(p.key)
	if before == nil {
		return Decision{}, fmt.Errorf("pod %s/%s (%s): %w", pod.Namespace, pod.Name, p.key, ErrNotEntered)
	}
	alone := *c
	alone.Preempt = false
	d, err := alone.judge(ctx, p, false)
	if err != nil || d.Outcome != Admit {
		return d, err
	}
	c.Ledger.remove(p.key)
	c.reserve(ctx, p, &d, func(i int, r Reserver, req Request) {
		req.Pod, req.prepared = before.pod, before.Prepared
		// It gives back what it had not before, also when nobody waits any more, or would
		// for it: what it gave up is lost otherwise.
		if v := c.reserveOne(context.WithoutCancel(ctx), i, r, req, patience); v.Outcome != Admit {
			d.Failures = append(d.Failures, v)
			return
		}
		r.Commit(before.pod)
	})
	after := *before
	if d.Outcome == Admit {
		after = entry{Prepared: p, order: before.order, stay: before.stay}
	}
	c.Ledger.enter(after)
	return d, nil
}

// Held is what the ledger counts for the pod of a key; false if it is not in.
// The map is read-only.
func (l *Ledger) Held(key Key) (Requests, bool) {
	e := l.find(key)
	if e == nil {
		return Requests{}, false
	}
	return e.running, true
}
