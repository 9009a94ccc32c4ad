package manifest

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (c *checker) ports(path *field.Path, ports []v1.ContainerPort) {
	names := map[string]bool{}
	for i, port := range ports {
		path := path.Index(i)
		if port.Name != "" {
			if problems := validation.IsValidPortName(port.Name); len(problems) > 0 {
				c.invalid(path.Child("name"), port.Name, problems...)
			} else {
				c.unique(names, path.Child("name"), port.Name)
			}
		}
		if port.ContainerPort == 0 {
			c.required(path.Child("containerPort"), "")
		} else {
			c.portNumber(path.Child("containerPort"), port.ContainerPort)
		}
		if port.HostPort != 0 {
			c.portNumber(path.Child("hostPort"), port.HostPort)
		}
		oneOf(c, path.Child("protocol"), port.Protocol, v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP)
	}
}

// hostPorts forbids a host port to be taken twice by one pod.
func (c *checker) hostPorts(path *field.Path, container *v1.Container, taken map[string]bool) {
	for i, port := range container.Ports {
		if port.HostPort == 0 {
			continue
		}
		key := fmt.Sprintf("%d/%s/%s", port.HostPort, port.Protocol, port.HostIP)
		c.unique(taken, path.Child("ports").Index(i).Child("hostPort"), key)
	}
}

// hostNetworkPorts holds where a pod has the host's network: a port there is
// the host's own.
func (c *checker) hostNetworkPorts(spec *field.Path) {
	for i := range c.spec.Containers {
		for j, port := range c.spec.Containers[i].Ports {
			if port.HostPort != port.ContainerPort {
				c.invalid(spec.Child("containers").Index(i).Child("ports").Index(j).Child("containerPort"), port.ContainerPort,
					"must match `hostPort` when `hostNetwork` is true")
			}
		}
	}
}

func (c *checker) portNumber(path *field.Path, port int32) {
	c.invalid(path, port, validation.IsValidPortNum(int(port))...)
}

// portOrName checks a port of a probe or hook: a number, or a port's name.
func (c *checker) portOrName(path *field.Path, port intstr.IntOrString) {
	switch port.Type {
	case intstr.Int:
		c.portNumber(path, port.IntVal)
	case intstr.String:
		c.invalid(path, port.StrVal, validation.IsValidPortName(port.StrVal)...)
	}
}
