package lifecycle

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// Event is what may happen to a pod: [Update], [Removed], [Stray], [Resume],
// [Kill], [Discard], [NameGranted], [Poke], [Due] or [Done].
type Event interface{ event() }

// Update brings a version of the pod that its source has.
type Update struct {
	Pod *v1.Pod
	// Create is set for an addition: after the end began it asks for a new
	// life instead of changing this one.
	Create bool
	// Static pods wait for their full name.
	Static bool
	// Observed tells that the runtime holds something of the pod, Running that
	// some of it may run, and Ended that its phase was terminal before, whatever
	// its source says. They are looked at for the first event alone.
	Observed, Running, Ended bool
}

// Removed says that the pod's source does not have it any more.
type Removed struct{}

// Stray says that the runtime runs something of a pod that nobody wants, or
// that had come to its end.
type Stray struct{}

// Resume takes up an end that had begun before the agent was started anew, with
// what is left of its grace. It comes after the first [Update].
type Resume struct {
	Since time.Time
	Grace time.Duration
}

// Kill asks for the end of the pod.
type Kill struct {
	// Grace is the most that it gets; zero leaves it to the pod.
	Grace time.Duration
	// Now kills what still runs without waiting for the grace.
	Now bool
	// Evict marks the kill as an eviction.
	Evict bool
	// Verdict is to be remembered, unless one was passed before.
	Verdict *podstatus.Verdict
	// Waiter is told when the pod has stopped.
	Waiter Waiter
	// Discard has what the runtime keeps of the pod removed afterwards.
	Discard bool
}

// Discard has what the runtime keeps of a pod that has come to its end removed,
// although its source still has the pod.
type Discard struct{}

// NameGranted tells a static pod that it now holds its full name.
type NameGranted struct{}

// Poke says that something changed that the pod should be looked at for: in
// the runtime, in a probe, in the status that its source shows.
type Poke struct{}

// Due says that the time in [State.Due] has come.
type Due struct{}

// Done says how work came back.
type Done struct {
	// Seq is the number that [Start] gave it.
	Seq uint64
	// Err is what went wrong; a cancelled work may give anything.
	Err error
	// Terminal: a sync found that the pod has come to its end.
	Terminal bool
	// Verdict is one that the work found to be passed.
	Verdict *podstatus.Verdict
	// Again: a sync changed something, and is to be repeated at once.
	Again bool
	// RetryAt is when a sync wants to be repeated although nothing changes;
	// zero for no such wish.
	RetryAt time.Time
}

func (Update) event()      {}
func (Removed) event()     {}
func (Stray) event()       {}
func (Resume) event()      {}
func (Kill) event()        {}
func (Discard) event()     {}
func (NameGranted) event() {}
func (Poke) event()        {}
func (Due) event()         {}
func (Done) event()        {}

// Action is what is to be done: [Cancel], [Start], [AcquireName],
// [ReleaseName], [Complete], [Recreate] or [Forget]. Actions are carried out in
// the order given.
type Action interface{ action() }

// Cancel cancels the context of the work of that number. Its [Done] still
// comes, and is still wanted.
type Cancel struct{ Seq uint64 }

// Start starts a piece of work. A kill gets Grace and Deadline of the state.
type Start struct {
	Work Work
	Seq  uint64
}

// AcquireName asks for the pod's full name; [NameGranted] answers.
type AcquireName struct{}

// ReleaseName gives the full name back, or the place in its queue.
type ReleaseName struct{}

// Complete tells the waiters that nothing of the pod runs.
type Complete struct{ Waiters []Waiter }

// Recreate asks for a new life of the pod: its newest version is to be sent as
// an [Update] with Create, when it may run.
type Recreate struct{}

// Forget asks for all that is known of the pod to be dropped.
type Forget struct{}

func (Cancel) action()      {}
func (Start) action()       {}
func (AcquireName) action() {}
func (ReleaseName) action() {}
func (Complete) action()    {}
func (Recreate) action()    {}
func (Forget) action()      {}
