package runtime

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// PlanInput is all that [Plan] looks at. It is read-only.
type PlanInput struct {
	// Pod is the desired pod.
	Pod *v1.Pod
	// Status is what was observed, newest first (see [PodStatus.Sort]); nil
	// is a pod of which nothing is known.
	Status *PodStatus
	// Probes are the verdicts that may kill a container.
	Probes ProbeVerdicts
	// RestartAll is set while a RestartAllContainers rule is carried out.
	RestartAll bool
	// Ended names regular containers that ended for good, which Status may not
	// show any more. They are not started.
	Ended map[string]bool
	// Backoff is what is remembered of this pod's starts, from the last plan;
	// the zero value remembers nothing.
	Backoff Backoff
	// Now is the time of the decision.
	Now time.Time
}

// Actions is what one pass over a pod should do. The lists are worked off in
// this order, and each is empty when there is nothing to do:
//
//	KillPod:  stop the running containers as [StopOrder] says, then StopSandboxes
//	else:     Kill, then Reset
//	          CreateSandbox, numbered Attempt
//	          Remove, RemoveSandboxes
//	          Ephemeral, then Init: each one that doesn't wait
//	          Resize, one after another up to the first that fails
//	          Containers: each one that doesn't wait
//
// With KillPod and without CreateSandbox nothing is started. Whoever carries the
// actions out takes a new status afterwards and plans again.
// Pointers lead into the pod of the [PlanInput] and are read-only.
type Actions struct {
	// KillPod asks for everything of the pod to be stopped: because the
	// sandbox must be replaced (CreateSandbox), or because the pod is done.
	KillPod bool
	// StopSandboxes are the IDs of all sandboxes, dead ones too, when KillPod is
	// set; none once everything was stopped and no sandbox is to be created.
	StopSandboxes []string
	// CreateSandbox asks for a new sandbox, numbered Attempt, after the kill.
	CreateSandbox bool
	// SandboxID is the newest sandbox; the one to start containers in unless
	// CreateSandbox is set. Empty when none is known, or when its network mode
	// is not the pod's.
	SandboxID string
	// Attempt is the number of the sandbox that is in use or to be created.
	Attempt uint32

	// Ephemeral, Init and Containers are to be started, in the spec's order.
	// At most one plain init container is new among Init. When a plain init
	// container can't be started, the pass ends there; any other failure stops
	// no sibling.
	Ephemeral, Init, Containers []Start

	// Kill lists running containers that must end, sorted by ID. Those that
	// are to run again are in Init or Containers too.
	Kill []Kill

	// Resize asks for running containers to be given what the spec says they
	// may have: memory first, then cpu, less before more.
	Resize []Resize

	// Reset lists the instances that a RestartAllContainers rule wants gone,
	// in the order to go by: the one that triggered it is last, so that a
	// reset that was interrupted is taken up again.
	Reset []Reset

	// Remove lists dead instances, by ID, that no one needs: all but the
	// newest of each name, and the init containers of a sandbox that is being
	// replaced. Their logs go too.
	Remove []string
	// RemoveSandboxes lists dead sandboxes, by ID, that no container is left in
	// and that are not the newest.
	RemoveSandboxes []string

	// RetryAt is the earliest WaitUntil of a container that waits; zero for
	// none.
	RetryAt time.Time
	// Backoff is what to remember of the pod from now on: for
	// [Backoff.Started], and for the next plan.
	Backoff Backoff
	// Events are for users, in the order in which to send them.
	Events []Event
}

// Start asks for one instance of a container.
type Start struct {
	// Container is its spec. For an ephemeral container it is the common part
	// of the spec.
	Container *v1.Container
	// Target is the container whose namespaces an ephemeral container joins,
	// by name; mostly empty.
	Target string
	// RestartCount is the number of the new instance: how often a container
	// of this name was started before. It is also the attempt of its
	// [ContainerConfig] and the number of its log.
	RestartCount int32

	// WaitUntil is when its back-off ends; zero when it may start now. Then
	// Reason (CrashLoopBackOff) and Message say why it waits.
	WaitUntil       time.Time
	Reason, Message string

	// NextWait is how long the start after this one will have to wait if the
	// container ends soon; [Backoff.Started] keeps it.
	NextWait time.Duration
}

// Waits tells whether the container is in back-off and must not start now.
func (s Start) Waits() bool { return !s.WaitUntil.IsZero() }

// KillReason says why a container is killed. A probe that is the reason may set
// the grace.
type KillReason string

// The reasons for a kill. KillOther covers what the kubelet has no name for:
// a changed definition.
const (
	KillOther         KillReason = ""
	KillLivenessProbe KillReason = "LivenessProbe"
	KillStartupProbe  KillReason = "StartupProbe"
	KillUnknown       KillReason = "Unknown"
)

// Kill asks for one container to be stopped.
type Kill struct {
	ID   string
	Name string
	// Reason and Message say why; Message is the text of the Killing event.
	Reason  KillReason
	Message string
	// Grace is how long it may take, its preStop hook included.
	Grace time.Duration
}

// Reset asks for one instance of a container to be removed, its log kept. With
// Kill set it is killed first: with [MinGrace], without its preStop hook, and
// with a Killing event that says just "killing".
type Reset struct {
	Name string
	ID   string
	Kill bool
}

// Stop is the stop of one running container as a part of the stop of its pod.
type Stop struct {
	ID   string
	Name string
	// Message is the text of the Killing event.
	Message string
	// Grace is how long it may take, preStop hook and waiting included.
	Grace time.Duration
	// After are the IDs of the containers that must have ended (or whose stop
	// failed) before this one is asked to stop; its preStop hook does not
	// wait. When the grace is over first, it is stopped with [MinGrace].
	After []string
}
