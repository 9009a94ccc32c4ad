package runtime

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PodRef names a pod. UID is its identity; Namespace and Name are for people
// and may be empty where a runtime lost them.
type PodRef struct {
	UID       types.UID
	Namespace string
	Name      string
}

// RefOf returns the reference of a pod.
func RefOf(pod *v1.Pod) PodRef {
	return PodRef{UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name}
}

// String gives the kubelet's human form, name_namespace(uid).
func (r PodRef) String() string {
	return r.Name + "_" + r.Namespace + "(" + string(r.UID) + ")"
}

// State is the state of a container as a runtime knows it. It has the four
// values of the CRI; a container that was removed has no state at all.
type State string

// The states of a container.
const (
	StateCreated State = "created" // made, never started
	StateRunning State = "running"
	StateExited  State = "exited"
	StateUnknown State = "unknown" // the runtime lost track of it
)

// PodStatus is what a runtime observed of one pod. It is a snapshot: whoever
// receives one owns it, and nobody writes to it after it was handed over.
type PodStatus struct {
	PodRef

	// IPs of the newest sandbox, primary first; empty unless it is ready. Whoever
	// makes a status fills it in beside Sandboxes: the pod's status and its probes
	// go by this one alone, and a network probe waits while it is empty.
	IPs []string

	// Sandboxes, newest first (attempt, then creation time, then ID).
	Sandboxes []SandboxStatus

	// Containers of all sandboxes, newest first (restart count, then creation
	// time, then ID). Several of one name are the normal case after a restart.
	Containers []ContainerStatus

	// ObservedAt is a time before the first read that this status is made
	// of: whatever was done before it is visible here.
	ObservedAt time.Time
}

// SandboxStatus is what a runtime observed of one sandbox.
type SandboxStatus struct {
	ID      string
	Attempt uint32
	Ready   bool
	// IPs, primary first. None at all means that the backend knows of no
	// addresses, which is fine; an empty first one that the sandbox lost its
	// own, for which it is replaced.
	IPs         []string
	HostNetwork bool
	CreatedAt   time.Time
}

// ContainerStatus is what a runtime observed of one container instance.
type ContainerStatus struct {
	// ID as the runtime gave it, without the type prefix of the API
	// ("process://"); unique in the runtime.
	ID string
	// Name of the container in the pod's spec.
	Name      string
	SandboxID string
	State     State

	CreatedAt  time.Time
	StartedAt  time.Time // zero unless it was started
	FinishedAt time.Time // zero unless State is StateExited

	// ExitCode, Reason and Message tell how it ended; set for StateExited.
	// Reason is Completed, Error, OOMKilled or the runtime's own.
	ExitCode int32
	Reason   string
	Message  string

	// RestartCount is how often a container of this name was started before.
	RestartCount int32
	// Hash of the spec that it was made from, see ContainerHash. Zero is not
	// known, and taken for unchanged.
	Hash uint64

	// Resources are the cpu and memory that it has, in requests and limits. nil
	// is not known, and taken for what the spec says.
	Resources *v1.ResourceRequirements

	Image    string // as the spec named it
	ImageRef string // digest or ID of what really runs, where known
}

// Container returns the newest container of the name, or nil.
func (s *PodStatus) Container(name string) *ContainerStatus {
	if s == nil {
		return nil
	}
	for i := range s.Containers {
		if s.Containers[i].Name == name {
			return &s.Containers[i]
		}
	}
	return nil
}

// Running tells whether any container of the pod runs or may run: one in an
// unknown state counts.
func (s *PodStatus) Running() bool {
	return s != nil && slices.ContainsFunc(s.Containers, func(c ContainerStatus) bool { return c.mayRun() })
}

// mayRun tells whether the container runs, for all that is known: only one that
// was never started, or ended, surely doesn't.
func (c *ContainerStatus) mayRun() bool {
	return c.State != StateCreated && c.State != StateExited
}

// Sort puts sandboxes and containers newest first, the order that every reader of
// a status relies on: sandboxes by attempt, creation time and ID; containers by
// restart count, creation time and ID, for a clock that is turned back must not make
// an instance that ended look newer than the one that runs. Whoever makes a
// PodStatus calls it before handing it over.
func (s *PodStatus) Sort() {
	slices.SortStableFunc(s.Sandboxes, func(a, b SandboxStatus) int {
		return cmp.Or(cmp.Compare(b.Attempt, a.Attempt), b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	slices.SortStableFunc(s.Containers, func(a, b ContainerStatus) int {
		return cmp.Or(cmp.Compare(b.RestartCount, a.RestartCount), b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}
