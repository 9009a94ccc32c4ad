package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/kubeparts/kubeparts/runtime"
)

// Backend runs containers that are Go functions, chosen by the image's name.
// They live in this process and end with it.
type Backend struct {
	programs   map[string]Program
	mu         sync.Mutex
	sandboxes  map[string]runtime.Sandbox
	containers map[string]*container
}

func (b *Backend) lock() (unlock func()) { b.mu.Lock(); return b.mu.Unlock }

func (b *Backend) Info(context.Context) (runtime.BackendInfo, error) {
	return runtime.BackendInfo{Name: "gofunc", Limits: runtime.BackendLimits{DiesWithAgent: true, NoExec: true, NoGrace: true, SharedNetwork: true, SharedFiles: true}}, nil
}

func (b *Backend) CreateSandbox(_ context.Context, cfg runtime.SandboxConfig) (string, error) {
	defer b.lock()()
	id := fmt.Sprintf("%s-%d", cfg.UID, cfg.Attempt)
	if _, taken := b.sandboxes[id]; taken {
		return "", fmt.Errorf("sandbox %s exists", id)
	}
	b.sandboxes[id] = runtime.Sandbox{ID: id, PodRef: cfg.PodRef, Attempt: cfg.Attempt, Ready: true, IPs: []string{"127.0.0.1"},
		HostNetwork: cfg.HostNetwork, CreatedAt: time.Now(), Labels: maps.Clone(cfg.Labels), Annotations: maps.Clone(cfg.Annotations)}
	return id, nil
}

func (b *Backend) StopSandbox(ctx context.Context, id string) (err error) {
	all, _ := b.ListContainers(ctx, runtime.Filter{})
	for _, c := range all {
		if c.SandboxID == id {
			err = errors.Join(err, b.StopContainer(ctx, c.ID, 0))
		}
	}
	defer b.lock()()
	if s, ok := b.sandboxes[id]; ok {
		s.Ready, s.IPs = false, nil
		b.sandboxes[id] = s
	}
	return err
}

func (b *Backend) RemoveSandbox(ctx context.Context, id string) error {
	err := b.StopSandbox(ctx, id)
	defer b.lock()()
	maps.DeleteFunc(b.containers, func(_ string, c *container) bool { return c.SandboxID == id })
	delete(b.sandboxes, id)
	return err
}

func (b *Backend) ListSandboxes(_ context.Context, f runtime.Filter) (list []runtime.Sandbox, _ error) {
	defer b.lock()()
	for _, s := range b.sandboxes {
		if f.PodUID == "" || s.UID == f.PodUID {
			list = append(list, copySandbox(s))
		}
	}
	return list, nil
}

func (b *Backend) SandboxStatus(_ context.Context, id string) (runtime.Sandbox, error) {
	defer b.lock()()
	if s, ok := b.sandboxes[id]; ok {
		return copySandbox(s), nil
	}
	return runtime.Sandbox{}, fmt.Errorf("sandbox %s: %w", id, runtime.ErrNotFound)
}

func (b *Backend) CreateContainer(_ context.Context, sandbox string, cfg runtime.ContainerConfig) (string, error) {
	defer b.lock()()
	s, id := b.sandboxes[sandbox], fmt.Sprintf("%s-%s-%d", sandbox, cfg.Name, cfg.Attempt)
	if b.containers[id] != nil || !s.Ready {
		return "", fmt.Errorf("a ready sandbox that does not have container %s yet: %w", id, runtime.ErrNotFound)
	}
	b.containers[id] = &container{cfg: cfg, done: make(chan struct{}), Container: runtime.Container{ID: id, SandboxID: sandbox,
		PodUID: s.UID, Name: cfg.Name, Attempt: cfg.Attempt, State: runtime.StateCreated, CreatedAt: time.Now(), Image: cfg.Image,
		LogPath: cfg.LogPath, Labels: maps.Clone(cfg.Labels), Annotations: maps.Clone(cfg.Annotations)}}
	return id, nil
}

func (b *Backend) StartContainer(_ context.Context, id string) error {
	defer b.lock()()
	c := b.containers[id]
	if c == nil || c.State != runtime.StateCreated || !b.sandboxes[c.SandboxID].Ready || b.programs[c.Image] == nil {
		return fmt.Errorf("container %s, new in a ready sandbox and of a known program: %w", id, runtime.ErrNotFound)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.State, c.StartedAt, c.stop = runtime.StateRunning, time.Now(), cancel
	go func() {
		code := b.programs[c.Image](ctx, c.cfg)
		defer b.lock()()
		c.State, c.FinishedAt, c.ExitCode = runtime.StateExited, time.Now(), int32(code)
		c.Reason = map[bool]string{true: "Completed", false: "Error"}[code == 0]
		cancel()
		close(c.done)
	}()
	return nil
}

func (b *Backend) StopContainer(ctx context.Context, id string, _ time.Duration) error {
	unlock := b.lock()
	c := b.containers[id]
	running := c != nil && c.State == runtime.StateRunning
	unlock()
	if !running {
		return nil
	}
	return c.end(ctx)
}

func (b *Backend) RemoveContainer(ctx context.Context, id string) error {
	err := b.StopContainer(ctx, id, 0)
	defer b.lock()()
	delete(b.containers, id)
	return err
}

func (b *Backend) ListContainers(_ context.Context, f runtime.Filter) (list []runtime.Container, _ error) {
	defer b.lock()()
	for _, c := range b.containers {
		if f.PodUID == "" || c.PodUID == f.PodUID {
			list = append(list, copyContainer(c.Container))
		}
	}
	return list, nil
}

func (b *Backend) ContainerStatus(_ context.Context, id string) (runtime.Container, error) {
	defer b.lock()()
	if c := b.containers[id]; c != nil {
		return copyContainer(c.Container), nil
	}
	return runtime.Container{}, fmt.Errorf("container %s: %w", id, runtime.ErrNotFound)
}
