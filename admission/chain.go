package admission

import (
	"cmp"
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// Reasons of a chain itself; those of a check stand with it.
const (
	// ReasonInvalidNodeInfo: the node could not be read. Tried again.
	ReasonInvalidNodeInfo = "InvalidNodeInfo"
	// ReasonUnexpectedAdmissionError: a check could not judge, which is tried
	// again, or preemption found too few victims, which is final.
	ReasonUnexpectedAdmissionError = "UnexpectedAdmissionError"
)

const messageInvalidNodeInfo = "Kubelet cannot get node info."

// Chain judges pods by a list of checks and enters those that it admits in its
// ledger. It is plain data: build one, or change a copy. [KubeletChecks] gives
// the kubelet's checks.
//
// Check, CheckPrepared, Prepare and Explain may run on many goroutines at a
// time; Admit, and whatever else writes to the ledger, is the one writer that a
// [Ledger] allows.
type Chain struct {
	// Ledger holds the admitted pods; required.
	Ledger *Ledger
	// Nodes gives the node; nil judges without one.
	Nodes NodeGetter
	// Checks are asked in this order.
	Checks []Check
	// HostPorts gives the ports of the node that an admitted pod takes; nil is
	// [HostPorts].
	HostPorts func(*v1.Pod) []v1.ContainerPort
	// OS is the operating system of the node as Go names it; empty is the one
	// that this program runs on.
	OS string
	// Preempt lets a critical pod that lacks nothing but room take the place of
	// others: see [Decision.Plan]. Static pods are critical, and give no room.
	Preempt bool
	// Patience remembers who gave no answer in time; nil waits for each one every
	// time, up to 10 seconds. A sync loop has one of its own unless it is given.
	Patience *Patience
	// Critical tells which pods are critical; nil is [IsCritical].
	Critical func(*v1.Pod) bool

	pretends bool // it reserves nothing: see WhatIf
}

// Check is one handler of a chain, with the name that explanations give it.
type Check struct {
	Name    string
	Handler AdmitHandler
}

// Decision is the answer of a chain.
type Decision struct {
	// Verdict is that of the first check that did not admit, or Admit. A
	// critical pod that may preempt is judged by the first failure that room
	// does not cure, as the kubelet hides the others then.
	Verdict
	// Failures holds the verdict of each check that did not admit, in the
	// chain's order: all are asked, so that a person sees everything that
	// stands in the way. [Chain.Explain] tells of those that admit too.
	Failures []CheckVerdict
	// Plan is set when the pod will be let in by preemption: the Outcome is
	// Retry with [ReasonPreempting], until the victims are gone.
	Plan *Plan
}

// CheckVerdict is the verdict of one check.
type CheckVerdict struct {
	Name string
	Verdict
	// Err is why the check could not judge; its Outcome is Retry then.
	Err error

	at int // the check's place in its chain
}

// WhatIf is a copy of the chain to think in: on a [Ledger.Fork] of its ledger, and its
// Reservers set nothing aside. What it admits it enters there, and to forget it is to
// undo that. The caller owns it; it may be made by many goroutines, as a fork may.
func (c *Chain) WhatIf() *Chain {
	what := *c
	what.pretends = true
	if c.Ledger != nil {
		what.Ledger = c.Ledger.Fork()
	}
	return &what
}

// Check judges the pod without any effect: a pod that is entered without itself.
func (c *Chain) Check(ctx context.Context, pod *v1.Pod) (Decision, error) {
	if pod == nil {
		return Decision{}, errNilPod
	}
	return c.judge(ctx, c.Prepare(pod), false)
}

// CheckPrepared is Check for a pod that is prepared. It allocates nothing when
// it admits, with the checks of this package and a [FixedNode] that has the label of
// its operating system; save in component-helpers, for terms of node affinity and
// with [DeclaredFeatures].
func (c *Chain) CheckPrepared(ctx context.Context, p *Prepared) (Decision, error) {
	if p == nil || p.pod == nil {
		return Decision{}, errNilPod
	}
	return c.judge(ctx, p, false)
}

// Updated tells what the checks have to say against a change of a pod that was
// admitted: see [Updater]. It has no effect. To a nil pod nobody has anything to say.
func (c *Chain) Updated(before, after *v1.Pod) (said []Verdict) {
	if before == nil || after == nil {
		return nil
	}
	for _, check := range c.Checks {
		if u, ok := check.Handler.(Updater); ok {
			if v := u.Updated(before, after); v.Outcome != Admit {
				check.explain(&v)
				said = append(said, v)
			}
		}
	}
	return said
}

// judge asks every check; with all, the Failures hold those that admit as well.
func (c *Chain) judge(ctx context.Context, p *Prepared, all bool) (Decision, error) {
	if c.Ledger == nil {
		return Decision{}, errNilLedger
	}
	req := Request{Pod: p.pod, Ledger: c.Ledger, OS: c.OS, prepared: p}
	if p.key != "" && c.Ledger.find(p.key) != nil {
		req.Ledger = c.Ledger.Fork()
		req.Ledger.remove(p.key)
	}
	verdicts := c.ask(ctx, req, all)
	d := Decision{Verdict: Admitted(), Failures: verdicts}
	failed := firstFailure(verdicts, func(CheckVerdict) bool { return true })
	if failed == nil {
		return d, nil
	}
	d.Verdict = failed.Verdict
	if c.Preempt && rankOf(p.pod, c.Critical).critical {
		if final := firstFailure(verdicts, func(v CheckVerdict) bool { return !v.recoverable() }); final != nil {
			d.Verdict = final.Verdict
		} else {
			d.Verdict, d.Plan = c.preempt(p.pod, verdicts, req.Ledger)
		}
	}
	return d, nil
}

// ask asks every check with the cached node, and the predicates again with a
// fresh one if node affinity alone failed. It returns the verdicts that do not
// admit, or all of them.
func (c *Chain) ask(ctx context.Context, req Request, all bool) []CheckVerdict {
	if c.Nodes != nil {
		node, err := c.node(ctx, false)
		if err != nil {
			return c.askWithoutNode(ctx, req, err, all)
		}
		req.Node = node
	}
	verdicts := c.askEach(ctx, req, req.Node, all)
	if c.staleNode(verdicts) {
		if fresh, err := c.node(ctx, true); err == nil {
			return c.askEach(ctx, req, fresh, all)
		}
	}
	return verdicts
}

// askEach asks every check, the predicates with a node of their own.
func (c *Chain) askEach(ctx context.Context, req Request, predicates *v1.Node, all bool) []CheckVerdict {
	node := req.Node
	var verdicts []CheckVerdict
	for i := range c.Checks {
		check := &c.Checks[i]
		if req.Node = node; predicates != node && classOf(check.Handler) == Predicate {
			req.Node = predicates
		}
		if v := check.judge(ctx, req); all || v.Outcome != Admit {
			v.at = i
			verdicts = append(verdicts, v)
		}
	}
	return verdicts
}

// askWithoutNode asks those checks that need no node; the node that can't be read
// stands in the place of the first one that does.
func (c *Chain) askWithoutNode(ctx context.Context, req Request, err error, all bool) []CheckVerdict {
	var verdicts []CheckVerdict
	said := false
	for _, check := range c.Checks {
		if classOf(check.Handler) == PodAlone {
			if v := check.judge(ctx, req); all || v.Outcome != Admit {
				verdicts = append(verdicts, v)
			}
		} else if !said {
			said = true
			verdicts = append(verdicts, unreadableNode(err))
		}
	}
	return verdicts
}

func unreadableNode(err error) CheckVerdict {
	return CheckVerdict{Name: "Node", Verdict: RetryLater(ReasonInvalidNodeInfo, messageInvalidNodeInfo, 0), Err: err}
}

// staleNode tells whether a fresh node may change the verdict: the first failure
// is node affinity, and it is the only one among the predicates.
func (c *Chain) staleNode(verdicts []CheckVerdict) bool {
	affinity := false
	for _, v := range verdicts {
		if v.Outcome == Admit {
			continue
		}
		predicate := classOf(c.Checks[v.at].Handler) == Predicate
		switch {
		case predicate && v.Reason == ReasonNodeAffinity:
			affinity = true
		case predicate || !affinity:
			return false
		}
	}
	return affinity && c.Nodes != nil
}

func firstFailure(verdicts []CheckVerdict, counts func(CheckVerdict) bool) *CheckVerdict {
	for i := range verdicts {
		if verdicts[i].Outcome != Admit && counts(verdicts[i]) {
			return &verdicts[i]
		}
	}
	return nil
}

// judge asks the check. An error of its own is a refusal for now.
func (c *Check) judge(ctx context.Context, req Request) (v CheckVerdict) {
	v.Name = c.Name
	switch {
	case c.Handler == nil:
		v.Err = errNoHandler
	default:
		v.Verdict, v.Err = c.Handler.Admit(ctx, req)
	}
	switch {
	case v.Err != nil:
	case v.Outcome == Reject || v.Outcome == Retry:
		c.explain(&v.Verdict)
	case v.Outcome != Admit:
		v.Err = fmt.Errorf("unknown outcome %q", v.Outcome)
	}
	if v.Err != nil {
		v.Err = fmt.Errorf("admission check %s: %w", c.Name, v.Err)
		v.Verdict = RetryLater(ReasonUnexpectedAdmissionError, v.Err.Error(), v.RetryAfter)
	}
	return v
}

// explain says who refused, where the handler does not say why: statuses and events
// without a Reason help nobody.
func (c *Check) explain(v *Verdict) {
	v.Reason = cmp.Or(v.Reason, c.Name, ReasonUnexpectedAdmissionError)
	if v.Message == "" {
		v.Message = fmt.Sprintf("admission check %q does not say why", c.Name)
	}
}
