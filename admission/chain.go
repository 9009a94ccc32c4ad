package admission

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// Chain asks its handlers in turn and keeps the ledger of those that it
// admitted. It is safe for concurrent use as far as its Ledger is: Check may run
// on many goroutines while nobody admits.
type Chain struct {
	// Nodes gives the node; nil judges without one.
	Nodes NodeGetter
	// Ledger is where admitted pods are entered; required for Admit.
	Ledger *Ledger
	// Handlers are asked in this order; the first refusal decides.
	Handlers []Check
}

// Check is one handler of a chain with the name that explanations give it.
type Check struct {
	Name    string
	Handler AdmitHandler
}

// Decision is the answer of a chain, with the verdict of each check.
type Decision struct {
	Verdict
	// Checks holds every check's own verdict, in the chain's order.
	Checks []CheckVerdict
}

// CheckVerdict is the verdict of one check by name. Err is set when the check
// could not judge.
type CheckVerdict struct {
	Name string
	Verdict
	Err error
}

// Check judges the pod without any effect.
func (c *Chain) Check(ctx context.Context, pod *v1.Pod) Decision {
	panic("see helper F")
}

// Admit judges the pod and, when it is admitted, enters it in the ledger.
func (c *Chain) Admit(ctx context.Context, pod *v1.Pod) (Decision, error) {
	return Decision{}, fmt.Errorf("see helper F")
}
