package eviction

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeparts/kubeparts/runtime"
)

// Reason is the Reason of an evicted pod's status, of its event, and of pods
// that are kept out.
const Reason = "Evicted"

// The annotations of the event that tells of an eviction under pressure.
const (
	annotationStarved         = "starved_resource"
	annotationContainers      = "offending_containers"
	annotationContainersUsage = "offending_containers_usage"
	annotationPod             = "offending_pod"
	annotationPodUsage        = "offending_pod_usage"
)

// Victim is a pod that must go. Its phase becomes Failed with [Reason] and
// Message.
type Victim struct {
	Pod *v1.Pod
	// Message is the kubelet's; it ends with a blank.
	Message string
	// Limit is set for a pod that is over a limit of its own, rather than the
	// first to go under pressure.
	Limit bool
	// Override replaces the pod's own grace period; nil leaves it.
	Override *time.Duration
	// Disruption is the message of the condition DisruptionTarget in the pod's
	// status, which is True for the reason TerminationByKubelet; empty is none.
	Disruption string
	// Annotations are those of the event; nil is none.
	Annotations map[string]string
}

// Event is what the pod's users are told.
func (v Victim) Event() runtime.Event {
	return runtime.Event{Type: v1.EventTypeWarning, Reason: Reason, Message: v.Message}
}

// Grace is how long the pod gets: Override or its own, at least a second.
func (v Victim) Grace() time.Duration {
	if v.Override != nil {
		return max(*v.Override, time.Second)
	}
	return max(ownGrace(v.Pod, 30*time.Second), time.Second)
}

// ownGrace is the pod's grace period, or what a pod gets that has none.
func ownGrace(pod *v1.Pod, without time.Duration) time.Duration {
	if s := pod.Spec.TerminationGracePeriodSeconds; s != nil {
		return time.Duration(min(max(*s, 0), maxSeconds)) * time.Second
	}
	return without
}

// maxSeconds is the largest number of seconds that is a time.Duration.
const maxSeconds = int64((1<<63 - 1) / time.Second)

// overLimit is the eviction of a pod over a limit of its own.
func overLimit(pod *v1.Pod, message string) Victim {
	return Victim{Pod: pod, Message: message, Limit: true, Override: new(time.Second)}
}

// underPressure is the eviction of a pod because the node is short.
func underPressure(p Policy, short v1.ResourceName, trigger Threshold, pod *v1.Pod, stats *PodStats, basis string) Victim {
	v := Victim{Pod: pod, Override: override(p, trigger, pod)}
	v.Message, v.Annotations = describe(short, pod, stats, basis)
	v.Disruption = v.Message
	return v
}

// override is the grace period that a pod gets instead of its own: a second for
// a hard threshold, and for a soft one no more than the policy's maximum.
func override(p Policy, t Threshold, pod *v1.Pod) *time.Duration {
	switch {
	case t.GracePeriod == 0:
		return new(time.Second)
	case p.MaxPodGracePeriod < 0:
		return nil
	}
	return new(min(p.MaxPodGracePeriod, ownGrace(pod, p.MaxPodGracePeriod)))
}

// basis tells by how much the node is short: the figures of the first threshold
// of that resource.
func basis(p Policy, short v1.ResourceName, acting []Threshold, s State) string {
	for _, t := range acting {
		if p.meaning(t.Signal).Resource != short {
			continue
		}
		if o := find(s.Observations, t.Signal); o != nil {
			value := t.Value.quantity(o.Capacity)
			available := resource.NewQuantity(o.Available, formatOf(short))
			return fmt.Sprintf("Threshold quantity: %v, available: %v. ", &value, available)
		}
		return ""
	}
	return ""
}

// describe says why a pod goes, and which of its containers use more than they
// asked for.
func describe(short v1.ResourceName, pod *v1.Pod, stats *PodStats, basis string) (string, map[string]string) {
	var text strings.Builder
	fmt.Fprintf(&text, "The node was low on resource: %v. %s", short, basis)
	annotations := map[string]string{}
	if stats == nil {
		return text.String(), annotations
	}
	if request, usage, ok := podLevelMemory(short, pod, stats); ok {
		fmt.Fprintf(&text, "Pod %s was using %s, request is %s, has larger consumption of %v. ", pod.Name, usage, request, short)
		annotations[annotationPod], annotations[annotationPodUsage] = pod.Name, usage.String()
	}
	var names, usages []string
	for i := range stats.Containers {
		c := &stats.Containers[i]
		request, declared := containerRequest(pod, c.Name, short)
		usage := containerUsage(c, short)
		if !declared || usage == nil || usage.Cmp(request) <= 0 {
			continue
		}
		fmt.Fprintf(&text, "Container %s was using %s, request is %s, has larger consumption of %v. ", c.Name, usage, &request, short)
		names, usages = append(names, c.Name), append(usages, usage.String())
	}
	annotations[annotationContainers] = strings.Join(names, ",")
	annotations[annotationContainersUsage] = strings.Join(usages, ",")
	annotations[annotationStarved] = string(short)
	return text.String(), annotations
}

// podLevelMemory is what a pod with a memory request of its own asked for and
// uses.
func podLevelMemory(short v1.ResourceName, pod *v1.Pod, stats *PodStats) (request, usage *resource.Quantity, ok bool) {
	if short != v1.ResourceMemory || pod.Spec.Resources == nil || stats.Memory == nil || stats.Memory.WorkingSetBytes == nil {
		return nil, nil, false
	}
	q, ok := pod.Spec.Resources.Requests[v1.ResourceMemory]
	return &q, resource.NewQuantity(number(stats.Memory.WorkingSetBytes), resource.BinarySI), ok
}

// containerRequest is what a main or init container of that name asked for.
func containerRequest(pod *v1.Pod, name string, of v1.ResourceName) (resource.Quantity, bool) {
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return list[i].Resources.Requests[of], true
			}
		}
	}
	return resource.Quantity{}, false
}

// containerUsage is what a container takes of a resource, nil when that is not
// known or not told of containers.
func containerUsage(c *ContainerStats, of v1.ResourceName) *resource.Quantity {
	switch {
	case of == v1.ResourceMemory && c.Memory != nil && c.Memory.WorkingSetBytes != nil:
		return resource.NewQuantity(number(c.Memory.WorkingSetBytes), resource.BinarySI)
	case of == v1.ResourceEphemeralStorage && known(c.Rootfs) && known(c.Logs):
		return resource.NewQuantity(saturatingAdd(bytes(c.Rootfs), bytes(c.Logs)), resource.BinarySI)
	}
	return nil
}

func known(fs *FsStats) bool { return fs != nil && fs.UsedBytes != nil }

// event tells that nobody may go.
func (s Stuck) event() runtime.Event {
	return runtime.Event{Type: v1.EventTypeWarning, Reason: "NoPodToEvict", Message: s.String()}
}

// String is the sentence of the event.
func (s Stuck) String() string {
	switch s.Pods {
	case 0:
		return fmt.Sprintf("The node is low on resource: %v, and there is no pod to evict", s.Resource)
	case 1:
		return fmt.Sprintf("The node is low on resource: %v, and its one pod may not be evicted", s.Resource)
	}
	return fmt.Sprintf("The node is low on resource: %v, and none of its %d pods may be evicted", s.Resource, s.Pods)
}
