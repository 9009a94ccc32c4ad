package podstatus

import (
	"net/netip"

	v1 "k8s.io/api/core/v1"
)

// addresses sets the IPs of pod and host: at most one a family, that of the
// node's primary address first. A pod in the host's network has the node's.
func (b *builder) addresses() {
	hosts := parseAll(b.in.HostIPs)
	primary4 := len(hosts) == 0 || hosts[0].Is4()
	hosts = onePerFamily(hosts, primary4)

	var pods []netip.Addr
	if b.in.Observed != nil {
		pods = onePerFamily(parseAll(b.in.Observed.IPs), primary4)
	}
	if b.in.Pod.Spec.HostNetwork {
		pods = onePerFamily(append(pods, hosts...), primary4)
	}
	for _, ip := range hosts {
		b.status.HostIPs = append(b.status.HostIPs, v1.HostIP{IP: ip.String()})
	}
	for _, ip := range pods {
		b.status.PodIPs = append(b.status.PodIPs, v1.PodIP{IP: ip.String()})
	}
	if len(hosts) > 0 {
		b.status.HostIP = b.status.HostIPs[0].IP
	}
	if len(pods) > 0 {
		b.status.PodIP = b.status.PodIPs[0].IP
	}
}

// parseAll parses addresses and leaves out what is none.
func parseAll(texts []string) []netip.Addr {
	addrs := make([]netip.Addr, 0, len(texts))
	for _, text := range texts {
		if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
			addrs = append(addrs, a.Unmap())
		}
	}
	return addrs
}

// onePerFamily keeps the first address of each family, the primary one first.
func onePerFamily(addrs []netip.Addr, primary4 bool) []netip.Addr {
	var kept []netip.Addr
	for _, want4 := range []bool{primary4, !primary4} {
		for _, a := range addrs {
			if a.Is4() == want4 {
				kept = append(kept, a)
				break
			}
		}
	}
	return kept
}
