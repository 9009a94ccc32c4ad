package admission

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// Reasons of a chain itself; those of a check stand with it.
const (
	// ReasonInvalidNodeInfo: the node could not be read. Tried again.
	ReasonInvalidNodeInfo = "InvalidNodeInfo"
	// ReasonUnexpectedAdmissionError: a check could not judge. Tried again.
	ReasonUnexpectedAdmissionError = "UnexpectedAdmissionError"
)

// Chain judges pods by a list of checks and enters those that it admits in its
// ledger. It is plain data: build one, or change a copy.
//
// Check may run on many goroutines at a time; Admit, and whatever else writes
// to the ledger, is the one writer that a [Ledger] allows.
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
}

// Check is one handler of a chain, with the name that explanations give it.
type Check struct {
	Name    string
	Handler AdmitHandler
}

// Decision is the answer of a chain.
type Decision struct {
	// Verdict is that of the first check that did not admit, or Admit.
	Verdict
	// Checks holds each check's own verdict, in the chain's order: all are
	// asked, so that a person sees everything that stands in the way.
	Checks []CheckVerdict
}

// CheckVerdict is the verdict of one check.
type CheckVerdict struct {
	Name string
	Verdict
	// Err is why the check could not judge; its Outcome is Retry then.
	Err error
}

var errNoLedger = errors.New("admission chain: Ledger is nil")

// Check judges the pod without any effect: a pod that is entered without itself.
func (c *Chain) Check(ctx context.Context, pod *v1.Pod) (Decision, error) {
	if c.Ledger == nil {
		return Decision{}, errNoLedger
	}
	req := Request{Pod: pod, Ledger: c.Ledger}
	if c.Ledger.Has(pod.UID) {
		req.Ledger = c.Ledger.Fork()
		req.Ledger.Remove(pod.UID)
	}
	if c.Nodes != nil {
		node, err := c.Nodes.Node(ctx, false)
		if err != nil {
			return unreadableNode(err), nil
		}
		req.Node = node
	}
	d := Decision{Verdict: Admitted(), Checks: make([]CheckVerdict, 0, len(c.Checks))}
	for _, check := range c.Checks {
		v := check.judge(ctx, req)
		d.Checks = append(d.Checks, v)
		if d.Outcome == Admit {
			d.Verdict = v.Verdict
		}
	}
	return d, nil
}

// Admit judges the pod and, if it is admitted, enters it in the ledger. A pod
// that is entered already is judged without itself and stays entered if it is
// admitted again; otherwise it is taken out.
func (c *Chain) Admit(ctx context.Context, pod *v1.Pod) (Decision, error) {
	if c.Ledger == nil {
		return Decision{}, errNoLedger
	}
	if pod.UID == "" {
		return Decision{}, noUID(pod)
	}
	c.Ledger.Remove(pod.UID)
	d, err := c.Check(ctx, pod)
	if err != nil || d.Outcome != Admit {
		return d, err
	}
	return d, c.Enter(pod)
}

// Enter puts a pod into the ledger without judging it: one that runs already
// and is to be left alone.
func (c *Chain) Enter(pod *v1.Pod) error {
	ports := c.HostPorts
	if ports == nil {
		ports = HostPorts
	}
	return c.Ledger.AddWithPorts(pod, ports(pod))
}

func unreadableNode(err error) Decision {
	v := RetryLater(ReasonInvalidNodeInfo, "Kubelet cannot get node info.", 0)
	return Decision{Verdict: v, Checks: []CheckVerdict{{Name: "Node", Verdict: v, Err: err}}}
}

func (c Check) judge(ctx context.Context, req Request) CheckVerdict {
	v, err := c.ask(ctx, req)
	if err != nil {
		err = fmt.Errorf("admission check %s: %w", c.Name, err)
		v = RetryLater(ReasonUnexpectedAdmissionError, err.Error(), v.RetryAfter)
	}
	return CheckVerdict{Name: c.Name, Verdict: v, Err: err}
}

func (c Check) ask(ctx context.Context, req Request) (Verdict, error) {
	if c.Handler == nil {
		return Verdict{}, errors.New("it has no Handler")
	}
	v, err := c.Handler.Admit(ctx, req)
	if err != nil {
		return v, err
	}
	switch v.Outcome {
	case Admit, Reject, Retry:
		return v, nil
	default:
		return v, fmt.Errorf("unknown outcome %q", v.Outcome)
	}
}
