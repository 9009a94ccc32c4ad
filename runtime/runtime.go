package runtime

import (
	"context"
	"errors"
	"io"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ErrNotFound is wrapped by errors about a pod, sandbox or container that the
// runtime does not know.
var ErrNotFound = errors.New("not found")

// ErrNotSupported is wrapped by errors of an optional power that this runtime
// does not have, or not for this object.
var ErrNotSupported = errors.New("not supported")

// Runtime runs whole pods. It is what the sync loop drives; a host implements
// it where its engine thinks in pods, and otherwise implements [Backend] and
// lets package podruntime make a Runtime of it.
//
// Calls for different pods come concurrently; calls for one pod come one after
// another, except that KillPod may overtake a SyncPod whose context was
// cancelled. All methods return soon after their context ends. What else a Runtime
// can do, see below, is asked of it at any time, also while it syncs or stops the
// pod: a probe execs while a hook runs, and Doing tells what a stop waits for. So
// no lock is held over a whole SyncPod or KillPod.
//
// Nobody has to know the kubelet's rules for it: SyncPod carries out what
// [Plan] decides from the request and a [Backoff] that it keeps a pod, KillPod
// stops in the order of [StopOrder].
//
// What a Runtime may do besides is found by type assertion: [Watcher],
// [Execer], [LogReader], [StatsProvider], [Cleaner], [Resizer], [Reporter]. The sync
// loop asks for Watcher, Cleaner, Resizer and Reporter; the others are for whom the
// host gives them to: package probe, package eviction, its own commands.
type Runtime interface {
	// SyncPod makes one pass that brings the pod's containers nearer to its
	// spec, and says what it did and when it wants to be called again. It is
	// called again after every change; a pass with nothing to do costs no
	// action. The error, if any, concerns the pod as a whole; what befell one
	// container is in the result, which is valid beside an error too. The sync
	// loop sends users no event of an error: it is the LastError of the loop's
	// view of the pod, and goes to its Hooks.PodWork and its log. An event is for
	// the Runtime to send.
	SyncPod(ctx context.Context, req SyncRequest) (SyncResult, error)

	// KillPod stops all containers and sandboxes of the pod and returns nil
	// once nothing of it runs: a sidecar after the containers that it serves,
	// see [StopOrder]. A pod that the runtime does not know is no error.
	// Stopped containers stay visible in PodStatus.
	//
	// Cancelling the context ends the wait, not the stopping. Called again,
	// at the same time or later, an earlier deadline moves the stop forward
	// and a later one changes nothing.
	KillPod(ctx context.Context, req KillRequest) error

	// ListPods lists every pod that this runtime keeps anything for: a running
	// container, a dead one, a folder. Pods that another agent owns are not
	// in it.
	ListPods(ctx context.Context) ([]ListedPod, error)

	// PodStatus reads one pod. For a pod that the runtime does not know it
	// returns a status with the UID alone, and no error.
	PodStatus(ctx context.Context, uid types.UID) (*PodStatus, error)
}

// SyncRequest is the input of [Runtime.SyncPod].
type SyncRequest struct {
	// Pod is the desired pod. Read-only.
	Pod *v1.Pod
	// Status was observed after the pod's last action. Read-only.
	Status *PodStatus
	// Probes are the verdicts that may kill a container. Read-only.
	Probes ProbeVerdicts
	// RestartAll is set while a RestartAllContainers rule is being carried
	// out for this pod.
	RestartAll bool
	// Ended names the regular containers that were said to have ended for good,
	// by their restart policy and rules. They are not started again, also where
	// the runtime has lost track of their instances. Read-only.
	Ended map[string]bool
}

// ProbeVerdicts are the published results of liveness and startup probes, by
// container ID. A container without an entry has no verdict yet.
type ProbeVerdicts struct {
	Liveness map[string]Verdict
	Startup  map[string]Verdict
}

// Verdict is the published result of a probe.
type Verdict string

// The verdicts of a probe.
const (
	VerdictSuccess Verdict = "success"
	VerdictFailure Verdict = "failure"
	VerdictUnknown Verdict = "unknown"
)

// SyncResult is the output of [Runtime.SyncPod].
type SyncResult struct {
	// Acted is set when the pass changed something, so that the status it was
	// given is out of date.
	Acted bool
	// Containers holds, for each container that the pass tried to start, was
	// kept from starting or started, how that went.
	Containers []StartResult
	// RetryAt is when the pass should be repeated although nothing changed,
	// for a back-off that ends; zero for no such time.
	RetryAt time.Time
}

// StartResult is the outcome of one wish to start a container. An empty Reason
// means that it was started.
type StartResult struct {
	Container string
	// Reason and Message go into the container's waiting state:
	// CrashLoopBackOff, ImagePullBackOff, ErrImagePull, RunContainerError …
	Reason  string
	Message string
}

// KillRequest is the input of [Runtime.KillPod].
type KillRequest struct {
	// Ref names the pod.
	Ref PodRef
	// Pod gives hooks, probes and container order. It is nil for a pod that
	// only the runtime knows.
	Pod *v1.Pod
	// Grace is how long containers may take to stop by themselves, hooks
	// included; at least a second.
	Grace time.Duration
	// Deadline is when what still runs is killed: the start of the stop plus
	// Grace. It is given beside Grace because a stop may be asked for again.
	Deadline time.Time
}

// ListedPod is one pod in a list.
type ListedPod struct {
	PodRef
	// Running is set while any container or sandbox of it may run.
	Running bool
	// Revision changes whenever the pod's status changes, so that a relist
	// need not read pods that did not. Its value means nothing else.
	Revision uint64
}

// Watcher is a Runtime or a Backend that tells when something changed. What it
// says is a hint: the sync loop reads the pod afterwards, and relists at a long
// interval all the same. Without it the sync loop relists every second.
type Watcher interface {
	// Watch calls notify for each pod that changed until the context ends. Once
	// it has begun to watch it calls notify with an empty UID, which says that
	// anything may have changed: what happened before nobody told.
	// notify does not block and may be called from several goroutines. An
	// error means that changes may have been missed; Watch is called again.
	Watch(ctx context.Context, notify func(types.UID)) error
}

// Execer runs commands inside containers.
type Execer interface {
	// Exec runs the command in the running container, by its ID as the
	// runtime gave it, and returns its exit code. A command that ran and
	// failed is no error. When the context ends, the command and all its
	// children are killed and the context's error is returned, wrapped.
	Exec(ctx context.Context, containerID string, command []string, io ExecIO) (exitCode int, err error)
}

// ExecIO are the streams of a command; nil ones are empty or discarded. Outputs are
// not written to any more once Exec has returned, each by one goroutine at a time.
type ExecIO struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// LogReader reads what a container wrote.
type LogReader interface {
	// Logs opens the log of a container, dead or alive, by its ID as the
	// runtime gave it. The caller closes it.
	Logs(ctx context.Context, containerID string, opts LogOptions) (io.ReadCloser, error)
}

// LogOptions select a part of a log. The zero value is all of it.
type LogOptions struct {
	// Follow keeps the stream open until the container ends or the context
	// does.
	Follow bool
	// TailLines limits the output to the last lines; zero or less is all.
	TailLines int
	// SinceTime leaves out older lines.
	SinceTime time.Time
	// Timestamps puts the time before each line, RFC 3339 with nanoseconds.
	Timestamps bool
}

// StatsProvider measures pods.
type StatsProvider interface {
	// PodStats measures one pod now. A pod without a running container gives
	// its disk usage alone; an unknown one ErrNotFound.
	PodStats(ctx context.Context, uid types.UID) (*PodStats, error)
}

// PodStats is what a pod uses. A nil number is not known, which differs from
// zero.
type PodStats struct {
	PodRef
	Time       time.Time
	Containers []ContainerStats
	Volumes    []VolumeStats
}

// ContainerStats is what one running container uses.
type ContainerStats struct {
	Name string
	// CPU is the time used since the container started.
	CPU *time.Duration
	// MemoryBytes is the working set: what can't be reclaimed under pressure.
	MemoryBytes *uint64
	// Processes is the number of processes and threads.
	Processes *uint64
	Logs      DiskStats
}

// VolumeStats is what one volume of a pod takes on disk.
type VolumeStats struct {
	Name string
	DiskStats
}

// DiskStats is space taken on disk.
type DiskStats struct {
	UsedBytes *uint64
	Inodes    *uint64
}

// ImagePuller fetches images. Without it an image's name is opaque: it is
// passed on, never pulled, and always counts as present.
type ImagePuller interface {
	// ImageRef returns what the name stands for on this node, or "" when the
	// image is absent.
	ImageRef(ctx context.Context, image string) (ref string, err error)
	// PullImage fetches the image, with a credential if there is one, and
	// returns what it stands for. An error does not repeat the credential.
	PullImage(ctx context.Context, image string, credential *Credential) (ref string, err error)
}

// Reporter is a Runtime that tells what it waits for, for people who ask why a pod
// hangs.
type Reporter interface {
	// Doing names what the runtime waits for now on behalf of a pod, oldest first;
	// nothing for a pod that is idle or not known. It does not block, and may be
	// called at any time from any goroutine: it is for the moments in which
	// another call for the pod hangs. The caller owns the slice.
	Doing(uid types.UID) []Doing
}

// Doing is something that a Runtime waits for.
type Doing struct {
	// What is in words that follow "it waits for": "the preStop hook of main". It
	// holds no secrets.
	What  string    `json:"what"`
	Since time.Time `json:"since"`
}

// Cleaner removes what a runtime keeps for pods that ended. Without it, dead
// pods are the runtime's own affair.
type Cleaner interface {
	// RemoveVolumes removes the pod's volumes. It fails while a container of
	// the pod runs.
	RemoveVolumes(ctx context.Context, uid types.UID) error
	// RemovePod removes all that is kept for the pod: dead containers,
	// sandboxes, logs, folders. It fails while a container of the pod runs.
	// A pod that is not known is no error.
	RemovePod(ctx context.Context, uid types.UID) error
}
