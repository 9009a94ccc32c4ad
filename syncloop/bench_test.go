//go:build unix

package syncloop_test

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
)

// BenchmarkNodeStart brings a node from nothing to all pods Running and ready on
// the fake runtime, with admission and a sink.
func BenchmarkNodeStart(b *testing.B) {
	for _, n := range []int{1000, 10000, 100000} {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			pods := make([]*v1.Pod, n)
			for i := range pods {
				pods[i] = numbered(i)
			}
			b.ReportAllocs()
			var cpu time.Duration
			rounds := 0
			for b.Loop() {
				b.StopTimer()
				debug.FreeOSMemory() // an agent starts once, with no memory of its own yet
				b.StartTimer()
				before := cpuTime(b)
				startNode(b, pods)
				cpu += cpuTime(b) - before
				rounds++
			}
			b.ReportMetric(float64(cpu.Nanoseconds())/float64(rounds*n), "ns-cpu/pod")
		})
	}
}

func startNode(b *testing.B, pods []*v1.Pod) {
	_, _, stop := runUntilReady(b, syncloop.Config{Runtime: runtimetest.NewFake(runtimetest.FakeConfig{})}, pods)
	stop()
}

// runUntilReady runs a loop with admission and a sink until all pods are Running and
// ready.
func runUntilReady(b *testing.B, cfg syncloop.Config, pods []*v1.Pod) (loop *syncloop.SyncLoop, updates chan podmanager.Update, stop func()) {
	fit := admission.AdmitFunc(func(_ context.Context, req admission.Request) (admission.Verdict, error) {
		if s := admission.Shortages(req.Pod, plenty, req.Ledger); len(s) > 0 {
			return admission.Rejected(s[0].Reason(), s[0].Message()), nil
		}
		return admission.Admitted(), nil
	})
	var mu sync.Mutex
	ready := make(map[types.UID]bool, len(pods))
	all := make(chan struct{})
	updates = make(chan podmanager.Update)
	cfg.Updates = updates
	cfg.Admission = &admission.Chain{Ledger: admission.NewLedger(), Checks: []admission.Check{{Name: "fit", Handler: fit}}}
	cfg.Sink = syncloop.StatusFunc(func(_ context.Context, u syncloop.StatusUpdate) error {
		mu.Lock()
		defer mu.Unlock()
		if u.Status.Phase == v1.PodRunning && u.Status.ContainerStatuses[0].Ready && !ready[u.Pod.UID] {
			ready[u.Pod.UID] = true
			if len(ready) == len(pods) {
				close(all)
			}
		}
		return nil
	})
	loop, err := syncloop.New(cfg)
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- loop.Run(ctx) }()
	updates <- podmanager.Update{Source: "api", Op: podmanager.OpAdd, Pods: pods}
	<-all
	return loop, updates, func() {
		cancel()
		require.NoError(b, <-done)
	}
}

var plenty = v1.ResourceList{v1.ResourcePods: resource.MustParse("1000000")}

// cpuTime is what this process has used of processors so far.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkStep is the price of one event in the bare loop.
func BenchmarkStep(b *testing.B) {
	events := make(chan syncloop.RuntimeEvent, 1)
	ch := syncloop.Channels{RuntimeEvents: events}
	var m syncloop.Monitor
	b.ReportAllocs()
	for b.Loop() {
		events <- syncloop.RuntimeEvent{UID: "uid"}
		syncloop.Step(context.Background(), ch, syncloop.HandlerFuncs{}, &m)
	}
}
