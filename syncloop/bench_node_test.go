//go:build unix

package syncloop_test

import (
	"context"
	"fmt"
	"io"
	goruntime "runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/synclooptest"
)

// thousands makes ten thousand pods.
func thousands() []*v1.Pod {
	pods := make([]*v1.Pod, 10000)
	for i := range pods {
		pods[i] = numbered(i)
	}
	return pods
}

// BenchmarkRestart is an agent that starts on a node whose pods run, until all of
// them are known to be ready. No container is touched.
func BenchmarkRestart(b *testing.B) {
	pods := thousands()
	b.Run(fmt.Sprintf("pods=%d", len(pods)), func(b *testing.B) {
		var acted atomic.Int64
		rt := runtimetest.Intercept(runtimetest.NewFake(runtimetest.FakeConfig{}), runtimetest.Funcs{
			SyncPod: func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
				res, err := rt.SyncPod(ctx, req)
				if res.Acted {
					acted.Add(1)
				}
				return res, err
			},
			KillPod: func(ctx context.Context, rt runtime.Runtime, req runtime.KillRequest) error {
				acted.Add(1)
				return rt.KillPod(ctx, req)
			},
		})
		cfg := syncloop.Config{Runtime: rt, Store: &synclooptest.Store{}}
		_, _, stop := runUntilReady(b, cfg, pods)
		stop()
		require.EqualValues(b, len(pods), acted.Swap(0))
		var cpu time.Duration
		rounds := 0
		for b.Loop() {
			before := cpuTime(b)
			_, _, stop := runUntilReady(b, cfg, pods)
			cpu += cpuTime(b) - before
			rounds++
			b.StopTimer()
			stop()
			b.StartTimer()
		}
		require.Zero(b, acted.Load(), "no container is touched")
		b.ReportMetric(float64(cpu.Nanoseconds())/float64(rounds*len(pods)), "ns-cpu/pod")
	})
}

// BenchmarkDump writes the dump of a node, and has the loop deal with empty updates
// meanwhile: ms-held is the longest that one of them waited for it.
func BenchmarkDump(b *testing.B) {
	pods := thousands()
	b.Run(fmt.Sprintf("pods=%d", len(pods)), func(b *testing.B) {
		loop, updates, stop := runUntilReady(b, syncloop.Config{Runtime: runtimetest.NewFake(runtimetest.FakeConfig{})}, pods)
		defer stop()
		comeToRest(b.Context(), updates)
		ctx, cancel := context.WithCancel(b.Context())
		held := make(chan time.Duration)
		go func() { held <- longestWait(ctx, updates) }()
		for b.Loop() {
			require.NoError(b, loop.Dump(io.Discard))
		}
		cancel()
		b.ReportMetric(float64((<-held).Microseconds())/1000, "ms-held")
	})
}

// comeToRest waits until the start of the pods, with the first lists and clean-ups,
// is over for the loop too.
func comeToRest(ctx context.Context, updates chan<- podmanager.Update) {
	for busy := true; busy; {
		moment, cancel := context.WithTimeout(ctx, 3*time.Second)
		busy = longestWait(moment, updates) > 10*time.Millisecond
		cancel()
	}
}

// longestWait hands the loop an empty update each millisecond.
func longestWait(ctx context.Context, updates chan<- podmanager.Update) (longest time.Duration) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return longest
		case <-tick.C:
			began := time.Now()
			updates <- podmanager.Update{Source: "api", Op: podmanager.OpAdd}
			longest = max(longest, time.Since(began))
		}
	}
}

// BenchmarkIdle is a node on which nothing happens: what it takes of a processor, of
// memory beside the pods and the fake runtime, and how many goroutines there are.
func BenchmarkIdle(b *testing.B) {
	pods := thousands()
	b.Run(fmt.Sprintf("pods=%d", len(pods)), func(b *testing.B) {
		// A pod is looked at every 75 s on average, for the first time after 60.
		const before, span = 60 * time.Second, 75 * time.Second
		fake := runtimetest.NewFake(runtimetest.FakeConfig{})
		_, _, stop := runUntilReady(b, syncloop.Config{Runtime: fake}, pods)
		stop()
		heap, goroutines := liveHeap(), goruntime.NumGoroutine()
		_, _, stop = runUntilReady(b, syncloop.Config{Runtime: fake}, pods)
		defer stop()
		<-time.After(before)
		var cpu, elapsed time.Duration
		for b.Loop() {
			from := cpuTime(b)
			<-time.After(span)
			cpu += cpuTime(b) - from
			elapsed += span
		}
		b.ReportMetric(100*cpu.Seconds()/elapsed.Seconds(), "%core")
		b.ReportMetric((liveHeap()-heap)/float64(len(pods)), "B/pod")
		b.ReportMetric(float64(goruntime.NumGoroutine()-goroutines), "goroutines")
	})
}

// liveHeap is what lives on the heap.
func liveHeap() float64 {
	var m goruntime.MemStats
	goruntime.GC()
	goruntime.GC()
	goruntime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
