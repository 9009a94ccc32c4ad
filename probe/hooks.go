package probe

import (
	"strings"
	"time"

	"github.com/kubeparts/kubeparts/runtime"
)

// Hooks tell a host what a [Manager] does, for metrics and logs. Any may be nil.
// They are called from the goroutines of probes, several at a time, and must not
// block.
type Hooks struct {
	// Attempt is called after each attempt.
	// (prober_probe_total, by result; prober_probe_duration_seconds. The
	// kubelet counts no attempt that erred, and times successes alone.)
	Attempt func(AttemptInfo)
	// Published is called when the published verdict of a probe changed, with
	// what [Manager.Take] gives. (The kubelet has no metric for it.)
	Published func(Published)
}

// AttemptInfo is one attempt as [Hooks] see it.
type AttemptInfo struct {
	Key
	Kind        Kind
	ContainerID string
	Attempt
	// Late is how long after its time it began, Took how long it lasted.
	Late, Took time.Duration
	// Cancelled tells that it was called off, or that its container was gone
	// when it came back: it counts for nothing.
	Cancelled bool
}

// String names the probe, what the attempt found ("error" if it could not ask), and
// what it said.
func (a AttemptInfo) String() string {
	found := string(a.Result)
	if a.Err != nil {
		found = "error"
	}
	return inWords(a.Key, found, a.Output, a.Err)
}

// Published is a verdict that was published of a container instance.
type Published struct {
	Key
	Kind        Kind
	ContainerID string
	Verdict     runtime.Verdict
	// Output and Err are of the last attempt, At is when that ended; all are
	// zero for a verdict that an earlier agent found. The output is whole, up
	// to OutputLimit, for Observe; of others it is the beginning, about 1 KiB.
	// An error with a longer text is one of its beginning alone.
	Output string
	Err    error
	At     time.Time
}

// String names the probe, its verdict, and what its last attempt said or what went wrong.
func (p Published) String() string { return inWords(p.Key, string(p.Verdict), p.Output, p.Err) }

func inWords(key Key, found, output string, err error) string {
	if err != nil {
		output = err.Error()
	}
	return strings.TrimSuffix(key.String()+" "+found+": "+Printable(strings.TrimSpace(output)), ": ")
}
