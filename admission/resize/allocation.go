package resize

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeparts/kubeparts/admission"
)

// Allocation is what a pod was granted. It is immutable, and keeps its meaning
// as JSON.
type Allocation struct {
	// Containers are requests and limits by the name of the container, init
	// containers among them. One that is not named has what its spec says.
	Containers map[string]v1.ResourceRequirements `json:"containers,omitempty"`
	// Pod is what was granted to the pod as a whole; nil for nothing.
	Pod *v1.ResourceRequirements `json:"pod,omitempty"`
}

// nobody stands where a pod is nil: of that, too, there is an answer.
var nobody = &v1.Pod{}

// Of is the allocation of a pod that has all that its spec asks for. It shares
// no memory that anybody writes to.
func Of(pod *v1.Pod) *Allocation {
	a := &Allocation{}
	pod = cmp.Or(pod, nobody)
	for _, list := range containersOf(pod) {
		for i := range list {
			if a.Containers == nil {
				a.Containers = make(map[string]v1.ResourceRequirements)
			}
			a.Containers[list[i].Name] = bare(list[i].Resources)
		}
	}
	if r := pod.Spec.Resources; r != nil {
		own := bare(*r)
		a.Pod = &own
	}
	return a
}

// Apply returns the pod with what it was granted in place of what its spec asks
// for, and whether that differs: then a resize is wanted, and the pod is a copy
// that shares the rest. A nil Allocation grants what the spec says.
func (a *Allocation) Apply(pod *v1.Pod) (allocated *v1.Pod, differs bool) {
	if a == nil || pod == nil {
		return pod, false
	}
	own := *pod
	var inits, regulars bool
	own.Spec.InitContainers, inits = a.applyTo(pod.Spec.InitContainers)
	own.Spec.Containers, regulars = a.applyTo(pod.Spec.Containers)
	whole := !samePod(a.Pod, pod.Spec.Resources)
	if whole {
		own.Spec.Resources = a.Pod
	}
	if !inits && !regulars && !whole {
		return pod, false
	}
	return &own, true
}

// applyTo is Apply for one list of containers.
func (a *Allocation) applyTo(list []v1.Container) (applied []v1.Container, differs bool) {
	applied = list
	for i := range list {
		granted, ok := a.Containers[list[i].Name]
		if !ok || same(granted, list[i].Resources) {
			continue
		}
		if !differs {
			applied, differs = slices.Clone(list), true
		}
		granted.Claims = list[i].Resources.Claims
		applied[i].Resources = granted
	}
	return applied, differs
}

// Counted is a pod as a ledger is to count it that was granted what its spec says:
// with the status that was said last, nil for its own. That tells what its containers
// have yet; but where it calls a resize infeasible, of which the pod was granted
// nothing, it would have the spec passed over, and that is left out. The pod is
// a copy if anything differs, and shares the rest.
func Counted(allocated *v1.Pod, said *v1.PodStatus) *v1.Pod {
	if allocated == nil {
		return nil
	}
	if said == nil {
		said = &allocated.Status
	}
	refused := slices.IndexFunc(said.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodResizePending })
	if said == &allocated.Status && refused < 0 {
		return allocated
	}
	own := *allocated
	own.Status = *said
	if refused >= 0 {
		own.Status.Conditions = slices.Delete(slices.Clone(said.Conditions), refused, refused+1)
	}
	return &own
}

// Differ tells whether two versions of a pod ask for other resources, for a
// container that both have or for the pod as a whole.
func Differ(a, b *v1.Pod) bool {
	return !samePod(cmp.Or(a, nobody).Spec.Resources, cmp.Or(b, nobody).Spec.Resources) ||
		anyPair(a, b, func(x, y *v1.Container) bool { return !same(x.Resources, y.Resources) })
}

// Settled tells whether a status says of each container of the pod that its
// requests for cpu and memory are those of the spec, granted and given; what it does
// not say of is settled.
func Settled(pod *v1.Pod, status *v1.PodStatus) bool {
	if status == nil {
		return true
	}
	said := [2][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses}
	for kind, list := range containersOf(pod) {
		for i := range list {
			at := slices.IndexFunc(said[kind], func(s v1.ContainerStatus) bool { return s.Name == list[i].Name })
			if at >= 0 && !settled(list[i].Resources.Requests, &said[kind][at]) {
				return false
			}
		}
	}
	return true
}

func settled(requests v1.ResourceList, said *v1.ContainerStatus) bool {
	if said.Resources == nil {
		return true
	}
	for _, name := range [...]v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		if !sameAmount(requests, said.Resources.Requests, name) || !sameAmount(requests, said.AllocatedResources, name) {
			return false
		}
	}
	return true
}

// Grows tells whether the pod as a whole asks for more cpu or memory than it has.
func Grows(allocated, desired *v1.Pod) bool {
	has, wants := admission.PodRequests(allocated), admission.PodRequests(desired)
	return wants.MilliCPU > has.MilliCPU || wants.Memory > has.Memory
}

func containersOf(pod *v1.Pod) [2][]v1.Container {
	pod = cmp.Or(pod, nobody)
	return [2][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers}
}

// bare is what may be resized: claims are the scheduler's affair.
func bare(r v1.ResourceRequirements) v1.ResourceRequirements {
	return v1.ResourceRequirements{Requests: r.Requests, Limits: r.Limits}
}

func same(a, b v1.ResourceRequirements) bool {
	return sameList(a.Requests, b.Requests) && sameList(a.Limits, b.Limits)
}

func samePod(a, b *v1.ResourceRequirements) bool {
	if a == nil || b == nil {
		return a == b
	}
	return same(*a, *b)
}

// sameList tells whether two lists name the same amounts, in whatever notation.
func sameList(a, b v1.ResourceList) bool {
	if len(a) != len(b) {
		return false
	}
	for name := range a {
		if !sameAmount(a, b, name) {
			return false
		}
	}
	return true
}

func sameAmount(a, b v1.ResourceList, name v1.ResourceName) bool {
	var x, y resource.Quantity
	x, inA := a[name]
	y, inB := b[name]
	return inA == inB && x.Cmp(y) == 0
}
