package process

import (
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// HostPorts returns the ports of the machine that the pod's processes listen
// on, for admission to count: every container port of its containers and
// sidecars, with HostPort set to the port itself. Pods share the network of the
// machine, so two pods that want one port can't both run. The pod is not
// written to.
func HostPorts(pod *v1.Pod) []v1.ContainerPort {
	var ports []v1.ContainerPort
	add := func(c *v1.Container) {
		for _, p := range c.Ports {
			p.HostPort = p.ContainerPort
			ports = append(ports, p)
		}
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; runtime.IsSidecar(c) {
			add(c)
		}
	}
	for i := range pod.Spec.Containers {
		add(&pod.Spec.Containers[i])
	}
	return ports
}
