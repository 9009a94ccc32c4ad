package admission

import v1 "k8s.io/api/core/v1"

// hostPort is one port of the node that a pod holds.
type hostPort struct {
	ip       string
	protocol v1.Protocol
	port     int32
}

const anyAddress = "0.0.0.0"

// HostPorts lists the ports of the node that a pod asks for: those of its
// containers and sidecars. Plain init and ephemeral containers have none.
func HostPorts(pod *v1.Pod) []v1.ContainerPort {
	if pod == nil {
		return nil
	}
	var ports []v1.ContainerPort
	collect := func(c *v1.Container) {
		for _, p := range c.Ports {
			if p.HostPort > 0 {
				ports = append(ports, p)
			}
		}
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways {
			collect(c)
		}
	}
	for i := range pod.Spec.Containers {
		collect(&pod.Spec.Containers[i])
	}
	return ports
}

func portKey(p v1.ContainerPort) hostPort {
	key := hostPort{ip: p.HostIP, protocol: p.Protocol, port: p.HostPort}
	if key.ip == "" {
		key.ip = anyAddress
	}
	if key.protocol == "" {
		key.protocol = v1.ProtocolTCP
	}
	return key
}

// portTable is a multiset of ports by protocol and number, and within them by
// address: two holders of one port free it only when both are gone.
type portTable map[protocolPort]map[string]int

type protocolPort struct {
	protocol v1.Protocol
	port     int32
}

func (t portTable) add(p hostPort, n int) {
	key := protocolPort{p.protocol, p.port}
	holders := t[key]
	if holders == nil {
		holders = make(map[string]int)
		t[key] = holders
	}
	if holders[p.ip] += n; holders[p.ip] == 0 {
		delete(holders, p.ip)
	}
	if len(holders) == 0 {
		delete(t, key)
	}
}

// HostPortTaken tells whether a port of the node is held in a way that excludes
// the one given: the same protocol and number, and the same address or one side
// without an address.
func (l *Ledger) HostPortTaken(p v1.ContainerPort) bool { return l.portTaken(portKey(p)) }

func (l *Ledger) portTaken(want hostPort) bool {
	key := protocolPort{want.protocol, want.port}
	if want.ip != anyAddress {
		return l.holders(key, anyAddress) > 0 || l.holders(key, want.ip) > 0
	}
	for level := l; level != nil; level = level.parent {
		for ip := range level.ports[key] {
			if l.holders(key, ip) > 0 {
				return true
			}
		}
	}
	return false
}

func (l *Ledger) holders(key protocolPort, ip string) int {
	n := 0
	for level := l; level != nil; level = level.parent {
		n += level.ports[key][ip]
	}
	return n
}
