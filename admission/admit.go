package admission

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Admit judges the pod and, if it is admitted, makes the reservations of the
// chain's Reservers and enters it in the ledger. A pod that is entered already is
// judged without itself and stays entered if it is admitted again; otherwise it
// is taken out. Reservations are made in earnest also where the ledger is a fork: see
// [Chain.WhatIf].
//
// A pod that preempts is entered as well, and its victims are noted as leaving,
// so that nobody else takes their room: see [Plan] for what the caller owes then.
func (c *Chain) Admit(ctx context.Context, pod *v1.Pod) (Decision, error) {
	switch {
	case c.Ledger == nil:
		return Decision{}, errNilLedger
	case pod == nil:
		return Decision{}, errNilPod
	}
	return c.AdmitPrepared(ctx, c.Prepare(pod))
}

// AdmitPrepared is Admit for a pod that is prepared.
func (c *Chain) AdmitPrepared(ctx context.Context, p *Prepared) (Decision, error) {
	if c.Ledger == nil {
		return Decision{}, errNilLedger
	}
	if err := p.named(); err != nil {
		return Decision{}, err
	}
	before := c.Ledger.find(p.key)
	c.Ledger.remove(p.key)
	d, err := c.judge(ctx, p, false)
	if err != nil {
		return d, err
	}
	if d.Plan != nil && before != nil && before.parked && c.goesFirst(ctx, before, p) {
		d = Decision{Verdict: Admitted()}
	}
	if d.Outcome == Admit {
		c.reserve(ctx, p, &d, func(_ int, r Reserver, _ Request) { r.Release(p.pod) })
	}
	if d.Outcome != Admit && d.Plan == nil {
		c.release(before)
		return d, nil
	}
	e := entry{Prepared: p, order: c.Ledger.next, parked: d.Plan != nil}
	if before != nil {
		e.order = before.order
	} else {
		c.Ledger.next++
	}
	c.Ledger.enter(e)
	if d.Plan != nil {
		for _, v := range d.Plan.Victims {
			c.Ledger.SetLeaving(KeyOf(v.Pod), true)
		}
	}
	return d, nil
}

// Enter puts a pod into the ledger without judging it: one that runs already
// and is to be left alone.
func (c *Chain) Enter(pod *v1.Pod) error { return c.Ledger.AddPrepared(c.Prepare(pod)) }

// Update counts a pod that is in by what it is now; see [Ledger.Update].
func (c *Chain) Update(pod *v1.Pod) error { return c.Ledger.UpdatePrepared(c.Prepare(pod)) }

// Remove takes the pod of a key out of the ledger, gives back what was reserved
// for it, and tells whether it was in.
func (c *Chain) Remove(key Key) bool {
	e := c.Ledger.find(key)
	if e == nil {
		return false
	}
	c.Ledger.remove(key)
	c.release(e)
	return true
}

// Reserver is an optional power of an [AdmitHandler]: it sets something aside
// for a pod, as devices or whole CPUs. Its Admit is as pure as any. Reserve is
// called once all checks have admitted the pod; then Commit, when all Reservers
// have, or Release, when one of them has not. Release comes at the pod's end too,
// and may come again, or for a pod that has nothing. All three are called by the
// chain's one writer. Package admissiontest has a suite for it.
//
// Reserve may be called for a pod that has its things already: it has then what
// it needs as it is given now. So a resize is reserved for, and, when another
// Reserver refuses it, taken back by Reserve and Commit of the pod as it was. A
// pod that is entered unasked, as one that runs when its agent starts, is not
// reserved for: a Reserver that outlives its agent remembers by itself.
type Reserver interface {
	AdmitHandler
	// Reserve sets aside what the pod needs. A verdict other than Admit, or an
	// error, leaves all as it was. The context ends after 10 seconds; where it has
	// ended already (see [Patience]), a pod that needs nothing is still admitted.
	Reserve(ctx context.Context, req Request) (Verdict, error)
	// Commit makes the reservation last. Like Release it waits for nobody: the sync
	// loop waits for both.
	Commit(pod *v1.Pod)
	// Release gives everything back that is set aside for the pod.
	Release(pod *v1.Pod)
}

// reservers are the checks that set something aside, in order, by their places.
func (c *Chain) reservers() iter.Seq2[int, Reserver] {
	return func(yield func(int, Reserver) bool) {
		for i, check := range c.Checks {
			if r, ok := check.Handler.(Reserver); ok && !c.pretends && !yield(i, r) {
				return
			}
		}
	}
}

// reserve runs the Reservers in order; the first that refuses becomes the
// verdict, and those before it undo what they did, the last first. All see one
// node: what was set aside can be given back though it can't be read again.
func (c *Chain) reserve(ctx context.Context, p *Prepared, d *Decision, undo func(i int, r Reserver, req Request)) {
	req := Request{Pod: p.pod, Ledger: c.Ledger, OS: c.OS, prepared: p}
	var undone []int
	for i, r := range c.reservers() {
		v := c.readNode(ctx, &req)
		if v.Outcome == Admit {
			v = c.reserveOne(ctx, i, r, req, c.Patience.limit(outsider(i)))
		}
		if v.Outcome != Admit {
			d.Failures, d.Verdict = []CheckVerdict{v}, v.Verdict
			for _, i := range slices.Backward(undone) {
				undo(i, c.Checks[i].Handler.(Reserver), req)
			}
			return
		}
		undone = append(undone, i)
	}
	for _, r := range c.reservers() {
		r.Commit(p.pod)
	}
}

// readNode gives a request its node, unless it has one.
func (c *Chain) readNode(ctx context.Context, req *Request) CheckVerdict {
	if c.Nodes != nil && req.Node == nil {
		node, err := c.node(ctx, false)
		if err != nil {
			return unreadableNode(err)
		}
		req.Node = node
	}
	return CheckVerdict{Verdict: Admitted()}
}

func (c *Chain) reserveOne(ctx context.Context, i int, r Reserver, req Request, limit time.Duration) CheckVerdict {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := time.Now()
	check := Check{Name: c.Checks[i].Name, Handler: AdmitFunc(r.Reserve)}
	v := check.judge(limited, req)
	if limit > 0 {
		// One that says in time that it has nothing now has answered.
		c.Patience.asked(ctx, outsider(i), began, v.Outcome != Retry || v.Err == nil && limited.Err() == nil)
	}
	return v
}

func (c *Chain) release(e *entry) {
	if e == nil {
		return
	}
	for _, r := range c.reservers() {
		r.Release(e.pod)
	}
}

// Allocator hands out what a node has in pieces: devices, CPUs, memory banks. It
// is called as a [Reserver] is. Package admissiontest has a suite for it.
type Allocator interface {
	// Allocate sets aside what the pod needs, and no more; a pod that has just
	// that already keeps it. An error leaves the pod with what it had before. One
	// with a method Type() string, or that wraps such an error, is a refusal with that
	// Reason; any other one is tried again.
	Allocate(ctx context.Context, pod *v1.Pod) error
	// Free gives back all that the pod has. It waits for nobody: the sync loop waits
	// for it.
	Free(pod *v1.Pod)
}

// Allocation reserves what an [Allocator] hands out, in the kubelet's words.
type Allocation struct {
	Allocator Allocator
}

// Class is PodAlone.
func (Allocation) Class() Class { return PodAlone }

// Admit admits: whether there is enough shows when it is reserved.
func (Allocation) Admit(context.Context, Request) (Verdict, error) { return Admitted(), nil }

// Reserve allocates.
func (a Allocation) Reserve(ctx context.Context, req Request) (Verdict, error) {
	if a.Allocator == nil {
		return Verdict{}, errNoAllocator
	}
	err := a.Allocator.Allocate(ctx, req.Pod)
	if err == nil {
		return Admitted(), nil
	}
	var typed interface{ Type() string }
	if errors.As(err, &typed) {
		return Rejected(typed.Type(), err.Error()), nil
	}
	return RetryLater(ReasonUnexpectedAdmissionError,
		fmt.Sprintf("Allocate failed due to %v, which is unexpected", err), 0), nil
}

// Commit does nothing: what was allocated stays.
func (Allocation) Commit(*v1.Pod) {}

// Release frees.
func (a Allocation) Release(pod *v1.Pod) {
	if a.Allocator != nil {
		a.Allocator.Free(pod)
	}
}
