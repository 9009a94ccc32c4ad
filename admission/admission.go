package admission

import (
	"context"
	"slices"
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
	// admitted. They are the kubelet's where the kubelet has the check. Of a
	// refusal that has none a chain says which check it was.
	Reason  string
	Message string
	// RetryAfter is how long to wait before the next try when Outcome is
	// Retry; zero leaves it to the caller.
	RetryAfter time.Duration
	// Short is what the node has too little of when room alone would cure a
	// rejection, nil otherwise: a critical pod may then take the place of
	// others. A handler that sets it promises to admit the pod once there is
	// that much more room.
	Short []Shortage
}

// Admitted is the verdict that lets a pod in.
func Admitted() Verdict { return Verdict{Outcome: Admit} }

// Rejected is a final refusal.
func Rejected(reason, message string) Verdict {
	return Verdict{Outcome: Reject, Reason: reason, Message: message}
}

// RejectedShort is a refusal that room would cure: the first shortage gives
// Reason and Message. Without a shortage it admits.
func RejectedShort(short []Shortage) Verdict {
	if len(short) == 0 {
		return Admitted()
	}
	return Verdict{Outcome: Reject, Reason: short[0].Reason(), Message: short[0].Message(), Short: short}
}

// RetryLater is a refusal for now.
func RetryLater(reason, message string, after time.Duration) Verdict {
	return Verdict{Outcome: Retry, Reason: reason, Message: message, RetryAfter: after}
}

// recoverable tells whether room would cure the verdict: all of it that is short is
// indeed missing.
func (v Verdict) recoverable() bool {
	return v.Outcome == Reject && len(v.Short) > 0 &&
		!slices.ContainsFunc(v.Short, func(s Shortage) bool { return s.Missing() <= 0 })
}

// Request is what a handler judges. All of it is read-only for the handler.
type Request struct {
	// Pod wants to run here; it is never nil.
	Pod *v1.Pod
	// Node is where; it is nil for a chain without a NodeGetter.
	Node *v1.Node
	// Ledger holds what the admitted pods take. Pod itself is not counted.
	Ledger *Ledger
	// OS is the operating system of the node as Go names it; empty is the one
	// that this program runs on.
	OS string

	prepared *Prepared
}

// Prepared returns what is known of the pod by its own: the chain's
// preparation, or a new one for a Request that a test made by hand.
func (r Request) Prepared() *Prepared {
	if r.prepared != nil {
		return r.prepared
	}
	return Prepare(r.Pod)
}

// AdmitHandler judges whether a pod may run on this node. It changes nothing:
// neither what it is given nor the world, so that a chain may ask it for a
// what-if, and it answers from what it knows, for a sync loop waits for it. It
// may be called from many goroutines. An error means that it could not judge; it
// is no rejection, the pod is tried again.
//
// A handler that depends on something other than the Node and the Ledger may
// say so as a [Classer], and one that sets something aside is a [Reserver].
type AdmitHandler interface {
	Admit(ctx context.Context, req Request) (Verdict, error)
}

// AdmitFunc makes an AdmitHandler of a function.
type AdmitFunc func(ctx context.Context, req Request) (Verdict, error)

// Admit calls f; a nil one is an error.
func (f AdmitFunc) Admit(ctx context.Context, req Request) (Verdict, error) {
	if f == nil {
		return Verdict{}, errNoHandler
	}
	return f(ctx, req)
}

// Class says what the verdict of a handler depends on.
type Class string

// The classes of handlers. One that does not say counts as general.
const (
	// General: on anything. It is not asked while the node can't be read.
	General Class = ""
	// PodAlone: on the pod and on what the handler itself knows, not on Node or
	// Ledger. It is asked also while the node can't be read.
	PodAlone Class = "pod"
	// Predicate: on the pod, the node and the ledger, as the kubelet's general
	// predicates. All of a chain see one view of the node, and are asked once
	// more with a fresh one when node affinity alone failed.
	Predicate Class = "predicate"
)

// Classer is an optional power of an [AdmitHandler]: it tells its class.
type Classer interface {
	Class() Class
}

// Updater is an optional power of an [AdmitHandler]: it judges a change of a pod that
// was admitted. The change is made whatever it says, as in the kubelet; what is not
// an Admit is told to users. It changes nothing, and may be called from many
// goroutines.
type Updater interface {
	Updated(before, after *v1.Pod) Verdict
}

func classOf(h AdmitHandler) Class {
	if c, ok := h.(Classer); ok {
		return c.Class()
	}
	return General
}
