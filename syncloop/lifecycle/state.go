package lifecycle

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// Stage is where a pod is in its life. Stages only follow each other in the
// order below; the empty one is before the first event.
type Stage string

// The stages.
const (
	// Sync: the pod should run.
	Sync Stage = "sync"
	// Terminating: its containers are being stopped.
	Terminating Stage = "terminating"
	// Terminated: nothing of it runs; its resources are being released.
	Terminated Stage = "terminated"
	// Finished: there is nothing left to do for it.
	Finished Stage = "finished"
)

// Work is what a worker does for a pod.
type Work string

// The kinds of work.
const (
	// WorkSync brings the pod nearer to its spec.
	WorkSync Work = "sync"
	// WorkTerminate stops its containers and sees that nothing runs.
	WorkTerminate Work = "terminate"
	// WorkCleanUp releases what a stopped pod holds, its volumes first.
	WorkCleanUp Work = "cleanup"
	// WorkRemove removes what the runtime keeps of a pod that nobody wants.
	WorkRemove Work = "remove"
)

// Waiter is the name of someone who waits for a pod to stop. Whoever sends a
// [Kill] chooses it; zero is nobody.
type Waiter uint64

// State is the state of one pod's life. It is a value: [Rules.Step] returns a
// new one. The zero value with a UID is a pod before its first event.
type State struct {
	UID   types.UID
	Stage Stage
	// Pod is the newest version that was accepted; nil for a pod that only
	// the runtime knows.
	Pod *v1.Pod
	// Desired is set while its source has it.
	Desired bool
	// Static pods of one full name run one after another: such a pod waits
	// until it holds the name. Started is set once it may run; others may at
	// once.
	Static, Started bool
	// Observed is set when the runtime held something of the pod before this
	// life of it began.
	Observed bool

	// Work in force, and its number; no work when empty.
	Work Work
	Seq  uint64
	// Pending tells that something is to be done after the work in force.
	Pending bool
	// Lingers is the number of a sync that was overtaken and has not come
	// back, zero for none. Recheck tells that the kill must be repeated after
	// it has.
	Lingers uint64
	Recheck bool

	// TerminatingSince is when the end began; zero before. Grace is what the
	// pod gets, at least a second and never more than before; Deadline is when
	// what still runs is killed, and never moves back.
	TerminatingSince time.Time
	Grace            time.Duration
	Deadline         time.Time
	// Deleted: it was removed or marked for deletion. Evicted: an eviction,
	// and nothing before it, began its end.
	Deleted, Evicted bool
	// Verdict is the first that was passed, and stays.
	Verdict *podstatus.Verdict
	// RestartRequested: it was created anew after its end had begun.
	RestartRequested bool
	// Acknowledged: no sync is in flight and none will be.
	Acknowledged bool
	// Stray: the runtime says that something of it runs after its end.
	Stray bool
	// Discard: what the runtime keeps of it is to be removed once it has
	// finished, although its source still has it.
	Discard bool
	// Poked: a [Poke] came while work was in force. Repeats counts the works in
	// a row that began because of pokes or of their own wish.
	Poked   bool
	Repeats int

	// Due is when a [Due] event is to be sent; zero for never. Failures counts
	// the failed works in a row, LastDone is when the last one came back.
	Due      time.Time
	Failures int
	LastDone time.Time

	// Waiters wait for the pod to stop.
	Waiters []Waiter
}

// TerminationRequested tells whether the end of the pod has begun.
func (s State) TerminationRequested() bool { return !s.TerminatingSince.IsZero() }

// RuntimeOnly tells whether the runtime alone knows the pod.
func (s State) RuntimeOnly() bool { return s.Pod == nil && s.Stage != "" }
