package admission_test

import (
	"fmt"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/internal/steady"
)

// nodeOf is a chain with all checks of the kubelet over a node on which n pods
// run, with room for more.
func nodeOf(b *testing.B, n int) *admission.Chain {
	b.Helper()
	node := newNode(resources("pods", "1000000", "cpu", "1000000", "memory", "140737488355328"))
	chain := &admission.Chain{
		Ledger: admission.NewLedger(),
		Nodes:  admission.FixedNode(node),
		Checks: admission.KubeletChecks(admission.Kubelet{}),
	}
	for i := range n {
		if err := chain.Enter(newPod(fmt.Sprint("p", i), resources("cpu", "1m", "memory", "1Mi"))); err != nil {
			b.Fatal(err)
		}
	}
	return chain
}

func twoContainers() *v1.Pod {
	pod := newPod("new", resources("cpu", "10m", "memory", "10Mi"))
	pod.Spec.Containers = append(pod.Spec.Containers, pod.Spec.Containers[0])
	return pod
}

var sizes = []int{110, 1_000, 10_000, 100_000}

func BenchmarkAdmit(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			chain, pod := nodeOf(b, n), twoContainers()
			admit := func() {
				if d, err := chain.Admit(b.Context(), pod); err != nil || d.Outcome != admission.Admit {
					b.Fatal(d, err)
				}
			}
			steady.Reach(admit)
			b.ReportAllocs()
			for b.Loop() {
				admit()
			}
		})
	}
}

// A rejection costs no more than an admission.
func BenchmarkReject(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			chain := nodeOf(b, n)
			pod := newPod("new", resources("cpu", "2000000", "memory", "10Mi"))
			pod.Spec.Containers = append(pod.Spec.Containers, pod.Spec.Containers[0])
			admit := func() {
				if d, err := chain.Admit(b.Context(), pod); err != nil || d.Outcome != admission.Reject {
					b.Fatal(d, err)
				}
			}
			steady.Reach(admit)
			b.ReportAllocs()
			for b.Loop() {
				admit()
			}
		})
	}
}

func BenchmarkCheckPrepared(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			chain := nodeOf(b, n)
			pod := chain.Prepare(twoContainers())
			b.ReportAllocs()
			for b.Loop() {
				if d, err := chain.CheckPrepared(b.Context(), pod); err != nil || d.Outcome != admission.Admit {
					b.Fatal(d, err)
				}
			}
		})
	}
}

// BenchmarkCheckPreparedOnForks asks from eight goroutines, each on a fork of
// its own; one turn is eight checks.
func BenchmarkCheckPreparedOnForks(b *testing.B) {
	chain := nodeOf(b, 10_000)
	pod := chain.Prepare(twoContainers())
	ctx := b.Context()
	b.ReportAllocs()
	var wg sync.WaitGroup
	for range 8 {
		own := *chain
		own.Ledger = chain.Ledger.Fork()
		wg.Go(func() {
			for range b.N {
				if d, err := own.CheckPrepared(ctx, pod); err != nil || d.Outcome != admission.Admit {
					b.Error(d, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkFork(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			chain := nodeOf(b, n)
			pod := newPod("other", nil)
			b.ReportAllocs()
			for b.Loop() {
				fork := chain.Ledger.Fork()
				if err := fork.Add(pod); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPreempt(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			chain := nodeOf(b, n)
			critical := newPod("critical", nil)
			priority := admission.CriticalPriority
			critical.Spec.Priority = &priority
			needs := []admission.Need{{Resource: "cpu", Quantity: 3}, {Resource: "memory", Quantity: 2 << 20}}
			b.ReportAllocs()
			for b.Loop() {
				if p, err := chain.Ledger.Plan(critical, needs); err != nil || len(p.Victims) != 3 {
					b.Fatal(p, err)
				}
			}
		})
	}
}
