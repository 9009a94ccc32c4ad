package process

import v1 "k8s.io/api/core/v1"

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
		if c := &pod.Spec.InitContainers[i]; isSidecar(c) {
			add(c)
		}
	}
	for i := range pod.Spec.Containers {
		add(&pod.Spec.Containers[i])
	}
	return ports
}

// WithHostPorts returns the pod as admission should see it: a copy in which
// every container port is a host port. A pod without ports to change is
// returned as it is.
func WithHostPorts(pod *v1.Pod) *v1.Pod {
	if !needsHostPorts(pod.Spec.Containers) && !needsHostPorts(pod.Spec.InitContainers) {
		return pod
	}
	out := pod.DeepCopy()
	for _, list := range [][]v1.Container{out.Spec.Containers, out.Spec.InitContainers} {
		for i := range list {
			for j := range list[i].Ports {
				list[i].Ports[j].HostPort = list[i].Ports[j].ContainerPort
			}
		}
	}
	return out
}

func needsHostPorts(list []v1.Container) bool {
	for i := range list {
		for _, p := range list[i].Ports {
			if p.HostPort != p.ContainerPort {
				return true
			}
		}
	}
	return false
}

func isSidecar(c *v1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
}
