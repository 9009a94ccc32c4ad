package eviction_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/eviction"
)

// However pods come, change and go, and are measured meanwhile, the decision is
// the one over a set that is made anew.
func TestPodsThatComeAndGo(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		set := eviction.NewPods(nil)
		var pods []*v1.Pod // in the order in which they came
		stats := map[types.UID]*eviction.PodStats{}
		for step := range 60 {
			name := fmt.Sprint(rnd.IntN(8))
			uid := types.UID("uid-" + name)
			at := -1
			for i, p := range pods {
				if p.UID == uid {
					at = i
				}
			}
			switch rnd.IntN(6) {
			case 0, 1:
				p := podWith(name, int32(rnd.IntN(3)), memory(fmt.Sprint(1+rnd.IntN(50))))
				if rnd.IntN(2) == 0 {
					p.Spec.Volumes = []v1.Volume{emptyDir("cache", "20")}
				}
				if set.Put(p); at < 0 {
					pods = append(pods, p)
				} else {
					pods[at] = p
				}
			case 2:
				if set.Remove(uid); at >= 0 {
					pods = append(pods[:at], pods[at+1:]...)
					delete(stats, uid)
				}
			case 3, 4:
				s := usesMemory(uint64(rnd.IntN(60)))
				s.Volumes = []eviction.VolumeStats{{Name: "cache", FsStats: eviction.FsStats{UsedBytes: new(uint64(rnd.IntN(40)))}}}
				if rnd.IntN(5) == 0 {
					s = nil
				}
				if set.Measure(uid, s); at >= 0 {
					stats[uid] = s
				}
			case 5:
				if rnd.IntN(10) == 0 {
					set.Unmeasure()
					clear(stats)
				}
			}
			anew := eviction.PodsOf(pods...)
			for uid, s := range stats {
				anew.Measure(uid, s)
			}
			got, want := input(t, "1Mi"), input(t, "1Mi")
			got.Pods, want.Pods = set, anew
			require.Equal(t, told(want), told(got), "seed %d, step %d", seed, step)
			require.Equal(t, len(pods), set.Len())
		}
	}
}

// told is what a round decides about pods.
func told(in eviction.Input) []string {
	var lines []string
	out := eviction.Evaluate(in)
	for _, v := range out.Over {
		lines = append(lines, v.Pod.Name+": "+v.Message)
	}
	for _, signal := range []eviction.Signal{eviction.MemoryAvailable, eviction.NodeFsAvailable} {
		for _, p := range eviction.Rank(in.Policy, signal, in.Pods) {
			lines = append(lines, p.Pod.Name+": "+p.Reason)
		}
	}
	return lines
}
