package syncloop

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission/resize"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// Store keeps what must be remembered of pods while the agent is away. Its
// methods are called from one goroutine at a time, and return soon after their
// context ends, for Run waits for them. Without one, an agent that
// starts anew knows what its sources and its runtime tell, as the kubelet does.
// Package synclooptest has the rules of a store as a test.
//
// The loop writes behind: it does not wait for the store, save that a status
// which ends a pod leaves through the sink after the record that holds it was
// committed, or failed to be. A verdict that was not written down when the agent
// died holds if the source has the status that tells of it; otherwise it is
// forgotten, as by the kubelet, and passed again by whoever finds its reason. A pod
// that comes from a checkpoint (RESTORE) has no status until its source speaks: until
// then all is forgotten of it that could not be written down.
type Store interface {
	// Load returns all records. What could be read is valid beside an error.
	Load(ctx context.Context) ([]Record, error)
	// Commit makes the batch durable as a whole, at the cost of one write. An
	// error means that none, some or all of it is; the batch is tried again
	// with back-off, with what is newest then.
	Commit(ctx context.Context, b Batch) error
}

// Batch is a number of changes to a [Store]. A pod is in it once.
type Batch struct {
	Save   []Record
	Delete []types.UID
}

// Record is what must be remembered of one pod. It holds nothing of the pod's
// spec, and so no secrets. As JSON it comes back as it was, save that the times of
// Status lose what is below a second.
type Record struct {
	UID       types.UID
	Namespace string
	Name      string
	// Source is where the pod came from.
	Source string

	// Admitted is set once the pod was let in; it is not asked for again.
	Admitted bool
	// Allocated is what it was granted of the resources that its spec asks for,
	// nil for all: by that it is run and counted after a restart.
	Allocated *resize.Allocation `json:",omitzero"`
	// Takes is what it takes of the node, if that is counted: it is taken while
	// the pod runs, also before its source has been heard of.
	Takes *Takes `json:",omitzero"`
	// Verdict is the sentence passed on the pod: rejected, evicted, past its
	// deadline. It holds until the pod is gone.
	Verdict *podstatus.Verdict `json:",omitzero"`
	// TerminatingSince is when its stop began, zero before; Grace is what it
	// was given from then on.
	TerminatingSince time.Time     `json:",omitzero"`
	Grace            time.Duration `json:",omitzero"`
	// Status is what was said last, with the start time of the pod.
	Status *v1.PodStatus `json:",omitzero"`
	// Version is that of Status.
	Version uint64 `json:",omitzero"`
}
