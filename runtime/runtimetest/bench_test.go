package runtimetest_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
)

// BenchmarkFakeStart starts a node's pods: one init container and two
// containers each. The figures of interest are the two a pod.
func BenchmarkFakeStart(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			pods := make([]*v1.Pod, n)
			for i := range pods {
				pods[i] = newPod(fmt.Sprintf("pod-%d", i), v1.Container{Name: "a", Image: "a"}, v1.Container{Name: "b", Image: "b"})
				pods[i].UID = types.UID(fmt.Sprintf("uid-%d", i))
				pods[i].Spec.InitContainers = []v1.Container{{Name: "init", Image: "init"}}
			}
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				f := runtimetest.NewFake(runtimetest.FakeConfig{})
				for _, pod := range pods {
					for range 2 { // the init container, then the others
						st, err := f.PodStatus(ctx, pod.UID)
						if err != nil {
							b.Fatal(err)
						}
						if _, err := f.SyncPod(ctx, runtime.SyncRequest{Pod: pod, Status: st}); err != nil {
							b.Fatal(err)
						}
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/pod")
		})
	}
}

// BenchmarkFakeList lists a node's pods, as a relist does.
func BenchmarkFakeList(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			f := runtimetest.NewFake(runtimetest.FakeConfig{})
			for i := range n {
				name := fmt.Sprintf("pod-%d", i)
				f.Invent(runtime.PodRef{UID: types.UID(name), Namespace: "default", Name: name}, "main")
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.ListPods(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
