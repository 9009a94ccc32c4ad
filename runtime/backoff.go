package runtime

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// BackoffConfig sets the pace of a back-off. The zero value is the kubelet's.
type BackoffConfig struct {
	// Base is the first wait that is not zero; 10 s.
	Base time.Duration
	// Max limits the waits, which double each time; 5 min.
	Max time.Duration
	// ResetAfter is how long a container must have run since its last start
	// for its waits to begin anew; 10 min.
	ResetAfter time.Duration
}

// Backoff remembers how the containers of one pod were started, and derives from
// it how long the next start has to wait: not at all the first time, then 10 s
// after its end, doubling to 5 min, and from the beginning again for a container
// that ran for 10 minutes. Another image or other resources begin anew too. It
// also remembers restart counts, for containers of which nothing is left to see.
//
// It is a value: methods return a changed copy. The zero value is ready for use
// and remembers nothing; [SeedBackoff] makes the one for a pod that ran before.
type Backoff struct {
	Config  BackoffConfig
	entries map[string]backoffEntry
}

type backoffEntry struct{}

// SeedBackoff rebuilds the back-off of a pod from what is left of its containers,
// for an agent that was restarted. A container with n restarts has waited as
// often as n starts make one wait, and, where its instance before is still to be
// seen, no longer than the time between the two.
func SeedBackoff(cfg BackoffConfig, pod *v1.Pod, status *PodStatus) Backoff { return Backoff{} }

// WaitUntil returns until when the container has to wait before it is started
// again, or the zero time when it may start at now. A nil status is empty.
func (b Backoff) WaitUntil(container *v1.Container, status *PodStatus, now time.Time) time.Time {
	return time.Time{}
}

// NextRestartCount returns the restart count of the container's next instance.
func (b Backoff) NextRestartCount(name string, status *PodStatus) int32 { return 0 }

// Started returns the back-off after the start was carried out at now; status is
// the one that it was planned on. Call it when the instance is about to be made,
// whether or not it then starts. The restart count may be higher than planned.
func (b Backoff) Started(start Start, status *PodStatus, now time.Time) Backoff { return b }
