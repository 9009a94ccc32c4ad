package syncloop

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
)

// Channels are what one [Step] reads from. A nil channel is never ready, so
// that a host gives those alone that it has. Only Config may be closed.
type Channels struct {
	// Config carries changes of the desired pods. Its end is the loop's end.
	Config <-chan podmanager.Update
	// RuntimeEvents carries pods about which the runtime said something.
	RuntimeEvents <-chan RuntimeEvent
	// SyncDue says that pods may be due for a sync; which ones the handler
	// knows. A ticker of a second does what the kubelet does.
	SyncDue <-chan time.Time
	// Housekeeping says that it is time to clean up.
	Housekeeping <-chan time.Time
	// Probes says that verdicts of probes changed; the handler takes them.
	Probes <-chan struct{}
}

// RuntimeEvent says that something of a pod changed in the runtime. It is a
// hint and says no more than which pod to look at.
type RuntimeEvent struct {
	UID types.UID
}

// SyncHandler is what the loop's steps drive. Its methods are called from one
// goroutine, one at a time, and must not block: what is slow belongs elsewhere.
// Pods are read-only.
//
// [SyncLoop] is the handler that most hosts want; [HandlerFuncs] makes one of
// functions.
type SyncHandler interface {
	// HandlePodAdditions takes pods that are new: OpAdd, or OpRestore for pods
	// out of a checkpoint, whose source does not count as heard by that. An
	// update without pods says that its source is alive.
	HandlePodAdditions(ctx context.Context, u podmanager.Update)
	// HandlePodUpdates takes pods that changed or were marked for graceful
	// deletion: OpUpdate and OpDelete, which are one and the same here.
	HandlePodUpdates(ctx context.Context, u podmanager.Update)
	// HandlePodRemoves takes pods that their source does not have any more.
	HandlePodRemoves(ctx context.Context, u podmanager.Update)
	// HandlePodReconcile takes pods of which only the status in the source
	// changed.
	HandlePodReconcile(ctx context.Context, u podmanager.Update)
	// HandleUnexpected takes an update that no loop can carry out: OpSet,
	// which only a Mux understands, or an unknown operation. It reports it and
	// changes nothing.
	HandleUnexpected(ctx context.Context, u podmanager.Update)
	// HandleRuntimeEvent takes a pod that changed in the runtime.
	HandleRuntimeEvent(ctx context.Context, e RuntimeEvent)
	// HandlePodSyncs starts the syncs that are due.
	HandlePodSyncs(ctx context.Context)
	// HandlePodCleanups does the housekeeping.
	HandlePodCleanups(ctx context.Context)
	// HandleProbeResults takes the verdicts of probes that changed.
	HandleProbeResults(ctx context.Context)
}

// Step waits for one event on the channels, lets the handler deal with it, and
// returns true. It returns false, without having called the handler, once the
// Config channel is closed or the context ended.
//
// When several channels are ready, any of them may be taken: nobody may count
// on an order. The monitor is stamped before and after the event; nil is
// allowed.
//
// Step keeps nothing between calls. A host that has its own handler calls it in
// a loop of its own; a test calls it as often as it has events.
func Step(ctx context.Context, ch Channels, h SyncHandler, m *Monitor) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case u, ok := <-ch.Config:
		if !ok {
			return false
		}
		m.begin()
		handleUpdate(ctx, u, h)
	case e := <-ch.RuntimeEvents:
		m.begin()
		h.HandleRuntimeEvent(ctx, e)
	case <-ch.SyncDue:
		m.begin()
		h.HandlePodSyncs(ctx)
	case <-ch.Housekeeping:
		m.begin()
		h.HandlePodCleanups(ctx)
	case <-ch.Probes:
		m.begin()
		h.HandleProbeResults(ctx)
	}
	m.end()
	return true
}

func handleUpdate(ctx context.Context, u podmanager.Update, h SyncHandler) {
	switch u.Op {
	case podmanager.OpAdd, podmanager.OpRestore:
		h.HandlePodAdditions(ctx, u)
	case podmanager.OpUpdate, podmanager.OpDelete:
		h.HandlePodUpdates(ctx, u)
	case podmanager.OpRemove:
		h.HandlePodRemoves(ctx, u)
	case podmanager.OpReconcile:
		h.HandlePodReconcile(ctx, u)
	default:
		h.HandleUnexpected(ctx, u)
	}
}

// HandlerFuncs makes a [SyncHandler] of functions. A nil function does nothing.
type HandlerFuncs struct {
	Additions    func(source string, pods []*v1.Pod)
	Updates      func(source string, pods []*v1.Pod)
	Removes      func(source string, pods []*v1.Pod)
	Reconcile    func(source string, pods []*v1.Pod)
	Unexpected   func(u podmanager.Update)
	RuntimeEvent func(e RuntimeEvent)
	Syncs        func()
	Cleanups     func()
	Probes       func()
}

var _ SyncHandler = HandlerFuncs{}

// HandlePodAdditions calls f.Additions.
func (f HandlerFuncs) HandlePodAdditions(_ context.Context, u podmanager.Update) {
	if f.Additions != nil {
		f.Additions(u.Source, u.Pods)
	}
}

// HandlePodUpdates calls f.Updates.
func (f HandlerFuncs) HandlePodUpdates(_ context.Context, u podmanager.Update) {
	if f.Updates != nil {
		f.Updates(u.Source, u.Pods)
	}
}

// HandlePodRemoves calls f.Removes.
func (f HandlerFuncs) HandlePodRemoves(_ context.Context, u podmanager.Update) {
	if f.Removes != nil {
		f.Removes(u.Source, u.Pods)
	}
}

// HandlePodReconcile calls f.Reconcile.
func (f HandlerFuncs) HandlePodReconcile(_ context.Context, u podmanager.Update) {
	if f.Reconcile != nil {
		f.Reconcile(u.Source, u.Pods)
	}
}

// HandleUnexpected calls f.Unexpected.
func (f HandlerFuncs) HandleUnexpected(_ context.Context, u podmanager.Update) {
	if f.Unexpected != nil {
		f.Unexpected(u)
	}
}

// HandleRuntimeEvent calls f.RuntimeEvent.
func (f HandlerFuncs) HandleRuntimeEvent(_ context.Context, e RuntimeEvent) {
	if f.RuntimeEvent != nil {
		f.RuntimeEvent(e)
	}
}

// HandlePodSyncs calls f.Syncs.
func (f HandlerFuncs) HandlePodSyncs(context.Context) {
	if f.Syncs != nil {
		f.Syncs()
	}
}

// HandlePodCleanups calls f.Cleanups.
func (f HandlerFuncs) HandlePodCleanups(context.Context) {
	if f.Cleanups != nil {
		f.Cleanups()
	}
}

// HandleProbeResults calls f.Probes.
func (f HandlerFuncs) HandleProbeResults(context.Context) {
	if f.Probes != nil {
		f.Probes()
	}
}
