package runtime_test

import (
	"fmt"
	"testing"

	"github.com/kubeparts/kubeparts/runtime"
)

// BenchmarkPlan plans for a pod with which all is well, and for one of whose
// containers each has crashed.
func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{2, 20} {
		names, running, crashed := "s0 ", "", ""
		for i := range n - 1 {
			names += fmt.Sprintf("c%d ", i)
			running += fmt.Sprintf("c%d=running c%d=exited:1 ", i, i)
			crashed += fmt.Sprintf("c%d=exited:1 c%d=exited:1 ", i, i)
		}
		pod := newPod(always, names)
		for _, state := range []struct{ name, seen string }{
			{"running", running + "s0=running"}, {"crashed", crashed + "s0=running"},
		} {
			b.Run(fmt.Sprintf("containers=%d/%s", n, state.name), func(b *testing.B) {
				in := runtime.PlanInput{Pod: pod, Status: observe(pod, state.seen), Now: now}
				in.Backoff = runtime.Plan(in).Backoff
				b.ReportAllocs()
				for b.Loop() {
					runtime.Plan(in)
				}
			})
		}
	}
}

func BenchmarkExpand(b *testing.B) {
	vars := lookup(map[string]string{"HOST": "localhost", "PORT": "8080"})
	b.ReportAllocs()
	for b.Loop() {
		runtime.Expand("http://$(HOST):$(PORT)/$(PATH)?a=$$b", vars)
	}
}
