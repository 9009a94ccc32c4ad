package podruntime

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// CanResize tells whether the backend is a [runtime.ContainerResizer].
func (r *Runtime) CanResize() bool {
	_, ok := r.cfg.Backend.(runtime.ContainerResizer)
	return ok
}

// resize gives running containers other resources, up to the first that can't be.
// One that ended meanwhile needs none.
func (p *pass) resize(ctx context.Context, steps []runtime.Resize) error {
	for _, step := range steps {
		resizer, ok := p.cfg.Backend.(runtime.ContainerResizer)
		if !ok {
			return &runtime.ResizeError{Container: step.Name, Err: runtime.ErrNotSupported}
		}
		err := resizer.ResizeContainer(ctx, step.ID, step.Resources)
		if errors.Is(err, runtime.ErrNotFound) {
			continue
		}
		if err != nil {
			return &runtime.ResizeError{Container: step.Name, Err: err}
		}
		p.acted()
		p.state.resize(step.ID, step.Resources)
	}
	return nil
}

// resize remembers what a container was given, for a backend that does not tell.
func (s *podState) resize(id string, resources v1.ResourceRequirements) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resized == nil {
		s.resized = make(map[string]v1.ResourceRequirements)
	}
	s.resized[id] = resources
}

// resourcesNow are the resources that a container has: what the backend says, or
// else what it was given last, by this agent or at its start. After a restart of
// the agent the latter may be what it had before a resize, which is then carried
// out once more.
func (r *Runtime) resourcesNow(c *runtime.Container) *v1.ResourceRequirements {
	if c.Resources != nil {
		return c.Resources
	}
	if s := r.known(c.PodUID); s != nil {
		s.mu.Lock()
		given, ok := s.resized[c.ID]
		s.mu.Unlock()
		if ok {
			return &given
		}
	}
	return resourcesOf(c)
}
