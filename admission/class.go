package admission

import (
	"cmp"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// CriticalPriority is the priority from which a pod is critical.
const CriticalPriority int32 = 2_000_000_000

// sourceAnnotation is what the kubelet notes a pod's source in.
const sourceAnnotation = "kubernetes.io/config.source"

// legacyCriticalAnnotation marked a critical pod until Kubernetes 1.15.
const legacyCriticalAnnotation = "scheduler.alpha.kubernetes.io/critical-pod"

// nobody stands where a pod is nil: of that, too, there is an answer.
var nobody = &v1.Pod{}

// IsStatic tells whether the pod is defined by this node itself: its source is
// noted, and it is not the API server.
func IsStatic(pod *v1.Pod) bool {
	source, ok := cmp.Or(pod, nobody).Annotations[sourceAnnotation]
	return ok && source != "api"
}

// IsMirror tells whether the pod only stands for a static pod in the API.
func IsMirror(pod *v1.Pod) bool {
	_, ok := cmp.Or(pod, nobody).Annotations[v1.MirrorPodAnnotationKey]
	return ok
}

// IsCritical tells whether the node can't do without the pod: it is static, or
// a mirror, or its priority is at least [CriticalPriority]. The name of its
// priority class does not count.
func IsCritical(pod *v1.Pod) bool { return WhyCritical(pod) != "" }

// WhyCritical says in a few words what makes a pod critical, "" if nothing
// does.
func WhyCritical(pod *v1.Pod) string {
	pod = cmp.Or(pod, nobody)
	switch {
	case IsStatic(pod):
		return "static pod"
	case IsMirror(pod):
		return "mirror pod"
	case pod.Spec.Priority != nil && *pod.Spec.Priority >= CriticalPriority:
		return fmt.Sprintf("critical priority %d", *pod.Spec.Priority)
	}
	return ""
}

// IsLegacyCritical is the rule of the kubelets up to 1.15 with the gate
// ExperimentalCriticalPodAnnotation on: the pod is in kube-system and has the
// annotation scheduler.alpha.kubernetes.io/critical-pod with an empty value, or
// its priority is at least [CriticalPriority]. A static pod is not critical by
// itself. For hosts that want the old rule; nothing here uses it by default.
func IsLegacyCritical(pod *v1.Pod) bool {
	pod = cmp.Or(pod, nobody)
	if pod.Spec.Priority != nil && *pod.Spec.Priority >= CriticalPriority {
		return true
	}
	value, ok := pod.Annotations[legacyCriticalAnnotation]
	return ok && value == "" && pod.Namespace == "kube-system"
}

// QOS is the pod's quality of service class: the one in its status, which never
// changes, or else the one that its spec gives.
func QOS(pod *v1.Pod) v1.PodQOSClass {
	if pod != nil && pod.Status.QOSClass != "" {
		return pod.Status.QOSClass
	}
	return SpecQOS(pod)
}

// SpecQOS is the class that the spec gives. Only amounts of cpu and memory
// above zero count; with pod-level resources, even empty ones, the containers'
// do not. A pod is Guaranteed when each container, init containers included,
// limits both, and the sums of requests and limits are equal.
func SpecQOS(pod *v1.Pod) v1.PodQOSClass {
	var sum qosSums
	pod = cmp.Or(pod, nobody)
	if pod.Spec.Resources != nil {
		sum.add(*pod.Spec.Resources)
	} else {
		for i := range pod.Spec.Containers {
			sum.add(pod.Spec.Containers[i].Resources)
		}
		for i := range pod.Spec.InitContainers {
			sum.add(pod.Spec.InitContainers[i].Resources)
		}
	}
	return sum.class()
}

// qosSums adds up what the class depends on.
type qosSums struct {
	cpu, memory struct{ requests, limits resource.Quantity }
	unlimited   bool // a part lacks a limit
}

func (s *qosSums) add(r v1.ResourceRequirements) {
	addPositive(&s.cpu.requests, r.Requests[v1.ResourceCPU])
	addPositive(&s.memory.requests, r.Requests[v1.ResourceMemory])
	cpu := addPositive(&s.cpu.limits, r.Limits[v1.ResourceCPU])
	memory := addPositive(&s.memory.limits, r.Limits[v1.ResourceMemory])
	if !cpu || !memory {
		s.unlimited = true
	}
}

func addPositive(sum *resource.Quantity, q resource.Quantity) bool {
	if q.Sign() <= 0 {
		return false
	}
	sum.Add(q)
	return true
}

func (s *qosSums) class() v1.PodQOSClass {
	if s.cpu.requests.IsZero() && s.cpu.limits.IsZero() && s.memory.requests.IsZero() && s.memory.limits.IsZero() {
		return v1.PodQOSBestEffort
	}
	if !s.unlimited && s.cpu.requests.Cmp(s.cpu.limits) == 0 && s.memory.requests.Cmp(s.memory.limits) == 0 {
		return v1.PodQOSGuaranteed
	}
	return v1.PodQOSBurstable
}
