package resize

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
)

// The kubelet's messages for what this node can't do.
const (
	messageDisabled         = "InPlacePodVerticalScaling is disabled"
	messageWindows          = "In-place pod resize is not supported on Windows"
	messageUnsupported      = "In-place pod resize is not supported on this node"
	messageSwap             = "In-place resize of containers with swap is not supported."
	messagePodLevelDisabled = "InPlacePodLevelResourcesVerticalScaling is disabled"
	messageStaticCPU        = `Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"`
	messageStaticMemory     = `Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"`
)

// Support says what a node can do about resizes. The zero value can do all.
type Support struct {
	// Disabled refuses every resize, as a kubelet without the feature.
	Disabled bool
	// Unsupported says that the runtime can't give a running container other
	// resources than it was started with.
	Unsupported bool
	// OS is the operating system of the node as Go names it; any but linux is
	// refused, as the kubelet does. Empty leaves it to Unsupported.
	OS string
	// PodLevelDisabled refuses a change of what the pod has as a whole.
	PodLevelDisabled bool
	// Swaps tells whether a container may use swap: its memory can't be
	// resized without a restart then. nil is that none may.
	Swaps func(pod *v1.Pod, container *v1.Container) bool
	// StaticCPU and StaticMemory say that Guaranteed pods have whole CPUs, or
	// memory banks, of their own, which can't be resized.
	StaticCPU, StaticMemory bool
}

// Infeasible says why the node will never carry out the resize, in the kubelet's
// order and words; "" if nothing stands against it but perhaps room.
func (s Support) Infeasible(allocated, desired *v1.Pod) string {
	switch {
	case s.Disabled:
		return messageDisabled
	case s.OS == "windows":
		return messageWindows
	case s.Unsupported, s.OS != "" && s.OS != "linux":
		return messageUnsupported
	case s.swapped(allocated, desired):
		return messageSwap
	case s.PodLevelDisabled && !samePod(cmp.Or(allocated, nobody).Spec.Resources, cmp.Or(desired, nobody).Spec.Resources):
		return messagePodLevelDisabled
	case !s.StaticCPU && !s.StaticMemory || admission.QOS(desired) != v1.PodQOSGuaranteed:
		return ""
	case s.StaticCPU && anyRequestDiffers(allocated, desired, v1.ResourceCPU):
		return messageStaticCPU
	case s.StaticMemory && anyRequestDiffers(allocated, desired, v1.ResourceMemory):
		return messageStaticMemory
	}
	return ""
}

// swapped tells whether the memory of a container that may use swap is to change
// while it runs.
func (s Support) swapped(allocated, desired *v1.Pod) bool {
	if s.Swaps == nil {
		return false
	}
	return anyPair(allocated, desired, func(has, wants *v1.Container) bool {
		return requestDiffers(has, wants, v1.ResourceMemory) && !restarts(wants, v1.ResourceMemory) &&
			(s.Swaps(allocated, has) || s.Swaps(desired, wants))
	})
}

// restarts tells whether a container is to be restarted for a change of the
// resource.
func restarts(c *v1.Container, name v1.ResourceName) bool {
	return slices.ContainsFunc(c.ResizePolicy, func(p v1.ContainerResizePolicy) bool {
		return p.ResourceName == name && p.RestartPolicy == v1.RestartContainer
	})
}

func anyRequestDiffers(allocated, desired *v1.Pod, name v1.ResourceName) bool {
	return anyPair(allocated, desired, func(has, wants *v1.Container) bool { return requestDiffers(has, wants, name) })
}

func requestDiffers(has, wants *v1.Container, name v1.ResourceName) bool {
	return !sameAmount(has.Resources.Requests, wants.Resources.Requests, name)
}

// anyPair tells whether something holds for any container in its two versions.
func anyPair(allocated, desired *v1.Pod, holds func(has, wants *v1.Container) bool) bool {
	before, after := containersOf(allocated), containersOf(desired)
	for kind := range after {
		for i := range after[kind] {
			wants := &after[kind][i]
			at := slices.IndexFunc(before[kind], func(c v1.Container) bool { return c.Name == wants.Name })
			if at >= 0 && holds(&before[kind][at], wants) {
				return true
			}
		}
	}
	return false
}
