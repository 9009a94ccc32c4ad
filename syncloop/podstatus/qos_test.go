package podstatus_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

func TestQOS(t *testing.T) {
	list := func(cpu, memory string) v1.ResourceList {
		l := v1.ResourceList{}
		if cpu != "" {
			l[v1.ResourceCPU] = resource.MustParse(cpu)
		}
		if memory != "" {
			l[v1.ResourceMemory] = resource.MustParse(memory)
		}
		return l
	}
	with := func(i int, requests, limits v1.ResourceList) func(*v1.Pod) {
		return func(p *v1.Pod) {
			p.Spec.Containers[i].Resources = v1.ResourceRequirements{Requests: requests, Limits: limits}
		}
	}
	full := list("1", "1Gi")
	tests := []struct {
		name string
		pod  *v1.Pod
		want v1.PodQOSClass
	}{
		{"nothing set", newPod(), v1.PodQOSBestEffort},
		{"zero does not count", newPod(with(0, list("0", "0"), nil)), v1.PodQOSBestEffort},
		{"one request", newPod(with(0, list("1", ""), nil)), v1.PodQOSBurstable},
		{"requests are limits", newPod(with(0, full, full)), v1.PodQOSGuaranteed},
		{"requests below limits", newPod(with(0, list("500m", "1Gi"), full)), v1.PodQOSBurstable},
		{"a container without limits", newPod(withC1, with(0, full, full)), v1.PodQOSBurstable},
		{"an init container without limits", newPod(withInit, with(0, full, full)), v1.PodQOSBurstable},
		{"only the sums are equal", newPod(withC1, with(0, list("1", "1Gi"), list("2", "1Gi")), with(1, list("2", "1Gi"), list("1", "1Gi"))), v1.PodQOSGuaranteed},
		{"empty resources of the pod", newPod(with(0, full, full), func(p *v1.Pod) { p.Spec.Resources = &v1.ResourceRequirements{} }), v1.PodQOSBestEffort},
		{"limits of the pod alone", newPod(func(p *v1.Pod) { p.Spec.Resources = &v1.ResourceRequirements{Limits: full} }), v1.PodQOSBurstable},
		{"said before", newPod(func(p *v1.Pod) { p.Status.QOSClass = v1.PodQOSGuaranteed }), v1.PodQOSGuaranteed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, podstatus.QOS(tt.pod))
		})
	}
}
