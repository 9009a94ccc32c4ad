package admission

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Outcome is what admission says of a pod.
type Outcome string

// The three outcomes.
const (
	// Admit: the pod may run here.
	Admit Outcome = "admit"
	// Reject: the pod may never run here; its phase becomes Failed.
	Reject Outcome = "reject"
	// Retry: not now, but later may differ; the pod stays Pending.
	Retry Outcome = "retry"
)

// Verdict is the answer of one handler, or of a whole chain.
type Verdict struct {
	Outcome Outcome
	// Reason is one CamelCase word, Message a sentence; both empty when
	// admitted. They are the kubelet's where the kubelet has the check.
	Reason  string
	Message string
	// RetryAfter is how long to wait before the next try when Outcome is
	// Retry; zero leaves it to the caller.
	RetryAfter time.Duration
}

// Admitted is the verdict that lets a pod in.
func Admitted() Verdict { return Verdict{Outcome: Admit} }

// Rejected is a final refusal.
func Rejected(reason, message string) Verdict {
	return Verdict{Outcome: Reject, Reason: reason, Message: message}
}

// RetryLater is a refusal for now.
func RetryLater(reason, message string, after time.Duration) Verdict {
	return Verdict{Outcome: Retry, Reason: reason, Message: message, RetryAfter: after}
}

// Request is what a handler judges. All of it is read-only for the handler.
type Request struct {
	// Pod wants to run here.
	Pod *v1.Pod
	// Node is where; it is nil for a chain without a NodeGetter.
	Node *v1.Node
	// Ledger holds what the admitted pods take. Pod itself is not counted.
	Ledger *Ledger
}

// AdmitHandler judges whether a pod may run on this node. It changes nothing:
// neither what it is given nor the world, so that a chain may ask it for a
// what-if. It may be called from many goroutines. An error means that it could
// not judge; it is no rejection, the pod is tried again.
type AdmitHandler interface {
	Admit(ctx context.Context, req Request) (Verdict, error)
}

// AdmitFunc makes an AdmitHandler of a function.
type AdmitFunc func(ctx context.Context, req Request) (Verdict, error)

// Admit calls f.
func (f AdmitFunc) Admit(ctx context.Context, req Request) (Verdict, error) { return f(ctx, req) }

// NodeGetter gives the node that pods are judged against. The node is a value:
// nobody writes to it.
type NodeGetter interface {
	// Node returns the node. It may come from a cache unless fresh is set.
	Node(ctx context.Context, fresh bool) (*v1.Node, error)
}

// NodeFunc makes a NodeGetter of a function.
type NodeFunc func(ctx context.Context, fresh bool) (*v1.Node, error)

// Node calls f.
func (f NodeFunc) Node(ctx context.Context, fresh bool) (*v1.Node, error) { return f(ctx, fresh) }
