package podruntime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// PodStatus reads one pod. What has vanished between list and read is left out.
// An instance that exited is read once, with its termination message, and then
// remembered as long as the backend keeps it.
func (r *Runtime) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	st, err := r.podStatus(ctx, uid)
	if err != nil {
		return nil, fmt.Errorf("status of pod %s: %w", uid, err)
	}
	return st, nil
}

func (r *Runtime) podStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	observed := time.Now()
	seen, err := r.read(ctx, uid)
	if err != nil {
		return nil, err
	}
	st := &runtime.PodStatus{PodRef: seen.ref, ObservedAt: observed}
	for i := range seen.sandboxes {
		s, err := r.cfg.Backend.SandboxStatus(ctx, seen.sandboxes[i].ID)
		if errors.Is(err, runtime.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		st.Sandboxes = append(st.Sandboxes, sandboxStatus(&s))
	}
	remembered := r.exitedOf(uid)
	exited := make(map[string]runtime.ContainerStatus)
	for i := range seen.containers {
		id := seen.containers[i].ID
		c, ok := remembered[id]
		if !ok {
			full, err := r.cfg.Backend.ContainerStatus(ctx, id)
			if errors.Is(err, runtime.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			c = containerStatus(&full)
			c.Resources = r.resourcesNow(&full)
			if c.State == runtime.StateExited {
				c.Message = r.layout.exitMessage(&full)
			}
		}
		if c.State == runtime.StateExited {
			exited[id] = c
		}
		st.Containers = append(st.Containers, c)
	}
	r.rememberExited(uid, exited)
	st.Sort()
	if len(st.Sandboxes) > 0 && st.Sandboxes[0].Ready {
		st.IPs = st.Sandboxes[0].IPs
	}
	return st, nil
}

// exitedOf returns the instances that are remembered; read-only.
func (r *Runtime) exitedOf(uid types.UID) map[string]runtime.ContainerStatus {
	s := r.known(uid)
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exited
}

// rememberExited replaces the instances that are remembered. A pod that nothing
// else is remembered of gets no state for having none.
func (r *Runtime) rememberExited(uid types.UID, exited map[string]runtime.ContainerStatus) {
	s := r.known(uid)
	if s == nil {
		if len(exited) == 0 {
			return
		}
		s = r.state(uid)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exited = exited
}
