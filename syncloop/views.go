package syncloop

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

// PodView is what the loop knows of one pod at one moment. It is a snapshot that
// nobody writes to.
type PodView struct {
	runtime.PodRef
	// Pod is the newest version of it; nil for a pod that only the runtime
	// knows. Its status is not up to date: see Status.
	Pod *v1.Pod
	// Source is where it came from.
	Source string
	// Status was said last; nil before the first word.
	Status *v1.PodStatus
	// Stage of its life; empty while it waits for admission.
	Stage lifecycle.Stage
	// Work is what a worker does for it now, since WorkSince; empty when idle.
	Work      lifecycle.Work
	WorkSince time.Time
	// Waiting tells why a pod that should run is not being worked on: it is
	// not admitted yet, or waits for another static pod of its name to end.
	Waiting      string
	WaitingSince time.Time
	// RetryAt is when it is looked at again by itself; zero for never.
	RetryAt time.Time
	// LastError is what went wrong last, nil after a success.
	LastError error
	// Admitted tells whether it was let in.
	Admitted bool
	// TerminatingSince and Deadline are set while, and after, it is stopped.
	TerminatingSince, Deadline time.Time
}
