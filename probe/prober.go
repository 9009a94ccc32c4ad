package probe

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// Result is what one probe of a container came to.
type Result string

// The results of a probe.
const (
	// Success: it works.
	Success Result = "success"
	// Warning: it works, and a person should look at it. Counts as Success.
	Warning Result = "warning"
	// Failure: it does not work.
	Failure Result = "failure"
	// Unknown: the probe could not tell.
	Unknown Result = "unknown"
)

// OutputLimit is how many bytes of a container's answer are kept.
const OutputLimit = 10 << 10

// Response is the answer of a probe that could be carried out.
type Response struct {
	Result Result
	// Output is what the container said, at most OutputLimit bytes of it, for
	// people. It is the container's text: escape it before it reaches a
	// terminal.
	Output string
}

// Target is the container that is probed, and how.
type Target struct {
	// Pod names the pod.
	Pod runtime.PodRef
	// Container is the name in the pod's spec, ContainerID the ID as the
	// runtime gave it.
	Container   string
	ContainerID string
	// Probe is the name of the probe, where it has one.
	Probe string
	// IP of the pod; empty when it has none.
	IP string
	// Ports of the container, for probes that name one.
	Ports []v1.ContainerPort
	// Env holds the literal variables of the container's spec, for $(VAR) in
	// a command.
	Env []v1.EnvVar
	// Action is what to do: exactly one of its handlers is set.
	Action v1.ProbeHandler
}

// Prober probes a container once.
type Prober interface {
	// Probe carries out the target's action. The timeout is the context's: once
	// it ends, Probe returns soon, with the Response that a timeout means for
	// this kind of probe or with the context's error; where it has ended before, the
	// container is not asked. An error says that the container could not be asked, so
	// that the result counts neither way; so does a Result that is none of this
	// package's.
	// Probe may be called from many goroutines.
	Probe(ctx context.Context, target Target) (Response, error)
}

// Func makes a Prober of a function.
type Func func(ctx context.Context, target Target) (Response, error)

// Probe calls f; a nil one is an error.
func (f Func) Probe(ctx context.Context, target Target) (Response, error) {
	if f == nil {
		return Response{}, errors.New("the Func of the prober is nil")
	}
	return f(ctx, target)
}
