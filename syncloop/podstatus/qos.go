package podstatus

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// QOS returns the quality of service class of a pod: the one in its status,
// which never changes, or what its spec amounts to. Only cpu and memory above
// zero count; a pod with resources of its own, even empty ones, is judged by
// these alone.
func QOS(pod *v1.Pod) v1.PodQOSClass {
	if pod.Status.QOSClass != "" {
		return pod.Status.QOSClass
	}
	if pod.Spec.Resources != nil {
		var t qosTally
		t.add(pod.Spec.Resources)
		return t.class()
	}
	var t qosTally
	for i := range pod.Spec.InitContainers {
		t.add(&pod.Spec.InitContainers[i].Resources)
	}
	for i := range pod.Spec.Containers {
		t.add(&pod.Spec.Containers[i].Resources)
	}
	return t.class()
}

// qosTally sums what the containers of a pod ask for.
type qosTally struct {
	cpu, memory qosResource
	// unlimited is set once a container lacks a limit on either.
	unlimited bool
}

// qosResource sums one resource; a sum is nil until something counts.
type qosResource struct{ requests, limits *resource.Quantity }

func (t *qosTally) add(r *v1.ResourceRequirements) {
	cpu := t.cpu.add(r, v1.ResourceCPU)
	memory := t.memory.add(r, v1.ResourceMemory)
	t.unlimited = t.unlimited || !cpu || !memory
}

// add tells whether there is a limit.
func (q *qosResource) add(r *v1.ResourceRequirements, name v1.ResourceName) (limited bool) {
	addPositive(&q.requests, r.Requests[name])
	return addPositive(&q.limits, r.Limits[name])
}

func addPositive(sum **resource.Quantity, q resource.Quantity) bool {
	if q.Sign() <= 0 {
		return false
	}
	if *sum == nil {
		*sum = new(resource.Quantity)
	}
	(*sum).Add(q)
	return true
}

func (t *qosTally) class() v1.PodQOSClass {
	switch {
	case t.cpu.empty() && t.memory.empty():
		return v1.PodQOSBestEffort
	case !t.unlimited && t.cpu.balanced() && t.memory.balanced():
		return v1.PodQOSGuaranteed
	default:
		return v1.PodQOSBurstable
	}
}

func (q *qosResource) empty() bool { return q.requests == nil && q.limits == nil }

// balanced tells whether the sums of requests and limits are equal.
func (q *qosResource) balanced() bool {
	return q.requests != nil && q.limits != nil && q.requests.Cmp(*q.limits) == 0
}
