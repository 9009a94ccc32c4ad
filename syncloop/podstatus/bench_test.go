package podstatus_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// BenchmarkCompute is a status of a pod in which nothing changed.
func BenchmarkCompute(b *testing.B) {
	for _, n := range []int{2, 20} {
		b.Run(fmt.Sprintf("containers=%d", n), func(b *testing.B) {
			pod := newPod()
			pod.Spec.Containers = nil
			var runs []runtime.ContainerStatus
			for i := range n {
				name := fmt.Sprintf("c%d", i)
				pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: name, Image: "img"})
				runs = append(runs, running(name))
			}
			r := podstatus.Compute(input(pod, runs...))
			in := after(r, pod, runs...)
			in.HostIPs = []string{"192.0.2.1"}
			b.ReportAllocs()
			for b.Loop() {
				podstatus.Compute(in)
			}
		})
	}
}
