package eviction_test

import (
	"context"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/eviction"
	"github.com/kubeparts/kubeparts/eviction/evictiontest"
)

var sizes = []int{110, 1000, 10_000, 100_000}

// benchInput is a node of pods with two containers, every tenth with an emptyDir
// limit.
func benchInput(n int, available string) eviction.Input {
	settings := eviction.Settings{Hard: map[string]string{
		"memory.available": "1Gi", "nodefs.available": "10%", "nodefs.inodesFree": "5%", "imagefs.available": "15%", "pid.available": "10%",
	}}
	policy, err := settings.Policy()
	if err != nil {
		panic(err)
	}
	in := eviction.Input{
		Policy: policy, Pods: eviction.NewPods(nil), Now: at(0),
		Observations: []eviction.Observation{
			seen(eviction.MemoryAvailable, available, "64Gi", 0), seen(eviction.NodeFsAvailable, "50Gi", "100Gi", 0),
			seen(eviction.NodeFsInodesFree, "5M", "10M", 0), seen(eviction.ImageFsAvailable, "50Gi", "100Gi", 0), seen(eviction.PIDAvailable, "20k", "32k", 0),
		},
	}
	for i := range n {
		pod := podWith(fmt.Sprintf("pod-%06d", i), int32(i%7), memory(fmt.Sprintf("%dMi", 64+i%64)))
		pod.UID = types.UID(fmt.Sprintf("6f9619ff-8b86-d011-b42d-%012d", i))
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: "d", Resources: pod.Spec.Containers[0].Resources})
		if i%10 == 0 {
			pod.Spec.Volumes = []v1.Volume{emptyDir("cache", "1Gi")}
		}
		in.Pods.Put(pod)
		fs := eviction.FsStats{UsedBytes: new(uint64(1 << 20)), InodesUsed: new(uint64(10))}
		container := eviction.ContainerStats{Memory: &eviction.MemoryStats{WorkingSetBytes: new(uint64(50 << 20))}, Rootfs: &fs, Logs: &fs}
		stats := usesMemory(uint64(100+i*31%200) << 20)
		first, second := container, container
		first.Name, second.Name = "c", "d"
		stats.Containers = []eviction.ContainerStats{first, second}
		stats.Volumes = []eviction.VolumeStats{{Name: "cache", FsStats: fs}}
		stats.EphemeralStorage = &fs
		in.Pods.Measure(pod.UID, stats)
	}
	return in
}

func BenchmarkEvaluate(b *testing.B) {
	for _, c := range []struct{ name, available string }{{"calm", "32Gi"}, {"pressure", "100Mi"}} {
		for _, n := range sizes {
			b.Run(fmt.Sprintf("%s/pods=%d", c.name, n), func(b *testing.B) {
				in := benchInput(n, c.available)
				b.ReportAllocs()
				for b.Loop() {
					if out := eviction.Evaluate(in); (out.Victim != nil) != (c.name == "pressure") {
						b.Fatal(out.Victim)
					}
				}
			})
		}
	}
}

func BenchmarkRanking(b *testing.B) {
	for _, n := range sizes[:3] {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			in := benchInput(n, "100Mi")
			out := eviction.Evaluate(in)
			b.ReportAllocs()
			for b.Loop() {
				if len(out.Ranking()) != n {
					b.Fatal(n)
				}
			}
		})
	}
}

// BenchmarkRound is a whole round, with reading the stats of pods out of a map.
func BenchmarkRound(b *testing.B) {
	for _, c := range []struct {
		name string
		free int64
	}{{"calm", 32 << 30}, {"pressure", 100 << 20}} {
		for _, n := range sizes[:3] {
			b.Run(fmt.Sprintf("%s/pods=%d", c.name, n), func(b *testing.B) {
				in := benchInput(n, "32Gi")
				var node evictiontest.Stats
				node.Set(eviction.MemoryAvailable, c.free, 64<<30)
				var pods []*v1.Pod
				for p := range in.Pods.All() {
					pods = append(pods, p)
					node.SetPodMemory(p.UID, uint64(p.UID[len(p.UID)-1])<<20)
				}
				killed := 0
				m, err := eviction.NewManager(eviction.Config{
					Policy: in.Policy, Stats: &node, Pods: func() []*v1.Pod { return pods },
					Kill: func(context.Context, eviction.Victim) error { killed++; return nil },
				})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					if _, err := m.Round(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				if (killed > 0) != (c.name == "pressure") {
					b.Fatal(killed)
				}
			})
		}
	}
}

// BenchmarkPodsSet is what a round pays for learning that no pod changed.
func BenchmarkPodsSet(b *testing.B) {
	for _, n := range sizes[:3] {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			in := benchInput(n, "32Gi")
			var list []*v1.Pod
			for p := range in.Pods.All() {
				list = append(list, p)
			}
			b.ReportAllocs()
			for b.Loop() {
				in.Pods.Set(list)
			}
		})
	}
}
