package syncloop

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
)

// StatusSink is where the statuses of pods go: an API server, a table, a file.
//
// Updates of one pod come one after another, the newest last; those between may
// be left out. Updates of different pods come concurrently. An error means that
// the update did not arrive: the pod's newest one is tried again, with back-off.
// One that arrived although its call failed comes again, with its version. A
// sink that is slow or down never holds up the loop. A call returns soon after
// its context ends, for Run waits for it. Package synclooptest has the rules of
// a sink as a test.
type StatusSink interface {
	SetStatus(ctx context.Context, u StatusUpdate) error
}

// StatusUpdate is what is to be said about a pod now. All of it is read-only.
type StatusUpdate struct {
	// Pod is the pod as its source gave it; for a static pod this is not what
	// the API server has, see Mirror.
	Pod *v1.Pod
	// Mirror is the mirror of a static pod, as far as it is known.
	Mirror *v1.Pod
	// Status is complete. It is the newest word, and is never followed by an
	// older one.
	Status *v1.PodStatus
	// Version grows with every update that the loop makes, over all pods: none
	// is used twice, and a pod which comes again under its UID goes on from
	// there. It begins at the time in nanoseconds, or at what the [Store]
	// remembers if that is more, so that it goes on over a restart of the
	// agent too.
	Version uint64
	// MayRun is set until every container of the pod was seen stopped. A
	// sink that others act upon does not show a terminal phase before that,
	// see podstatus.Merge.
	MayRun bool
	// Finished is set once nothing of the pod is left but its dead
	// containers: a pod that is marked for deletion may be deleted now.
	Finished bool
}

// StatusFunc makes a StatusSink of a function.
type StatusFunc func(ctx context.Context, u StatusUpdate) error

// SetStatus calls f; a nil one is an error.
func (f StatusFunc) SetStatus(ctx context.Context, u StatusUpdate) error {
	if f == nil {
		return errors.New("the StatusFunc is nil")
	}
	return f(ctx, u)
}
