//go:build linux

package process_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/process"
)

// startPods starts pods with one container each, eight at a time.
func startPods(b *testing.B, n *node, pods int) {
	b.Helper()
	free := make(chan struct{}, 8)
	var all sync.WaitGroup
	for i := range pods {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			sandbox, err := n.CreateSandbox(b.Context(), runtime.SandboxConfig{
				PodRef: runtime.PodRef{UID: types.UID(fmt.Sprint("uid-", i)), Namespace: "default", Name: fmt.Sprint("pod-", i)},
			})
			var id string
			if err == nil {
				id, err = n.CreateContainer(b.Context(), sandbox, n.config(fmt.Sprint("c", i), "exec sleep 1000000"))
			}
			if err == nil {
				err = n.StartContainer(b.Context(), id)
			}
			if err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
}

// BenchmarkStart starts pods until all of them run.
func BenchmarkStart(b *testing.B) {
	for _, pods := range []int{1, 100} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				n := &node{t: b, root: b.TempDir() + "/root", logs: b.TempDir()}
				n.open()
				b.StartTimer()
				startPods(b, n, pods)
				b.StopTimer()
				n.clear()
				b.StartTimer()
			}
		})
	}
}

// BenchmarkIdle has 100 pods that run and are watched, and measures what the
// keepers and the backend use meanwhile: CPU as a part of a core, memory as the
// proportional share (PSS) of a keeper.
func BenchmarkIdle(b *testing.B) {
	const pods, span = 100, 5 * time.Second
	n := &node{t: b, root: b.TempDir() + "/root", logs: b.TempDir()}
	n.open()
	defer n.clear()
	startPods(b, n, pods)
	go func() { _ = n.Watch(b.Context(), func(types.UID) {}) }()
	pids := keeperPIDs()
	require.Len(b, pids, pods)
	var cpu, elapsed time.Duration
	for b.Loop() {
		// The reading itself costs; its own is left out.
		before := cpuOf(b, pids...)
		own := cpuOf(b, "self")
		<-time.After(span)
		cpu += cpuOf(b, "self") - own
		cpu += cpuOf(b, pids...) - before
		elapsed += span
	}
	b.ReportMetric(100*cpu.Seconds()/elapsed.Seconds(), "%core")
	b.ReportMetric(memoryOf(b, pids...)/pods, "KiB/keeper")
}

func keeperPIDs() []string {
	var pids []string
	for _, k := range keepers() {
		pid, _, _ := strings.Cut(k, " ")
		pids = append(pids, pid)
	}
	return pids
}

// cpuOf is the CPU time of processes, all threads together.
func cpuOf(b *testing.B, pids ...string) (sum time.Duration) {
	for _, pid := range pids {
		threads, _ := filepath.Glob("/proc/" + pid + "/task/*/schedstat")
		for _, thread := range threads {
			data, err := os.ReadFile(thread)
			require.NoError(b, err)
			ns, err := strconv.ParseInt(strings.Fields(string(data))[0], 10, 64)
			require.NoError(b, err)
			sum += time.Duration(ns)
		}
	}
	return sum
}

// memoryOf is the proportional share of memory of processes, in KiB.
func memoryOf(b *testing.B, pids ...string) (kib float64) {
	for _, pid := range pids {
		data, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
		require.NoError(b, err)
		for line := range bytes.Lines(data) {
			if fields := strings.Fields(string(line)); fields[0] == "Pss:" {
				n, _ := strconv.ParseFloat(fields[1], 64)
				kib += n
			}
		}
	}
	return kib
}

// BenchmarkLook reads the status of one pod of many.
func BenchmarkLook(b *testing.B) {
	for _, pods := range []int{1, 100} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			n := &node{t: b, root: b.TempDir() + "/root", logs: b.TempDir()}
			n.open()
			defer n.clear()
			startPods(b, n, pods)
			b.ReportAllocs()
			for b.Loop() {
				list, err := n.ListContainers(b.Context(), runtime.Filter{PodUID: "uid-0"})
				require.NoError(b, err)
				require.Len(b, list, 1)
			}
		})
	}
}

var _ runtime.Backend = (*process.Backend)(nil)
