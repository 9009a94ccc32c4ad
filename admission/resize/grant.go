package resize

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
)

// Outcome is what becomes of a resize.
type Outcome string

// The outcomes of a resize.
const (
	// Fits: the pod is granted what it asks for.
	Fits Outcome = "Fits"
	// Deferred: not now; it waits for what stands in its way.
	Deferred Outcome = v1.PodReasonDeferred
	// Infeasible: never on this node, unless the spec changes again.
	Infeasible Outcome = v1.PodReasonInfeasible
)

// Verdict is the answer to a resize.
type Verdict struct {
	Outcome Outcome
	// Reason is what the check said that stands in the way, OutOfcpu say, and
	// Message its sentence; both empty when it fits.
	Reason  string
	Message string
	// Short is what the node has too little of, if that is what stands in the
	// way: the resize can't fit before all of that is there.
	Short []admission.Shortage
}

// Judge tells what would become of a resize, without any effect: allocated and
// desired are the pod with what it has and with what it asks for. Nothing of the
// chain's Ledger is written, and it may run beside other readers. A nil chain has
// room for everything. The error means that nobody could judge.
func Judge(ctx context.Context, chain *admission.Chain, s Support, allocated, desired *v1.Pod) (Verdict, error) {
	return decide(s, allocated, desired, func() (admission.Decision, error) {
		if chain == nil {
			return admission.Decision{Verdict: admission.Admitted()}, nil
		}
		alone := *chain
		alone.Preempt = false
		return alone.Check(ctx, desired)
	})
}

// Grant is Judge by the chain's one writer: a resize that fits is reserved for
// and counted from now on. The status of desired tells what the pod still holds
// meanwhile; see [Counted] and [admission.Ledger.Update].
func Grant(ctx context.Context, chain *admission.Chain, s Support, allocated, desired *v1.Pod) (Verdict, error) {
	return decide(s, allocated, desired, func() (admission.Decision, error) {
		if chain == nil {
			return admission.Decision{Verdict: admission.Admitted()}, nil
		}
		return chain.Resize(ctx, Counted(desired, nil))
	})
}

func decide(s Support, allocated, desired *v1.Pod, ask func() (admission.Decision, error)) (Verdict, error) {
	if allocated == nil || desired == nil {
		return Verdict{}, errors.New("resize: a pod is nil")
	}
	if why := s.Infeasible(allocated, desired); why != "" {
		return Verdict{Outcome: Infeasible, Reason: v1.PodReasonInfeasible, Message: why}, nil
	}
	d, err := ask()
	switch {
	case err != nil:
		return Verdict{}, err
	case d.Outcome == admission.Admit:
		return Verdict{Outcome: Fits}, nil
	}
	v := Verdict{Outcome: Deferred, Reason: d.Reason, Message: d.Message, Short: d.Short}
	if d.Reason == v1.PodReasonInfeasible {
		v.Outcome = Infeasible
	}
	return v, nil
}
