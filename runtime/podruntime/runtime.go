package podruntime

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// Runtime runs pods over a [runtime.Backend]. It is a [runtime.Runtime], and
// also a [runtime.Watcher], [runtime.Execer], [runtime.LogReader],
// [runtime.StatsProvider], [runtime.Resizer], [runtime.Reporter] and [runtime.Cleaner];
// what of these needs a power that the backend lacks gives [runtime.ErrNotSupported].
// Make one with [New].
type Runtime struct {
	cfg    Config
	layout layout
	http   *http.Client // for hooks

	mu   sync.Mutex
	pods map[types.UID]*podState // of pods that are alive, or being killed
}

var (
	_ runtime.Runtime       = (*Runtime)(nil)
	_ runtime.Watcher       = (*Runtime)(nil)
	_ runtime.Execer        = (*Runtime)(nil)
	_ runtime.LogReader     = (*Runtime)(nil)
	_ runtime.StatsProvider = (*Runtime)(nil)
	_ runtime.Cleaner       = (*Runtime)(nil)
	_ runtime.Resizer       = (*Runtime)(nil)
	_ runtime.Reporter      = (*Runtime)(nil)
)

// New makes a Runtime. It starts nothing and touches neither backend nor disk;
// an error names each field of the configuration that is wrong.
func New(cfg Config) (*Runtime, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Runtime{
		cfg:    cfg,
		layout: layout{root: filepath.Clean(cfg.Root)},
		http:   hookClient(),
		pods:   make(map[types.UID]*podState),
	}, nil
}

// Watch forwards the hints of a backend that is a [runtime.Watcher]; for
// another it returns [runtime.ErrNotSupported] at once.
//
// With Objects that are an [ObjectWatcher] it also gives a hint for each pod that
// a changed object concerns: the pass that follows brings the pod's volumes up to
// date, and tries again what could not start for want of the object.
func (r *Runtime) Watch(ctx context.Context, notify func(types.UID)) error {
	w, ok := r.cfg.Backend.(runtime.Watcher)
	if !ok {
		return fmt.Errorf("watch: backend: %w", runtime.ErrNotSupported)
	}
	if objects, ok := r.cfg.Objects.(ObjectWatcher); ok {
		inner, cancel := context.WithCancel(ctx)
		var watching sync.WaitGroup
		watching.Go(func() { r.watchObjects(inner, objects, notify) })
		defer watching.Wait()
		defer cancel()
	}
	return w.Watch(ctx, notify)
}

func (r *Runtime) watchObjects(ctx context.Context, objects ObjectWatcher, notify func(types.UID)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-objects.Changed():
		}
		for _, uid := range objects.Take() {
			if s := r.known(uid); s != nil {
				s.releaseHolds()
			}
			notify(uid)
		}
	}
}

// Exec runs a command in a container of a backend that is a [runtime.Execer];
// for another it returns [runtime.ErrNotSupported].
func (r *Runtime) Exec(ctx context.Context, containerID string, command []string, streams runtime.ExecIO) (int, error) {
	x, ok := r.cfg.Backend.(runtime.Execer)
	if !ok {
		return 0, fmt.Errorf("exec in container %s: backend: %w", containerID, runtime.ErrNotSupported)
	}
	return x.Exec(ctx, containerID, command, streams)
}
