package podruntime

import (
	"fmt"
	"iter"

	v1 "k8s.io/api/core/v1"
)

// containersOf yields every container of a pod: init, regular, ephemeral. An
// ephemeral one is a copy of its common part.
func containersOf(pod *v1.Pod) iter.Seq2[*v1.Container, string] {
	return func(yield func(*v1.Container, string) bool) {
		for i := range pod.Spec.InitContainers {
			if !yield(&pod.Spec.InitContainers[i], "spec.initContainers") {
				return
			}
		}
		for i := range pod.Spec.Containers {
			if !yield(&pod.Spec.Containers[i], "spec.containers") {
				return
			}
		}
		for i := range pod.Spec.EphemeralContainers {
			c := v1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon)
			if !yield(&c, "spec.ephemeralContainers") {
				return
			}
		}
	}
}

// findContainer finds a container of any sort by its name; nil if there is none.
func findContainer(pod *v1.Pod, name string) *v1.Container {
	for c := range containersOf(pod) {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// fieldPath is the place of a container in its pod, as events name it; "" for
// a name that the pod does not have.
func fieldPath(pod *v1.Pod, name string) string {
	for c, list := range containersOf(pod) {
		if c.Name == name {
			return fmt.Sprintf("%s{%s}", list, name)
		}
	}
	return ""
}

// checkNonRoot refuses the user 0 where the spec forbids it. Who runs without a
// user of its own is the backend's to know.
func checkNonRoot(sc *v1.SecurityContext) error {
	if sc.RunAsNonRoot != nil && *sc.RunAsNonRoot && sc.RunAsUser != nil && *sc.RunAsUser == 0 {
		return fmt.Errorf("container's runAsUser breaks non-root policy")
	}
	return nil
}

// hostnameOf is the host name of a pod with a network of its own, "" for one in
// the host's.
func hostnameOf(pod *v1.Pod) string {
	if pod.Spec.HostNetwork {
		return ""
	}
	name := pod.Name
	if pod.Spec.Hostname != "" {
		name = pod.Spec.Hostname
	}
	// A label of DNS is no longer, and ends in a letter or digit.
	const limit = 63
	if len(name) > limit {
		name = name[:limit]
	}
	for len(name) > 0 && (name[len(name)-1] == '-' || name[len(name)-1] == '.') {
		name = name[:len(name)-1]
	}
	return name
}
