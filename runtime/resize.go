package runtime

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Resizer is a Runtime that may give running containers other resources. For one
// that is none, or says no, every change of a running pod's resources is
// infeasible.
type Resizer interface {
	// CanResize tells whether SyncPod carries out what [Plan] says of resizes.
	// The answer never changes.
	CanResize() bool
}

// ContainerResizer is a Backend that can give a running container other resources.
type ContainerResizer interface {
	// ResizeContainer gives the container the cpu and memory that it may
	// have from now on. It goes on running. An error leaves it as it was; a
	// limit of memory below what is in use should be one. A backend that
	// enforces no resources has nothing to do. (UpdateContainerResources)
	ResizeContainer(ctx context.Context, id string, resources v1.ResourceRequirements) error
}

// ResizeError is why a running container could not be given its resources; the
// rest of the pass was made. It is wrapped by the error of [Runtime.SyncPod], and
// tried again with the next pass.
type ResizeError struct {
	Container string
	Err       error
}

// Error names the container.
func (e *ResizeError) Error() string { return "resize container " + e.Container + ": " + e.Err.Error() }

// Unwrap gives the backend's error.
func (e *ResizeError) Unwrap() error { return e.Err }

// Resize asks for one running container to be given other resources.
type Resize struct {
	ID   string
	Name string
	// Resources are all that it has then of cpu and memory.
	Resources v1.ResourceRequirements
}

// Resizable are the requests and limits of cpu and memory among all resources of
// a container: what may change while it runs.
func Resizable(r v1.ResourceRequirements) v1.ResourceRequirements {
	return v1.ResourceRequirements{Requests: resizableOf(r.Requests), Limits: resizableOf(r.Limits)}
}

func resizableOf(list v1.ResourceList) (own v1.ResourceList) {
	for _, name := range resizable {
		if q, ok := list[name]; ok {
			if own == nil {
				own = v1.ResourceList{}
			}
			own[name] = q
		}
	}
	return own
}

// resizable are the resources in the order in which they are changed.
var resizable = [...]v1.ResourceName{v1.ResourceMemory, v1.ResourceCPU}

// resizes asks for running containers to be given what the spec says: memory, then
// cpu, each first where it becomes less.
func (p *planner) resizes() {
	if p.actions.KillPod {
		return
	}
	now := map[string]v1.ResourceRequirements{}
	for _, name := range resizable {
		var less, more []Resize
		for c := range eachContainer(p.Pod) {
			instance := p.Status.Container(c.Name)
			if !p.keeps(instance) || !resourceChanged(c, instance, name) {
				continue
			}
			has, ok := now[instance.ID]
			if !ok {
				has = Resizable(*instance.Resources)
			}
			now[instance.ID] = withResource(has, c.Resources, name)
			step := Resize{ID: instance.ID, Name: c.Name, Resources: now[instance.ID]}
			if becomesLess(*instance.Resources, c.Resources, name) {
				less = append(less, step)
			} else {
				more = append(more, step)
			}
		}
		p.actions.Resize = slices.Concat(p.actions.Resize, less, more)
	}
}

// Resized tells whether each running container of the pod has the cpu and memory
// that the spec says, as far as that is known.
func Resized(pod *v1.Pod, status *PodStatus) bool {
	for c := range eachContainer(pod) {
		instance := status.Container(c.Name)
		if instance == nil || instance.State != StateRunning {
			continue
		}
		for _, name := range resizable {
			if resourceChanged(c, instance, name) {
				return false
			}
		}
	}
	return true
}

// keeps tells whether an instance runs, and goes on running.
func (p *planner) keeps(instance *ContainerStatus) bool {
	return instance != nil && instance.State == StateRunning && p.inSandbox(instance) &&
		!slices.ContainsFunc(p.actions.Kill, func(k Kill) bool { return k.ID == instance.ID })
}

// restartsForResize tells whether a running container is to be restarted for what
// changed of its resources: its policy says so for one of them.
func (p *planner) restartsForResize(c *v1.Container, instance *ContainerStatus) bool {
	return len(c.ResizePolicy) > 0 && effectivePolicy(p.Pod, c) != v1.RestartPolicyNever &&
		slices.ContainsFunc(c.ResizePolicy, func(policy v1.ContainerResizePolicy) bool {
			return policy.RestartPolicy == v1.RestartContainer && resourceChanged(c, instance, policy.ResourceName)
		})
}

// resourceChanged tells whether an instance has something else of a resource than
// the spec says. What it has may not be known: then it has not.
func resourceChanged(c *v1.Container, instance *ContainerStatus, name v1.ResourceName) bool {
	return instance.Resources != nil && slices.Contains(resizable[:], name) &&
		(!sameAmount(instance.Resources.Requests, c.Resources.Requests, name) ||
			!sameAmount(instance.Resources.Limits, c.Resources.Limits, name))
}

func sameAmount(a, b v1.ResourceList, name v1.ResourceName) bool {
	x, inA := a[name]
	y, inB := b[name]
	return inA == inB && x.Cmp(y) == 0
}

// becomesLess goes by the limit, and by the request where that stays.
func becomesLess(from, to v1.ResourceRequirements, name v1.ResourceName) bool {
	if !sameAmount(from.Limits, to.Limits, name) {
		limit, limited := to.Limits[name]
		before, had := from.Limits[name]
		return limited && (!had || limit.Cmp(before) < 0)
	}
	request, before := to.Requests[name], from.Requests[name]
	return request.Cmp(before) < 0
}

// withResource is a with what b says of one resource.
func withResource(a, b v1.ResourceRequirements, name v1.ResourceName) v1.ResourceRequirements {
	return v1.ResourceRequirements{
		Requests: withAmount(a.Requests, b.Requests, name),
		Limits:   withAmount(a.Limits, b.Limits, name),
	}
}

func withAmount(a, b v1.ResourceList, name v1.ResourceName) v1.ResourceList {
	list := make(v1.ResourceList, len(a)+1)
	for other, q := range a {
		if other != name {
			list[other] = q
		}
	}
	if q, ok := b[name]; ok {
		list[name] = q
	}
	if len(list) == 0 {
		return nil
	}
	return list
}
