package admission

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	helpers "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// Prepared is what admission needs of a pod and what depends on the pod alone,
// worked out once: [Prepare] it, then ask any number of chains and forks with
// [Chain.CheckPrepared]. It is immutable and may be shared by goroutines; it
// holds for as long as the pod's spec and status stay as they are.
type Prepared struct {
	pod      *v1.Pod
	key      Key
	requests Requests          // as a candidate
	running  Requests          // once it is in
	freed    Requests          // what preemption counts as given back by its end
	names    []v1.ResourceName // of requests.Scalar, in order
	ports    []hostPort
	selects  bool // it has a node selector or a required affinity
	affinity nodeaffinity.RequiredNodeAffinity
}

// Prepare works out what depends on the pod alone; a nil pod is refused by those
// who get it prepared. Its host ports are those of
// [HostPorts]; see [Chain.Prepare] for a host whose containers take others.
func Prepare(pod *v1.Pod) *Prepared { return prepare(pod, HostPorts(pod)) }

// Prepare is [Prepare] with the host ports that this chain counts.
func (c *Chain) Prepare(pod *v1.Pod) *Prepared { return prepare(pod, c.hostPorts(pod)) }

func (c *Chain) hostPorts(pod *v1.Pod) []v1.ContainerPort {
	if c.HostPorts != nil && pod != nil {
		return c.HostPorts(pod)
	}
	return HostPorts(pod)
}

func prepare(pod *v1.Pod, ports []v1.ContainerPort) *Prepared {
	if pod == nil {
		return &Prepared{}
	}
	p := &Prepared{pod: pod, key: KeyOf(pod)}
	spec := PodRequests(pod)
	p.requests, p.running, p.freed = spec, spec, spec
	if pod.Status.ExtendedResourceClaimStatus != nil {
		p.requests = PodRequests(withoutClaimed(pod))
	}
	if hasStatusResources(pod) {
		p.running = runningRequests(pod)
	}
	if pod.Spec.Resources != nil || len(pod.Spec.Overhead) > 0 {
		p.freed = freedRequests(pod)
	}
	p.names = p.requests.scalarNames()
	for _, port := range ports {
		p.ports = append(p.ports, portKey(port))
	}
	if p.selects = selectsNodes(pod); p.selects {
		p.affinity = nodeaffinity.GetRequiredNodeAffinity(pod)
	}
	return p
}

// named tells what is wrong with a pod that is to be in a ledger.
func (p *Prepared) named() error {
	switch {
	case p == nil || p.pod == nil:
		return errNilPod
	case p.key == "":
		return errNameless
	}
	return nil
}

// Pod is the pod; it is read-only.
func (p *Prepared) Pod() *v1.Pod { return p.pod }

// Requests is what the pod asks for as a candidate. Its map is read-only.
func (p *Prepared) Requests() Requests { return p.requests }

func selectsNodes(pod *v1.Pod) bool {
	a := pod.Spec.Affinity
	return len(pod.Spec.NodeSelector) > 0 ||
		a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil
}

// hasStatusResources tells whether the status may change what a running pod
// holds.
func hasStatusResources(pod *v1.Pod) bool {
	if pod.Status.Resources != nil || len(pod.Status.AllocatedResources) > 0 {
		return true
	}
	has := func(s v1.ContainerStatus) bool { return s.Resources != nil || len(s.AllocatedResources) > 0 }
	return slices.ContainsFunc(pod.Status.ContainerStatuses, has) ||
		slices.ContainsFunc(pod.Status.InitContainerStatuses, has)
}

// withoutClaimed is the pod without the requests of its containers that a
// resource claim satisfies: those are no matter of the node's allocatable.
func withoutClaimed(pod *v1.Pod) *v1.Pod {
	claimed := make(map[string][]v1.ResourceName)
	for _, m := range pod.Status.ExtendedResourceClaimStatus.RequestMappings {
		claimed[m.ContainerName] = append(claimed[m.ContainerName], v1.ResourceName(m.ResourceName))
	}
	stripped := *pod
	stripped.Spec.Containers = stripClaimed(pod.Spec.Containers, claimed)
	stripped.Spec.InitContainers = stripClaimed(pod.Spec.InitContainers, claimed)
	return &stripped
}

func stripClaimed(containers []v1.Container, claimed map[string][]v1.ResourceName) []v1.Container {
	out := slices.Clone(containers)
	for i := range out {
		names := claimed[out[i].Name]
		if len(names) == 0 {
			continue
		}
		kept := make(v1.ResourceList, len(out[i].Resources.Requests))
		for name, q := range out[i].Resources.Requests {
			if !slices.Contains(names, name) || !isExtended(name) && !isDeviceClass(name) {
				kept[name] = q
			}
		}
		out[i].Resources.Requests = kept
	}
	return out
}

// freedRequests is what preemption counts a pod as giving back: its spec alone;
// with pod-level resources, requests or limits, those of its containers do not
// count, and overhead does only for what is requested.
func freedRequests(pod *v1.Pod) Requests {
	list := helpers.PodRequests(pod, helpers.PodResourcesOptions{
		ExcludeOverhead:             true,
		SkipContainerLevelResources: helpers.IsPodLevelResourcesSet(pod),
	})
	for name, over := range pod.Spec.Overhead {
		if q := list[name]; !q.IsZero() {
			addTo(list, name, over)
		}
	}
	return requestsOf(list)
}
