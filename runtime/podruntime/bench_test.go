package podruntime_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/podruntime"
)

// A pass over a pod that needs nothing, with the read of its status before it
// and without. What other pods there are makes no difference.
func BenchmarkSyncPodIdle(b *testing.B) {
	for _, pods := range []int{1, 1000} {
		n := newNode(b, nil, podruntime.Config{})
		for i := range pods {
			n.settle(newPod(fmt.Sprint("other-", i), container("a"), container("b")))
		}
		pod := newPod("web", container("a"), container("b"))
		n.settle(pod)
		req := runtime.SyncRequest{Pod: pod, Status: n.status(pod)}
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if res, err := n.SyncPod(b.Context(), req); err != nil || res.Acted {
					b.Fatal(res, err)
				}
			}
		})
		b.Run(fmt.Sprintf("read/pods=%d", pods), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := n.PodStatus(b.Context(), pod.UID); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A pod of two containers from nothing to running, killed and removed, folders
// and log folders included.
func BenchmarkStartPod(b *testing.B) {
	n := newNode(b, nil, podruntime.Config{})
	b.ReportAllocs()
	for b.Loop() {
		pod := newPod("web", container("a"), container("b"))
		req := runtime.SyncRequest{Pod: pod, Status: n.status(pod)}
		if _, err := n.SyncPod(b.Context(), req); err != nil {
			b.Fatal(err)
		}
		if err := n.kill(pod, time.Second); err != nil {
			b.Fatal(err)
		}
		if err := n.RemovePod(b.Context(), pod.UID); err != nil {
			b.Fatal(err)
		}
	}
}

// A list of all pods, which grows with their number.
func BenchmarkListPods(b *testing.B) {
	for _, pods := range []int{100, 1000} {
		n := newNode(b, nil, podruntime.Config{})
		for i := range pods {
			n.settle(newPod(fmt.Sprint("pod-", i), container("a"), container("b")))
		}
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := n.ListPods(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
