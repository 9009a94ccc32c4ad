package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kubeparts/kubeparts/runtime"
)

// Program is what a container runs: a Go function that ends with an exit code,
// and soon when its context does.
type Program func(ctx context.Context, cfg runtime.ContainerConfig) (exitCode int)

// container is one run of a program.
type container struct {
	runtime.Container
	cfg  runtime.ContainerConfig
	stop context.CancelFunc
	done chan struct{} // closed once it has ended
}

// copySandbox and copyContainer make what may be handed out: maps and slices of a
// caller's own.
func copySandbox(s runtime.Sandbox) runtime.Sandbox {
	s.IPs, s.Labels, s.Annotations = slices.Clone(s.IPs), maps.Clone(s.Labels), maps.Clone(s.Annotations)
	return s
}

func copyContainer(c runtime.Container) runtime.Container {
	c.Labels, c.Annotations = maps.Clone(c.Labels), maps.Clone(c.Annotations)
	return c
}

// end asks the program to end and waits for that.
func (c *container) end(ctx context.Context) error {
	c.stop()
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// NewBackend returns a backend that knows these programs, by image name.
func NewBackend(programs map[string]Program) *Backend {
	return &Backend{programs: programs, sandboxes: map[string]runtime.Sandbox{}, containers: map[string]*container{}}
}

// programs are the images of this example.
var programs = map[string]Program{
	// greet says hello and succeeds.
	"greet": func(_ context.Context, cfg runtime.ContainerConfig) int {
		fmt.Println("hello from container", cfg.Name)
		return 0
	},
	// flaky fails on its first run.
	"flaky": func(_ context.Context, cfg runtime.ContainerConfig) int {
		if cfg.Attempt == 0 {
			return 1
		}
		return 0
	},
	// tick runs until it is stopped.
	"tick": func(ctx context.Context, _ runtime.ContainerConfig) int {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return 0
			}
		}
	},
}
