package podruntime

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// observation is what the lists of the backend say of one pod of this owner.
type observation struct {
	ref        runtime.PodRef
	sandboxes  []runtime.Sandbox
	containers []runtime.Container
}

// read lists one pod.
func (r *Runtime) read(ctx context.Context, uid types.UID) (*observation, error) {
	o := &observation{ref: runtime.PodRef{UID: uid}}
	if uid == "" {
		return o, nil // as a filter it would select every pod
	}
	filter := runtime.Filter{PodUID: uid}
	containers, err := r.cfg.Backend.ListContainers(ctx, filter)
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	sandboxes, err := r.cfg.Backend.ListSandboxes(ctx, filter)
	if err != nil {
		return nil, fmt.Errorf("list sandboxes: %w", err)
	}
	for _, s := range sandboxes {
		if s.UID == uid && r.owns(s.Labels) {
			o.ref = refByLabels(s.PodRef, s.Labels)
			o.sandboxes = append(o.sandboxes, s)
		}
	}
	for i := range containers {
		c := &containers[i]
		if c.PodUID == uid && r.owns(c.Labels) {
			if o.ref.Name == "" {
				o.ref = refOf(c)
			}
			o.containers = append(o.containers, *c)
		}
	}
	return o, nil
}

func (r *Runtime) owns(labels map[string]string) bool { return labels[OwnerLabel] == r.cfg.Owner }

// container returns the container of an ID; one that is not there is empty.
func (o *observation) container(id string) *runtime.Container {
	for i := range o.containers {
		if o.containers[i].ID == id {
			return &o.containers[i]
		}
	}
	return &runtime.Container{ID: id, PodUID: o.ref.UID}
}

func (o *observation) sandboxIDs() []string {
	ids := make([]string, len(o.sandboxes))
	for i := range o.sandboxes {
		ids[i] = o.sandboxes[i].ID
	}
	return ids
}

// running tells whether any container may run.
func (o *observation) running() bool {
	for i := range o.containers {
		if s := o.containers[i].State; s == runtime.StateRunning || s == runtime.StateUnknown {
			return true
		}
	}
	return false
}

// status is as much of a status as lists can tell: no times, no exits.
func (o *observation) status() *runtime.PodStatus {
	st := &runtime.PodStatus{PodRef: o.ref}
	for i := range o.sandboxes {
		st.Sandboxes = append(st.Sandboxes, sandboxStatus(&o.sandboxes[i]))
	}
	for i := range o.containers {
		st.Containers = append(st.Containers, containerStatus(&o.containers[i]))
	}
	st.Sort()
	return st
}

func sandboxStatus(s *runtime.Sandbox) runtime.SandboxStatus {
	return runtime.SandboxStatus{
		ID: s.ID, Attempt: s.Attempt, Ready: s.Ready, IPs: s.IPs,
		HostNetwork: s.HostNetwork, CreatedAt: s.CreatedAt,
	}
}

// containerStatus converts what a backend says of a container. How it ended is
// taken for one that ended alone.
func containerStatus(c *runtime.Container) runtime.ContainerStatus {
	st := runtime.ContainerStatus{
		ID: c.ID, Name: c.Name, SandboxID: c.SandboxID, State: c.State, CreatedAt: c.CreatedAt,
		RestartCount: restartCountOf(c), Hash: hashOf(c), Image: c.Image, ImageRef: c.ImageRef,
	}
	if c.State != runtime.StateCreated {
		st.StartedAt = c.StartedAt
	}
	if c.State == runtime.StateExited {
		st.FinishedAt = c.FinishedAt
		st.ExitCode, st.Reason, st.Message = c.ExitCode, c.Reason, c.Message
	}
	return st
}

// podIP is the address that a pod is reached at.
func (r *Runtime) podIP(ctx context.Context, ref runtime.PodRef) (string, error) {
	o, err := r.read(ctx, ref.UID)
	if err != nil {
		return "", err
	}
	for i := range o.sandboxes {
		s, err := r.cfg.Backend.SandboxStatus(ctx, o.sandboxes[i].ID)
		if errors.Is(err, runtime.ErrNotFound) {
			continue
		}
		if err != nil {
			return "", err
		}
		switch {
		case !s.Ready:
		case len(s.IPs) > 0 && s.IPs[0] != "":
			return s.IPs[0], nil
		case s.HostNetwork && len(r.cfg.HostIPs) > 0:
			return r.cfg.HostIPs[0], nil
		}
	}
	return "", errNoPodIP
}
