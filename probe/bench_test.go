package probe_test

import (
	"context"
	"fmt"
	goruntime "runtime"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/runtime"
)

var free = probe.Func(func(context.Context, probe.Target) (probe.Response, error) {
	return probe.Response{Result: probe.Success}, nil
})

// benchPod has two containers with a readiness probe each, as the pods that the
// kubelet was measured with.
func benchPod(i int) (runtime.PodRef, []probe.Container) {
	uid := types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", i))
	ref := runtime.PodRef{UID: uid, Namespace: "default", Name: fmt.Sprintf("pod-%d", i)}
	var containers []probe.Container
	for _, name := range []string{"main", "side"} {
		containers = append(containers, probe.Container{
			Name: name, IP: "127.0.0.1",
			State: probe.State{ContainerID: name + string(uid), Running: true, StartedAt: time.Now().Add(-time.Hour)},
			Probes: []probe.Probe{{
				Name: "readiness", Kind: probe.Readiness, Settings: probe.Settings{Period: 10 * time.Second},
				Action: v1.ProbeHandler{Exec: benchCommand},
			}},
		})
	}
	return ref, containers
}

var benchCommand = &v1.ExecAction{Command: []string{"true"}}

func benchManager(b *testing.B, probes int) *probe.Manager {
	m, err := probe.NewManager(probe.Config{Prober: free})
	if err != nil {
		b.Fatal(err)
	}
	for i := range probes / 2 {
		ref, containers := benchPod(i)
		m.Set(ref, containers...)
	}
	return m
}

// BenchmarkIdleProbes is what probes cost that succeed every 10 seconds: memory
// and goroutines. An operation is a second of it.
func BenchmarkIdleProbes(b *testing.B) {
	goruntime.KeepAlive(benchManager(b, 100)) // what is made once
	for _, probes := range []int{100, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("probes=%d", probes), func(b *testing.B) {
			b.ReportAllocs()
			before, goroutines := heapNow(), goruntime.NumGoroutine()
			m := benchManager(b, probes)
			ctx, stop := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() { defer close(done); m.Run(ctx) }()
			second := time.NewTicker(time.Second)
			defer second.Stop()
			for b.Loop() {
				<-second.C
			}
			b.ReportMetric(float64(goruntime.NumGoroutine()-goroutines), "goroutines")
			b.ReportMetric(float64(int64(heapNow())-int64(before))/float64(probes), "B/probe")
			stop()
			<-done
			goruntime.KeepAlive(m)
		})
	}
}

func heapNow() uint64 {
	goruntime.GC()
	goruntime.GC()
	var s goruntime.MemStats
	goruntime.ReadMemStats(&s)
	return s.HeapAlloc
}

// BenchmarkAddRemovePod adds and removes one pod beside those that are there.
func BenchmarkAddRemovePod(b *testing.B) {
	for _, probes := range []int{100, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("probes=%d", probes), func(b *testing.B) {
			m := benchManager(b, probes)
			ref, containers := benchPod(probes)
			b.ReportAllocs()
			for b.Loop() {
				m.Set(ref, containers...)
				m.Remove(ref.UID)
			}
		})
	}
}

// BenchmarkUpdatePod tells the manager the same of one pod again and again.
func BenchmarkUpdatePod(b *testing.B) {
	for _, probes := range []int{100, 100_000} {
		b.Run(fmt.Sprintf("probes=%d", probes), func(b *testing.B) {
			m := benchManager(b, probes)
			ref, containers := benchPod(0)
			b.ReportAllocs()
			for b.Loop() {
				m.Set(ref, containers...)
			}
		})
	}
}

// BenchmarkTracker is one attempt as far as rules go.
func BenchmarkTracker(b *testing.B) {
	now := time.Now()
	t := probe.NewTracker(probe.Readiness, probe.Settings{}, 0)
	t.Look(now, probe.State{ContainerID: "1", Running: true, StartedAt: now, Started: true})
	b.ReportAllocs()
	for b.Loop() {
		now = t.Due()
		t.Record(now, probe.Attempt{Response: probe.Response{Result: probe.Success}})
	}
}
