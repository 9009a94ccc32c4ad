package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// CreateContainer implements [runtime.Backend].
func (b *FakeBackend) CreateContainer(ctx context.Context, sandboxID string, cfg runtime.ContainerConfig) (id string, err error) {
	err = b.change(ctx, func() (types.UID, error) {
		s := b.sandboxes[sandboxID]
		if s == nil {
			return "", fmt.Errorf("sandbox %s: %w", sandboxID, runtime.ErrNotFound)
		}
		if !s.ready {
			return "", fmt.Errorf("sandbox %s is not ready", sandboxID)
		}
		pod := b.pods[s.cfg.UID]
		for _, c := range pod.containers {
			if c.cfg.Name == cfg.Name && c.cfg.Attempt == cfg.Attempt {
				return "", fmt.Errorf("attempt %d is reserved by container %s", cfg.Attempt, c.id)
			}
		}
		b.count++
		c := &backendContainer{
			process: process{state: runtime.StateCreated, created: time.Now()},
			id:      "container-" + strconv.Itoa(b.count), sandbox: s, cfg: cfg,
		}
		c.cfg.Labels, c.cfg.Annotations = maps.Clone(cfg.Labels), maps.Clone(cfg.Annotations)
		pod.containers = append(pod.containers, c)
		b.containers[c.id] = c
		id = c.id
		return s.cfg.UID, nil
	})
	return id, wrap(err, "create container "+cfg.Name)
}

// StartContainer implements [runtime.Backend].
func (b *FakeBackend) StartContainer(ctx context.Context, id string) error {
	var script Script
	var cfg runtime.ContainerConfig
	var pod runtime.PodRef
	err := b.read(ctx, func() error {
		c, err := b.startable(id)
		if err == nil {
			cfg, pod = c.cfg, c.sandbox.cfg.PodRef
		}
		return err
	})
	if err == nil {
		script = b.cfg.Script(Instance{
			Pod: pod, Container: cfg.Name, Image: cfg.Image, Command: cfg.Command, Args: cfg.Args,
			Attempt: cfg.Attempt, Config: &cfg,
		})
		err = Wait(ctx, script.StartDelay)
	}
	if err == nil {
		err = script.StartError
	}
	if err == nil && b.cfg.WriteLogs && script.Output != "" {
		err = appendFile(cfg.LogPath, logLines(script.Output, time.Now()))
	}
	if err == nil {
		err = b.change(ctx, func() (types.UID, error) {
			c, err := b.startable(id)
			if err != nil {
				return "", err
			}
			now := time.Now()
			c.script = script
			b.logs[cfg.LogPath] += logLines(script.Output, now)
			c.start(now, b.ender(c))
			return pod.UID, nil
		})
	}
	return wrap(err, "start container "+id)
}

// startable returns a container that may be started. The lock is held.
func (b *FakeBackend) startable(id string) (*backendContainer, error) {
	c := b.containers[id]
	switch {
	case c == nil:
		return nil, runtime.ErrNotFound
	case c.state != runtime.StateCreated:
		return nil, errors.New("it was started before")
	case !c.sandbox.ready:
		return nil, fmt.Errorf("sandbox %s is not ready", c.sandbox.id)
	}
	return c, nil
}

// ender returns what a container's timers call.
func (b *FakeBackend) ender(c *backendContainer) fire {
	return func(code int32, reason string) {
		_ = b.change(context.Background(), func() (types.UID, error) {
			if !c.end(time.Now(), code, reason) {
				return "", nil
			}
			return c.sandbox.cfg.UID, nil
		})
	}
}

// StopContainer implements [runtime.Backend].
func (b *FakeBackend) StopContainer(ctx context.Context, id string, grace time.Duration) error {
	if b.cfg.Limits.NoGrace {
		grace = 0
	}
	var ended <-chan struct{} = closed
	err := b.change(ctx, func() (types.UID, error) {
		c := b.containers[id]
		if c == nil || !c.mayRun() {
			return "", nil
		}
		now := time.Now()
		if c.state == runtime.StateUnknown || grace <= 0 {
			c.end(now, exitKilled, reasonError)
		} else {
			c.term(now, b.ender(c))
			c.killBy(now, now.Add(grace), b.ender(c))
		}
		ended = c.wait()
		return c.sandbox.cfg.UID, nil
	})
	if err == nil {
		select {
		case <-ended:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return wrap(err, "stop container "+id)
}

// RemoveContainer implements [runtime.Backend].
func (b *FakeBackend) RemoveContainer(ctx context.Context, id string) error {
	err := b.change(ctx, func() (types.UID, error) {
		c := b.containers[id]
		if c == nil {
			return "", nil
		}
		c.end(time.Now(), exitKilled, reasonError)
		pod := b.pods[c.sandbox.cfg.UID]
		pod.containers = slices.DeleteFunc(pod.containers, func(o *backendContainer) bool { return o == c })
		delete(b.containers, id)
		return c.sandbox.cfg.UID, nil
	})
	return wrap(err, "remove container "+id)
}

// ListContainers implements [runtime.Backend]. They come newest first.
func (b *FakeBackend) ListContainers(ctx context.Context, f runtime.Filter) (list []runtime.Container, err error) {
	err = b.read(ctx, func() error {
		for _, pod := range b.selected(f) {
			for _, c := range slices.Backward(pod.containers) {
				item := c.describe()
				item.StartedAt, item.FinishedAt = time.Time{}, time.Time{}
				item.ExitCode, item.Reason, item.Message = 0, "", ""
				list = append(list, item)
			}
		}
		return nil
	})
	slices.SortStableFunc(list, func(x, y runtime.Container) int { return y.CreatedAt.Compare(x.CreatedAt) })
	return list, wrap(err, "list containers")
}

// ContainerStatus implements [runtime.Backend].
func (b *FakeBackend) ContainerStatus(ctx context.Context, id string) (st runtime.Container, err error) {
	err = b.read(ctx, func() error {
		c := b.containers[id]
		if c == nil {
			return runtime.ErrNotFound
		}
		st = c.describe()
		return nil
	})
	return st, wrap(err, "status of container "+id)
}

// ResizeContainer implements [runtime.ContainerResizer].
func (b *FakeBackend) ResizeContainer(ctx context.Context, id string, resources v1.ResourceRequirements) error {
	err := b.change(ctx, func() (types.UID, error) {
		c := b.containers[id]
		if c == nil {
			return "", runtime.ErrNotFound
		}
		if c.state != runtime.StateRunning {
			return "", fmt.Errorf("it is %s", c.state)
		}
		c.cfg.Resources = resources
		return c.sandbox.cfg.UID, nil
	})
	return wrap(err, "resize container "+id)
}

// describe returns what may be told of a container; the caller owns it.
func (c *backendContainer) describe() runtime.Container {
	imageRef := c.cfg.ImageRef
	if imageRef == "" {
		imageRef = c.cfg.Image
	}
	resources := runtime.Resizable(c.cfg.Resources)
	return runtime.Container{
		Resources: &resources,
		ID:        c.id, SandboxID: c.sandbox.id, PodUID: c.sandbox.cfg.UID, Name: c.cfg.Name, Attempt: c.cfg.Attempt,
		State: c.state, CreatedAt: c.created, StartedAt: c.started, FinishedAt: c.finished,
		ExitCode: c.code, Reason: c.reason, Message: c.message,
		Image: c.cfg.Image, ImageRef: imageRef, LogPath: c.cfg.LogPath,
		Labels: maps.Clone(c.cfg.Labels), Annotations: maps.Clone(c.cfg.Annotations),
	}
}

// Log returns what was logged to a path, in the CRI's line format. It outlives
// the container.
func (b *FakeBackend) Log(path string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.logs[path]
}

// logLines puts a text into the CRI's line format.
func logLines(text string, now time.Time) string {
	var log strings.Builder
	for line := range strings.Lines(text) {
		fmt.Fprintf(&log, "%s stdout F %s\n", now.Format(time.RFC3339Nano), strings.TrimSuffix(line, "\n"))
	}
	return log.String()
}

func appendFile(path, text string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}
