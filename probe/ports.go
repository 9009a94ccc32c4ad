package probe

import (
	"errors"
	"fmt"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// errNoAddress is the error of a network probe of a pod without an address. The
// kubelet asks the loopback of the node instead.
var errNoAddress = errors.New("the pod has no IP address yet")

// ResolvePort finds the number of a port: as it is, by the name of a port of the
// container, or written as a number. It must be within 1 to 65535.
func ResolvePort(port intstr.IntOrString, ports []v1.ContainerPort) (int, error) {
	n := port.IntValue()
	if port.Type == intstr.String {
		named, err := lookupPort(port.StrVal, ports)
		if err != nil {
			return 0, err
		}
		n = named
	}
	if n < 1 || n > 65535 {
		return 0, fmt.Errorf("invalid port number: %d", n)
	}
	return n, nil
}

func lookupPort(name string, ports []v1.ContainerPort) (int, error) {
	for i := range ports {
		if ports[i].Name == name {
			return int(ports[i].ContainerPort), nil
		}
	}
	return strconv.Atoi(name)
}
