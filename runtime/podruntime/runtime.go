package podruntime

import (
	"context"
	"fmt"
	"io"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// Runtime runs pods over a [runtime.Backend]. It is a [runtime.Runtime], and
// also a [runtime.Watcher], [runtime.Execer], [runtime.LogReader],
// [runtime.StatsProvider] and [runtime.Cleaner]; what of these needs a power
// that the backend lacks gives [runtime.ErrNotSupported]. Make one with [New].
type Runtime struct {
	cfg Config

	mu   sync.Mutex
	pods map[types.UID]*podState
}

var (
	_ runtime.Runtime       = (*Runtime)(nil)
	_ runtime.Watcher       = (*Runtime)(nil)
	_ runtime.Execer        = (*Runtime)(nil)
	_ runtime.LogReader     = (*Runtime)(nil)
	_ runtime.StatsProvider = (*Runtime)(nil)
	_ runtime.Cleaner       = (*Runtime)(nil)
)

// New makes a Runtime. It starts nothing and touches neither backend nor disk;
// an error names each field of the configuration that is wrong.
func New(cfg Config) (*Runtime, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Runtime{cfg: cfg, pods: make(map[types.UID]*podState)}, nil
}

// podState is what is remembered of one pod while it lives.
type podState struct{}

// SyncPod makes one pass over the pod: it carries out what [runtime.Plan]
// decides from pod and status.
//
//   - Containers that must go are stopped together; dead instances beyond the
//     newest of each name are removed with their logs.
//   - A sandbox that is missing, dead or wrong is made anew, with every
//     container in it.
//   - One plain init container is started a pass; it returns then, and the
//     pass after its exit goes on. Sidecars, and after them the regular
//     containers, are started together. An image is pulled first where its
//     policy asks for it.
//   - A container that waits for its back-off, or can't be started, is named
//     in the result with the kubelet's Reason and message, and does not hold
//     up the others. RetryAt is the earliest end of a back-off.
//
// Volumes are made before the first container; one that can't be made keeps
// the whole pod from starting, and is the error of the pass. A postStart hook
// is part of the start of its container.
//
// When the context ends, pulls and hooks are ended with it, no further
// container is started, and stops that were begun go on by themselves.
func (r *Runtime) SyncPod(ctx context.Context, req runtime.SyncRequest) (runtime.SyncResult, error) {
	return runtime.SyncResult{}, fmt.Errorf("sync pod: %w", runtime.ErrNotSupported)
}

// KillPod stops the pod's containers, all at once, then its sandboxes.
//
// Each container gets its Killing event, its preStop hook (never twice, however
// often KillPod is called), and then the rest of the grace to end by itself, but
// at least two seconds. A sidecar waits with its own end, not with its hook,
// until all regular containers and the sidecars after it have ended or have
// failed to. A pod of which only the runtime knows is stopped by what its
// labels and annotations say.
//
// A SyncPod in progress is cancelled, and what it still managed to start is
// stopped too. Cancelling the context ends the wait; the stopping goes on by
// itself, and ends soon after its deadline.
func (r *Runtime) KillPod(ctx context.Context, req runtime.KillRequest) error {
	return fmt.Errorf("kill pod: %w", runtime.ErrNotSupported)
}

// ListPods lists the pods of this owner: those with a sandbox or container in
// the backend, and those of which only folders are left under Root, whose
// namespace and name may be empty. It makes two list calls, whatever the number
// of pods. A pod's Revision is made of the identity and state of its sandboxes
// and containers.
func (r *Runtime) ListPods(ctx context.Context) ([]runtime.ListedPod, error) {
	return nil, fmt.Errorf("list pods: %w", runtime.ErrNotSupported)
}

// PodStatus reads one pod. What has vanished between list and read is left out.
// An instance that exited is read once, with its termination message, and then
// remembered as long as the backend keeps it.
func (r *Runtime) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	return nil, fmt.Errorf("pod status: %w", runtime.ErrNotSupported)
}

// Watch forwards the hints of a backend that is a [runtime.Watcher]; for
// another it returns [runtime.ErrNotSupported] at once.
func (r *Runtime) Watch(ctx context.Context, notify func(types.UID)) error {
	w, ok := r.cfg.Backend.(runtime.Watcher)
	if !ok {
		return fmt.Errorf("watch: backend: %w", runtime.ErrNotSupported)
	}
	return w.Watch(ctx, notify)
}

// Exec runs a command in a container of a backend that is a [runtime.Execer];
// for another it returns [runtime.ErrNotSupported].
func (r *Runtime) Exec(ctx context.Context, containerID string, command []string, eio runtime.ExecIO) (int, error) {
	x, ok := r.cfg.Backend.(runtime.Execer)
	if !ok {
		return 0, fmt.Errorf("exec in container %s: backend: %w", containerID, runtime.ErrNotSupported)
	}
	return x.Exec(ctx, containerID, command, eio)
}

// Logs opens the log of a container: through the backend where it is a
// [runtime.LogReader], otherwise the file at its log path, rotated ones
// before it. A container that the backend does not know is
// [runtime.ErrNotFound].
func (r *Runtime) Logs(ctx context.Context, containerID string, opts runtime.LogOptions) (io.ReadCloser, error) {
	return nil, fmt.Errorf("logs: %w", runtime.ErrNotSupported)
}

// PodStats gives what the backend measures, where it is a
// [runtime.StatsProvider], and adds the space that the pod's emptyDirs and logs
// take where the backend does not tell it.
func (r *Runtime) PodStats(ctx context.Context, uid types.UID) (*runtime.PodStats, error) {
	return nil, fmt.Errorf("pod stats: %w", runtime.ErrNotSupported)
}

// RemoveVolumes removes the pod's emptyDirs and what is in them; a hostPath is
// the host's and stays. It fails while a container of the pod runs.
func (r *Runtime) RemoveVolumes(ctx context.Context, uid types.UID) error {
	return fmt.Errorf("remove volumes: %w", runtime.ErrNotSupported)
}

// RemovePod removes the pod's containers and sandboxes, its logs and its
// folder, and forgets it. It fails while a container of the pod runs. A pod
// that is not known is no error.
func (r *Runtime) RemovePod(ctx context.Context, uid types.UID) error {
	return fmt.Errorf("remove pod: %w", runtime.ErrNotSupported)
}
