package podstatus_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

func TestAddresses(t *testing.T) {
	tests := []struct {
		name        string
		hostNetwork bool
		host, pod   []string
		wantHost    []string
		wantPod     []string
	}{
		{name: "none"},
		{name: "one", pod: []string{"10.1.2.3"}, host: []string{"192.0.2.1"}, wantPod: []string{"10.1.2.3"}, wantHost: []string{"192.0.2.1"}},
		{name: "IPv4 first without a node address", pod: []string{"fd00::2", "10.1.2.3"}, wantPod: []string{"10.1.2.3", "fd00::2"}},
		{name: "node's family first", pod: []string{"10.1.2.3", "fd00::2"}, host: []string{"fd00::1"}, wantPod: []string{"fd00::2", "10.1.2.3"}, wantHost: []string{"fd00::1"}},
		{name: "one a family", pod: []string{"10.1.2.3", "10.1.2.4", "fd00::2", "fd00::3"}, wantPod: []string{"10.1.2.3", "fd00::2"}},
		{name: "other family alone", pod: []string{"fd00::2"}, host: []string{"192.0.2.1"}, wantPod: []string{"fd00::2"}, wantHost: []string{"192.0.2.1"}},
		{name: "canonical form", pod: []string{"FD00:0:0::0002"}, wantPod: []string{"fd00::2"}},
		{name: "nonsense", pod: []string{"", "10.1.2", "fe80::1%eth0"}},
		{name: "host network", hostNetwork: true, host: []string{"192.0.2.1", "fd00::1"}, wantPod: []string{"192.0.2.1", "fd00::1"}, wantHost: []string{"192.0.2.1", "fd00::1"}},
		{name: "host network, set before", hostNetwork: true, pod: []string{"192.0.2.9"}, host: []string{"192.0.2.1", "fd00::1"}, wantPod: []string{"192.0.2.9", "fd00::1"}, wantHost: []string{"192.0.2.1", "fd00::1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := input(newPod(func(p *v1.Pod) { p.Spec.HostNetwork = tt.hostNetwork }))
			in.Observed.IPs, in.HostIPs = tt.pod, tt.host
			s := podstatus.Compute(in).Status
			var pod, host []string
			for _, ip := range s.PodIPs {
				pod = append(pod, ip.IP)
			}
			for _, ip := range s.HostIPs {
				host = append(host, ip.IP)
			}
			require.Equal(t, tt.wantPod, pod)
			require.Equal(t, tt.wantHost, host)
			if len(pod) > 0 {
				require.Equal(t, pod[0], s.PodIP)
			}
			if len(host) > 0 {
				require.Equal(t, host[0], s.HostIP)
			}
		})
	}
}
