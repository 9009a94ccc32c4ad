package manifest

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	resourcehelper "k8s.io/component-helpers/resource"
)

// podResources checks resources that are given for the pod as a whole, and that
// its containers fit in.
func (c *checker) podResources(spec *field.Path) {
	c.quantities(spec.Child("overhead"), c.spec.Overhead, c.containerResourceName)
	r := c.spec.Resources
	if r == nil {
		return
	}
	path := spec.Child("resources")
	if len(r.Claims) > 0 {
		c.forbidden(path.Child("claims"), "claims may not be set for resources at pod-level")
	}
	c.requirements(path, r, c.podResourceName)
	requests := resourcehelper.AggregateContainerRequests(c.pod, resourcehelper.PodResourcesOptions{})
	for _, name := range sortedNames(r.Requests) {
		request := r.Requests[name]
		if sum, ok := requests[name]; ok && request.Cmp(sum) < 0 {
			c.invalid(path.Child("requests").Key(string(name)), request.String(),
				"must be greater than or equal to aggregate container requests of "+sum.String())
		}
	}
	c.hugePageSums(path.Child("limits"), r.Limits)
	c.withinPod(spec.Child("initContainers"), c.spec.InitContainers, r.Limits)
	c.withinPod(spec.Child("containers"), c.spec.Containers, r.Limits)
}

func (c *checker) podResourceName(path *field.Path, name v1.ResourceName) {
	if !resourcehelper.IsSupportedPodLevelResource(name) {
		c.add(field.NotSupported(path, name, []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceHugePagesPrefix + "*"}))
	}
}

// hugePageSums holds since huge pages can't be overcommitted, inside a pod
// neither.
func (c *checker) hugePageSums(path *field.Path, podLimits v1.ResourceList) {
	limits := resourcehelper.AggregateContainerLimits(c.pod, resourcehelper.PodResourcesOptions{})
	for _, name := range sortedNames(podLimits) {
		podLimit := podLimits[name]
		if sum, ok := limits[name]; ok && isHugePage(name) && podLimit.Cmp(sum) < 0 {
			c.invalid(path.Key(string(name)), podLimit.String(),
				"must be greater than or equal to aggregate container limits of "+sum.String())
		}
	}
}

// withinPod forbids a container a higher limit than its pod has.
func (c *checker) withinPod(path *field.Path, list []v1.Container, podLimits v1.ResourceList) {
	for i := range list {
		limits := list[i].Resources.Limits
		for _, name := range sortedNames(limits) {
			limit := limits[name]
			if podLimit, ok := podLimits[name]; ok && limit.Cmp(podLimit) > 0 {
				c.invalid(path.Index(i).Child("resources", "limits").Key(string(name)), limit.String(),
					"must be less than or equal to pod limits of "+podLimit.String())
			}
		}
	}
}
