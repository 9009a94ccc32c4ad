package runtime

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Backend makes sandboxes and containers. It is cut along the CRI, so that
// containerd, a WASM engine, a VM monitor or systemd fits under it, and so that
// each method has an obvious counterpart there. Package podruntime turns any
// Backend into a [Runtime] and does what every pod needs whatever its backend:
// order, restarts, back-off, environment, volumes, hooks, logs, images.
//
// The life of a pod, in calls:
//
//	CreateSandbox ─▶ CreateContainer ─▶ StartContainer ─▶ (exits by itself)
//	                                          │                │
//	                                          └▶ StopContainer ┤
//	                                                           ▼
//	RemoveSandbox ◀─ StopSandbox ◀──────────────── RemoveContainer
//
// A Backend is safe for concurrent use. Calls for different pods are
// independent of each other; one that is slow delays no other. Stop and Remove
// are idempotent: a thing that is stopped, or gone, is no error. Labels and
// annotations come back unmodified. Maps and slices that go in or come out are
// the caller's, who may change them: a Backend clones what it keeps.
type Backend interface {
	// Info says what this backend is and what it can't do. (CRI: Version and
	// Status.) An error means that it can't run pods now.
	Info(ctx context.Context) (BackendInfo, error)

	// CreateSandbox makes and starts the place that the containers of a pod
	// share. A second one for the same UID and attempt is refused.
	// (RunPodSandbox)
	CreateSandbox(ctx context.Context, cfg SandboxConfig) (id string, err error)
	// StopSandbox kills what still runs in it and frees its network.
	// (StopPodSandbox)
	StopSandbox(ctx context.Context, id string) error
	// RemoveSandbox removes it and every container in it; a running one is
	// killed first. (RemovePodSandbox)
	RemoveSandbox(ctx context.Context, id string) error
	// ListSandboxes lists the sandboxes that the filter selects. Items may lack
	// what costs a further call: IPs. (ListPodSandbox)
	ListSandboxes(ctx context.Context, f Filter) ([]Sandbox, error)
	// SandboxStatus reads one whole; ErrNotFound when it is gone.
	// (PodSandboxStatus)
	SandboxStatus(ctx context.Context, id string) (Sandbox, error)

	// CreateContainer makes a container in a ready sandbox, without starting
	// it. A second one of the same name and attempt is refused.
	// (CreateContainer)
	CreateContainer(ctx context.Context, sandboxID string, cfg ContainerConfig) (id string, err error)
	// StartContainer starts a container that was created. (StartContainer)
	StartContainer(ctx context.Context, id string) error
	// StopContainer asks the container to end, kills all of it once grace is
	// over, and returns when it ended. A grace of zero kills at once. When the
	// context ends first, the stop goes on by itself; called again with a
	// shorter grace, the shorter one holds. (StopContainer)
	StopContainer(ctx context.Context, id string, grace time.Duration) error
	// RemoveContainer removes a container; a running one is killed first. Its
	// log stays, for the caller to remove. (RemoveContainer)
	RemoveContainer(ctx context.Context, id string) error
	// ListContainers lists the containers that the filter selects, in every
	// state. Items may lack what costs a further call: times, exit data.
	// (ListContainers)
	ListContainers(ctx context.Context, f Filter) ([]Container, error)
	// ContainerStatus reads one whole; ErrNotFound when it is gone.
	// (ContainerStatus)
	ContainerStatus(ctx context.Context, id string) (Container, error)
}

// BackendInfo describes a [Backend].
type BackendInfo struct {
	// Name is the type in container IDs of the API: "process" gives
	// process://ID, where the host gives it to the sync loop too (its
	// Config.RuntimeName).
	Name    string
	Version string
	// Limits are what the backend can't do; the zero value can do all.
	Limits BackendLimits
}

// BackendLimits are what a backend can't do. The conformance suite skips the
// rules that a limit makes void, and prints each.
type BackendLimits struct {
	// DiesWithAgent: containers end when the agent ends.
	DiesWithAgent bool
	// NoExec: it is no Execer, or Exec gives ErrNotSupported.
	NoExec bool
	// NoGrace: a stop is a kill; containers can't end by themselves on
	// request.
	NoGrace bool
	// SharedNetwork: all pods share the node's network, so that container
	// ports are host ports and each pod has the node's address.
	SharedNetwork bool
	// SharedFiles: containers see the node's files where they are, so that what
	// other users must not read has to be closed to them.
	SharedFiles bool
}

// Filter selects sandboxes or containers. The zero value selects all.
type Filter struct {
	// PodUID selects those of one pod.
	PodUID types.UID
}

// SandboxConfig is all that a backend is told about a sandbox.
type SandboxConfig struct {
	PodRef
	Attempt     uint32
	Hostname    string
	HostNetwork bool
	// LogDir is the folder that log paths of its containers are in.
	LogDir      string
	Ports       []v1.ContainerPort
	Labels      map[string]string
	Annotations map[string]string
	// SecurityContext of the pod, never nil.
	SecurityContext *v1.PodSecurityContext
}

// Sandbox is what a backend says of a sandbox.
type Sandbox struct {
	ID string
	PodRef
	Attempt     uint32
	Ready       bool
	IPs         []string
	HostNetwork bool
	CreatedAt   time.Time
	Labels      map[string]string
	Annotations map[string]string
}

// ContainerConfig is all that a backend is told about a container: everything
// is resolved, nothing refers to the pod.
type ContainerConfig struct {
	Name    string
	Attempt uint32
	// Image as the spec names it; ImageRef is what a puller resolved it to.
	Image    string
	ImageRef string
	// Command and Args are expanded; nil Command means the image's own.
	Command    []string
	Args       []string
	WorkingDir string
	// Env in the order of definition; names are unique.
	Env    []EnvVar
	Mounts []Mount
	// LogPath is the absolute path of the log, in the CRI's line format.
	LogPath     string
	Labels      map[string]string
	Annotations map[string]string
	Resources   v1.ResourceRequirements
	// SecurityContext is the container's laid over the pod's, never nil.
	SecurityContext *v1.SecurityContext
	Stdin, TTY      bool
	// StopSignal is a name such as SIGTERM, "" for the default.
	StopSignal string
}

// EnvVar is one variable of a container's environment. Its value may be a
// secret: a backend does not log it, nor keep it on disk.
type EnvVar struct{ Name, Value string }

// Mount puts a file or folder of the host into a container.
type Mount struct {
	// Name of the volume in the pod's spec; several mounts may share it.
	Name          string
	HostPath      string
	ContainerPath string
	ReadOnly      bool
}

// Container is what a backend says of a container.
type Container struct {
	ID        string
	SandboxID string
	PodUID    types.UID
	Name      string
	Attempt   uint32
	State     State

	CreatedAt  time.Time
	StartedAt  time.Time
	FinishedAt time.Time

	ExitCode int32
	Reason   string // Completed, Error, OOMKilled, or the backend's own
	Message  string

	Image       string
	ImageRef    string
	LogPath     string
	Labels      map[string]string
	Annotations map[string]string
	// Resources are the cpu and memory that it has now, where the backend
	// knows; nil otherwise.
	Resources *v1.ResourceRequirements
}
