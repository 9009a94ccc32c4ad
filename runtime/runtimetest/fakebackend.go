package runtimetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// FakeBackend is a [runtime.Backend] in memory. Its sandboxes and containers
// have the states and refuse what the contract says; containers behave as their
// [Script] says. What a list may lack, it lacks: addresses, times but the time
// of creation, and exit data.
//
// It starts no goroutine, and an idle container owns no timer. Time is package
// time. All its methods may be called concurrently. It is a [runtime.Watcher],
// Execer and ContainerResizer.
//
// What it does not do: run anything, look at mounts, environment or images, enforce
// the resources that it notes, know init containers, or survive its process. So an
// init container without a command of [Script.Command] runs for ever, and its pod
// stays Pending. A container prints its script's Output at its start and nothing more.
type FakeBackend struct {
	cfg FakeBackendConfig

	mu         sync.Mutex
	sandboxes  map[string]*fakeSandbox
	containers map[string]*backendContainer
	pods       map[types.UID]*backendPod
	logs       map[string]string // by path
	count      int               // of all that was made, for IDs
	watchers   []*watcher        // replaced, never written to
}

var (
	_ runtime.Backend = (*FakeBackend)(nil)
	_ runtime.Watcher = (*FakeBackend)(nil)
	_ runtime.Execer  = (*FakeBackend)(nil)

	_ runtime.ContainerResizer = (*FakeBackend)(nil)
)

// FakeBackendConfig configures a [FakeBackend]. The zero value is usable.
type FakeBackendConfig struct {
	// Script chooses how containers behave; ByCommand by default.
	Script ScriptFunc
	// Limits are what it says that it can't do. NoGrace makes each stop a
	// kill, NoExec makes Exec give ErrNotSupported.
	Limits runtime.BackendLimits
	// WriteLogs makes containers write their Output to the file of their log,
	// whose folder must exist. Log gives it in any case.
	WriteLogs bool
}

// NewFakeBackend returns a backend without sandboxes.
func NewFakeBackend(cfg FakeBackendConfig) *FakeBackend {
	if cfg.Script == nil {
		cfg.Script = ByCommand
	}
	return &FakeBackend{
		cfg:        cfg,
		sandboxes:  map[string]*fakeSandbox{},
		containers: map[string]*backendContainer{},
		pods:       map[types.UID]*backendPod{},
		logs:       map[string]string{},
	}
}

// backendPod is what belongs to one pod, oldest first.
type backendPod struct {
	sandboxes  []*fakeSandbox
	containers []*backendContainer
}

type fakeSandbox struct {
	id      string
	cfg     runtime.SandboxConfig
	ready   bool
	address string
	created time.Time
}

type backendContainer struct {
	process
	id      string
	sandbox *fakeSandbox
	cfg     runtime.ContainerConfig
}

// Info implements [runtime.Backend].
func (b *FakeBackend) Info(ctx context.Context) (runtime.BackendInfo, error) {
	return runtime.BackendInfo{Name: "fake", Version: "1", Limits: b.cfg.Limits}, ctx.Err()
}

// CreateSandbox implements [runtime.Backend].
func (b *FakeBackend) CreateSandbox(ctx context.Context, cfg runtime.SandboxConfig) (id string, err error) {
	err = b.change(ctx, func() (types.UID, error) {
		pod := b.pods[cfg.UID]
		if pod == nil {
			pod = &backendPod{}
			b.pods[cfg.UID] = pod
		}
		for _, s := range pod.sandboxes {
			if s.cfg.Attempt == cfg.Attempt {
				return "", fmt.Errorf("attempt %d is reserved by sandbox %s", cfg.Attempt, s.id)
			}
		}
		b.count++
		s := &fakeSandbox{id: "sandbox-" + strconv.Itoa(b.count), cfg: cfg, ready: true, created: time.Now()}
		s.cfg.Labels, s.cfg.Annotations = maps.Clone(cfg.Labels), maps.Clone(cfg.Annotations)
		if !cfg.HostNetwork && !b.cfg.Limits.SharedNetwork {
			s.address = podAddress(b.count)
		}
		pod.sandboxes = append(pod.sandboxes, s)
		b.sandboxes[s.id] = s
		id = s.id
		return cfg.UID, nil
	})
	return id, wrap(err, "create sandbox of pod "+cfg.PodRef.String())
}

// StopSandbox implements [runtime.Backend].
func (b *FakeBackend) StopSandbox(ctx context.Context, id string) error {
	err := b.change(ctx, func() (types.UID, error) {
		s := b.sandboxes[id]
		if s == nil || !s.ready {
			return "", nil
		}
		s.ready, s.address = false, ""
		b.killIn(s)
		return s.cfg.UID, nil
	})
	return wrap(err, "stop sandbox "+id)
}

// RemoveSandbox implements [runtime.Backend].
func (b *FakeBackend) RemoveSandbox(ctx context.Context, id string) error {
	err := b.change(ctx, func() (types.UID, error) {
		s := b.sandboxes[id]
		if s == nil {
			return "", nil
		}
		b.killIn(s)
		pod := b.pods[s.cfg.UID]
		pod.containers = slices.DeleteFunc(pod.containers, func(c *backendContainer) bool {
			if c.sandbox == s {
				delete(b.containers, c.id)
			}
			return c.sandbox == s
		})
		pod.sandboxes = slices.DeleteFunc(pod.sandboxes, func(o *fakeSandbox) bool { return o == s })
		if len(pod.sandboxes) == 0 {
			delete(b.pods, s.cfg.UID)
		}
		delete(b.sandboxes, id)
		return s.cfg.UID, nil
	})
	return wrap(err, "remove sandbox "+id)
}

// killIn kills all that runs in a sandbox. The lock is held.
func (b *FakeBackend) killIn(s *fakeSandbox) {
	for _, c := range b.pods[s.cfg.UID].containers {
		if c.sandbox == s {
			c.end(time.Now(), exitKilled, reasonError)
		}
	}
}

// ListSandboxes implements [runtime.Backend]. They come newest first.
func (b *FakeBackend) ListSandboxes(ctx context.Context, f runtime.Filter) (list []runtime.Sandbox, err error) {
	err = b.read(ctx, func() error {
		for _, pod := range b.selected(f) {
			for _, s := range slices.Backward(pod.sandboxes) {
				item := s.describe()
				item.IPs = nil
				list = append(list, item)
			}
		}
		return nil
	})
	slices.SortStableFunc(list, func(x, y runtime.Sandbox) int { return y.CreatedAt.Compare(x.CreatedAt) })
	return list, wrap(err, "list sandboxes")
}

// SandboxStatus implements [runtime.Backend].
func (b *FakeBackend) SandboxStatus(ctx context.Context, id string) (st runtime.Sandbox, err error) {
	err = b.read(ctx, func() error {
		s := b.sandboxes[id]
		if s == nil {
			return runtime.ErrNotFound
		}
		st = s.describe()
		return nil
	})
	return st, wrap(err, "status of sandbox "+id)
}

// describe returns what may be told of a sandbox; the caller owns it.
func (s *fakeSandbox) describe() runtime.Sandbox {
	st := runtime.Sandbox{
		ID: s.id, PodRef: s.cfg.PodRef, Attempt: s.cfg.Attempt, Ready: s.ready,
		HostNetwork: s.cfg.HostNetwork, CreatedAt: s.created,
		Labels: maps.Clone(s.cfg.Labels), Annotations: maps.Clone(s.cfg.Annotations),
	}
	if s.address != "" {
		st.IPs = []string{s.address}
	}
	return st
}

// selected returns the pods that a filter selects, in order of UID. The lock is
// held.
func (b *FakeBackend) selected(f runtime.Filter) []*backendPod {
	if f.PodUID != "" {
		if pod := b.pods[f.PodUID]; pod != nil {
			return []*backendPod{pod}
		}
		return nil
	}
	pods := make([]*backendPod, 0, len(b.pods))
	for _, uid := range slices.Sorted(maps.Keys(b.pods)) {
		pods = append(pods, b.pods[uid])
	}
	return pods
}

// read runs what under the lock, unless the context has ended.
func (b *FakeBackend) read(ctx context.Context, what func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return what()
}

// change runs what under the lock, unless the context has ended, and tells the
// watchers of the pod that it changed, if any.
func (b *FakeBackend) change(ctx context.Context, what func() (types.UID, error)) error {
	var changed types.UID
	var watchers []*watcher
	err := b.read(ctx, func() (err error) {
		changed, err = what()
		watchers = b.watchers
		return err
	})
	if changed != "" {
		tell(watchers, changed)
	}
	return err
}

// wrap says what failed; nil stays nil.
func wrap(err error, what string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// podAddress gives the n-th pod address, of 10.0.0.0/8.
func podAddress(n int) string {
	return "10." + strconv.Itoa(n>>16&255) + "." + strconv.Itoa(n>>8&255) + "." + strconv.Itoa(n&255)
}
