package podruntime

import (
	"encoding/json"
	"maps"
	"math"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// Labels and annotations of sandboxes and containers. All but the owner's are
// the kubelet's, so that crictl and other tools show the pods that they belong
// to.
const (
	// OwnerLabel holds Config.Owner, on sandboxes and containers.
	OwnerLabel = "kubeparts.io/owner"

	// PodNameLabel, PodNamespaceLabel and PodUIDLabel name the pod, on
	// sandboxes and containers.
	PodNameLabel      = "io.kubernetes.pod.name"
	PodNamespaceLabel = "io.kubernetes.pod.namespace"
	PodUIDLabel       = "io.kubernetes.pod.uid"
	// ContainerNameLabel is on containers alone.
	ContainerNameLabel = "io.kubernetes.container.name"

	// HashAnnotation holds runtime.ContainerHash, in hexadecimal.
	HashAnnotation = "io.kubernetes.container.hash"
	// RestartCountAnnotation holds how often the container was started before.
	RestartCountAnnotation = "io.kubernetes.container.restartCount"
	// ResourcesAnnotation holds the cpu and memory that the container was
	// started with, as JSON; empty for none.
	ResourcesAnnotation = "kubeparts.io/container.resources"

	messagePathAnnotation   = "io.kubernetes.container.terminationMessagePath"
	messagePolicyAnnotation = "io.kubernetes.container.terminationMessagePolicy"
	preStopAnnotation       = "io.kubernetes.container.preStopHandler"
	portsAnnotation         = "io.kubernetes.container.ports"
	podGraceAnnotation      = "io.kubernetes.pod.terminationGracePeriod"
	deletionGraceAnnotation = "io.kubernetes.pod.deletionGracePeriod"
)

// podLabels identify a pod and its owner.
func podLabels(ref runtime.PodRef, owner string) map[string]string {
	return map[string]string{
		PodNameLabel: ref.Name, PodNamespaceLabel: ref.Namespace, PodUIDLabel: string(ref.UID),
		OwnerLabel: owner,
	}
}

// sandboxLabels are the pod's own, over which those that identify it win.
func sandboxLabels(pod *v1.Pod, owner string) map[string]string {
	labels := make(map[string]string, len(pod.Labels)+4)
	maps.Copy(labels, pod.Labels)
	maps.Copy(labels, podLabels(runtime.RefOf(pod), owner))
	return labels
}

func containerLabels(pod *v1.Pod, name, owner string) map[string]string {
	labels := podLabels(runtime.RefOf(pod), owner)
	labels[ContainerNameLabel] = name
	return labels
}

// containerAnnotations hold what must be known of a container when its pod is
// not: identity of its spec, count, and how to stop it.
func containerAnnotations(pod *v1.Pod, c *v1.Container, restarts int32) map[string]string {
	a := map[string]string{
		HashAnnotation:          strconv.FormatUint(runtime.ContainerHash(c), 16),
		RestartCountAnnotation:  strconv.FormatInt(int64(restarts), 10),
		messagePathAnnotation:   c.TerminationMessagePath,
		messagePolicyAnnotation: string(c.TerminationMessagePolicy),
		ResourcesAnnotation:     "",
	}
	if r := runtime.Resizable(c.Resources); len(r.Requests)+len(r.Limits) > 0 {
		setJSON(a, ResourcesAnnotation, r)
	}
	if c.Lifecycle != nil && c.Lifecycle.PreStop != nil {
		setJSON(a, preStopAnnotation, c.Lifecycle.PreStop)
	}
	if len(c.Ports) > 0 {
		setJSON(a, portsAnnotation, c.Ports)
	}
	if grace := pod.Spec.TerminationGracePeriodSeconds; grace != nil {
		a[podGraceAnnotation] = strconv.FormatInt(*grace, 10)
	}
	if grace := pod.DeletionGracePeriodSeconds; grace != nil {
		a[deletionGraceAnnotation] = strconv.FormatInt(*grace, 10)
	}
	return a
}

// setJSON stores a part of the API, all of which has a JSON form.
func setJSON(a map[string]string, key string, value any) {
	if data, err := json.Marshal(value); err == nil {
		a[key] = string(data)
	}
}

// annotatedContainer is what a container's annotations tell of its spec: as much
// as its stop needs.
func annotatedContainer(c *runtime.Container) *v1.Container {
	spec := &v1.Container{Name: c.Name}
	if text := c.Annotations[portsAnnotation]; text != "" {
		if json.Unmarshal([]byte(text), &spec.Ports) != nil {
			spec.Ports = nil
		}
	}
	if text := c.Annotations[preStopAnnotation]; text != "" {
		hook := &v1.LifecycleHandler{}
		if json.Unmarshal([]byte(text), hook) == nil {
			spec.Lifecycle = &v1.Lifecycle{PreStop: hook}
		}
	}
	return spec
}

// annotatedGrace is the grace that a container's annotations tell.
func annotatedGrace(c *runtime.Container) time.Duration {
	seconds := func(key string) *int64 {
		n, err := strconv.ParseInt(c.Annotations[key], 10, 64)
		if err != nil {
			return nil
		}
		return &n
	}
	pod := &v1.Pod{}
	pod.DeletionGracePeriodSeconds = seconds(deletionGraceAnnotation)
	pod.Spec.TerminationGracePeriodSeconds = seconds(podGraceAnnotation)
	return runtime.Grace(pod, nil, runtime.KillOther)
}

// restartCountOf is the count that a container was annotated with; one without
// has been numbered all the same.
func restartCountOf(c *runtime.Container) int32 {
	if n, err := strconv.ParseInt(c.Annotations[RestartCountAnnotation], 10, 32); err == nil && n >= 0 {
		return int32(n)
	}
	return int32(min(c.Attempt, math.MaxInt32))
}

// hashOf is the hash that a container was annotated with.
func hashOf(c *runtime.Container) uint64 {
	n, err := strconv.ParseUint(c.Annotations[HashAnnotation], 16, 64)
	if err != nil {
		return 0
	}
	return n
}

// resourcesOf are the resources that a container was annotated with; nil if they
// are not known.
func resourcesOf(c *runtime.Container) *v1.ResourceRequirements {
	text, ok := c.Annotations[ResourcesAnnotation]
	if !ok {
		return nil
	}
	r := &v1.ResourceRequirements{}
	if text != "" && json.Unmarshal([]byte(text), r) != nil {
		return nil
	}
	return r
}

// refOf names the pod of a container by its labels.
func refOf(c *runtime.Container) runtime.PodRef {
	return runtime.PodRef{
		UID: c.PodUID, Namespace: c.Labels[PodNamespaceLabel], Name: c.Labels[PodNameLabel],
	}
}

// refByLabels completes the reference of a pod that a backend gave.
func refByLabels(ref runtime.PodRef, labels map[string]string) runtime.PodRef {
	if ref.UID == "" {
		ref.UID = types.UID(labels[PodUIDLabel])
	}
	if ref.Namespace == "" {
		ref.Namespace = labels[PodNamespaceLabel]
	}
	if ref.Name == "" {
		ref.Name = labels[PodNameLabel]
	}
	return ref
}
