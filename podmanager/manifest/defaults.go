package manifest

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// setDefaults sets what the API server would have set at creation, and
// normalises the fields that the API knows in two forms. What admission plugins
// would add (priority of a class, a service account) stays as it is.
func setDefaults(pod *v1.Pod) {
	normalise(pod)
	for c := range containers(&pod.Spec) {
		requestsFromLimits(&c.Resources)
	}
	setPodResources(pod)
	setSpecDefaults(&pod.Spec)
	for c := range containers(&pod.Spec) {
		setContainerDefaults(c)
	}
	for i := range pod.Spec.Volumes {
		setVolumeDefaults(&pod.Spec.Volumes[i])
	}
}

func setSpecDefaults(spec *v1.PodSpec) {
	setIfEmpty(&spec.RestartPolicy, v1.RestartPolicyAlways)
	setIfEmpty(&spec.DNSPolicy, v1.DNSClusterFirst)
	setIfEmpty(&spec.SchedulerName, v1.DefaultSchedulerName)
	setIfNil(&spec.SecurityContext, v1.PodSecurityContext{})
	setIfNil(&spec.TerminationGracePeriodSeconds, v1.DefaultTerminationGracePeriodSeconds)
	setIfNil(&spec.EnableServiceLinks, v1.DefaultEnableServiceLinks)
	roundUp(spec.Overhead)
	if spec.HostNetwork {
		setHostPorts(spec.Containers)
		setHostPorts(spec.InitContainers)
	}
}

func setContainerDefaults(c *v1.Container) {
	setIfEmpty(&c.ImagePullPolicy, pullPolicyOf(c.Image))
	setIfEmpty(&c.TerminationMessagePath, v1.TerminationMessagePathDefault)
	setIfEmpty(&c.TerminationMessagePolicy, v1.TerminationMessageReadFile)
	for i := range c.Ports {
		setIfEmpty(&c.Ports[i].Protocol, v1.ProtocolTCP)
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil {
			setFieldRefDefaults(from.FieldRef)
			if from.FileKeyRef != nil {
				setIfNil(&from.FileKeyRef.Optional, false)
			}
		}
	}
	roundUp(c.Resources.Limits)
	roundUp(c.Resources.Requests)
	for _, probe := range []*v1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		setProbeDefaults(probe)
	}
	if c.Lifecycle != nil {
		for _, hook := range []*v1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if hook != nil {
				setHTTPGetDefaults(hook.HTTPGet)
			}
		}
	}
}

func setProbeDefaults(probe *v1.Probe) {
	if probe == nil {
		return
	}
	setIfEmpty(&probe.TimeoutSeconds, 1)
	setIfEmpty(&probe.PeriodSeconds, 10)
	setIfEmpty(&probe.SuccessThreshold, 1)
	setIfEmpty(&probe.FailureThreshold, 3)
	setHTTPGetDefaults(probe.HTTPGet)
	if probe.GRPC != nil {
		setIfNil(&probe.GRPC.Service, "")
	}
}

func setHTTPGetDefaults(get *v1.HTTPGetAction) {
	if get == nil {
		return
	}
	setIfEmpty(&get.Path, "/")
	setIfEmpty(&get.Scheme, v1.URISchemeHTTP)
}

func setFieldRefDefaults(ref *v1.ObjectFieldSelector) {
	if ref != nil {
		setIfEmpty(&ref.APIVersion, "v1")
	}
}

// setHostPorts gives each port of a pod in the host's network the host port
// that it takes there.
func setHostPorts(containers []v1.Container) {
	for i := range containers {
		for j := range containers[i].Ports {
			port := &containers[i].Ports[j]
			setIfEmpty(&port.HostPort, port.ContainerPort)
		}
	}
}

// requestsFromLimits requests what is limited and not requested.
func requestsFromLimits(r *v1.ResourceRequirements) {
	if r.Limits != nil && r.Requests == nil {
		r.Requests = v1.ResourceList{}
	}
	for name, limit := range r.Limits {
		if _, ok := r.Requests[name]; !ok {
			r.Requests[name] = limit.DeepCopy()
		}
	}
}

// setPodResources completes resources that are given for the pod as a whole
// from those of its containers, which have their defaults already.
func setPodResources(pod *v1.Pod) {
	r := pod.Spec.Resources
	if r == nil {
		return
	}
	limits, requests := copyList(r.Limits), copyList(r.Requests)
	for name, limit := range resourcehelper.AggregateContainerLimits(pod, resourcehelper.PodResourcesOptions{}) {
		if _, ok := limits[name]; !ok && isHugePage(name) {
			limits[name] = limit
		}
	}
	for name, request := range resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{}) {
		// Huge pages can't be overcommitted: their request is the limit, below.
		if _, ok := requests[name]; !ok && resourcehelper.IsSupportedPodLevelResource(name) && !isHugePage(name) {
			requests[name] = request
		}
	}
	for name, limit := range limits {
		if _, ok := requests[name]; !ok && resourcehelper.IsSupportedPodLevelResource(name) {
			requests[name] = limit.DeepCopy()
		}
	}
	roundUp(limits)
	roundUp(requests)
	if len(limits) > 0 {
		r.Limits = limits
	}
	if len(requests) > 0 {
		r.Requests = requests
	}
}

func copyList(list v1.ResourceList) v1.ResourceList {
	if list == nil {
		return v1.ResourceList{}
	}
	return list.DeepCopy()
}

// roundUp brings quantities to thousandths, the finest that are counted.
func roundUp(list v1.ResourceList) {
	for name, quantity := range list {
		quantity.RoundUp(resource.Milli)
		list[name] = quantity
	}
}

func setIfEmpty[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func setIfNil[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// containers yields init containers and containers, by place.
func containers(spec *v1.PodSpec) func(yield func(*v1.Container) bool) {
	return func(yield func(*v1.Container) bool) {
		for _, list := range [][]v1.Container{spec.InitContainers, spec.Containers} {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}
