package eviction_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/eviction"
)

func emptyDir(name, limit string) v1.Volume {
	q := resource.MustParse(limit)
	return v1.Volume{Name: name, VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{SizeLimit: &q}}}
}

// podWith is a pod of one container with requests and a priority.
func podWith(name string, priority int32, requests v1.ResourceList) *v1.Pod {
	p := namedPod(name)
	p.Spec.Priority = &priority
	p.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: requests}}}
	return p
}

func memory(s string) v1.ResourceList {
	return v1.ResourceList{v1.ResourceMemory: resource.MustParse(s)}
}

func usesMemory(bytes uint64) *eviction.PodStats {
	return &eviction.PodStats{Memory: &eviction.MemoryStats{WorkingSetBytes: &bytes}}
}

// input is a round of a node with some memory left of 10Gi, hard threshold 1Gi.
func input(t *testing.T, available string, pods ...*v1.Pod) eviction.Input {
	return eviction.Input{
		Policy: eviction.Policy{
			Thresholds:       mustThresholds(t, eviction.Settings{Hard: map[string]string{"memory.available": "1Gi"}}),
			TransitionPeriod: 5 * time.Minute, LocalStorageLimits: true,
		},
		Observations: []eviction.Observation{seen(eviction.MemoryAvailable, available, "10Gi", 0)},
		Pods:         eviction.PodsOf(pods...),
		Now:          at(0),
	}
}

func seen(s eviction.Signal, available, capacity string, seconds int64) eviction.Observation {
	a, c := resource.MustParse(available), resource.MustParse(capacity)
	return eviction.Observation{Signal: s, Available: a.Value(), Capacity: c.Value(), Time: at(seconds)}
}

// next is the round some time after another.
func next(in eviction.Input, out eviction.Outcome, available string, seconds int64) eviction.Input {
	in.State, in.Now = out.State, at(seconds)
	in.Observations = []eviction.Observation{seen(eviction.MemoryAvailable, available, "10Gi", seconds)}
	return in
}

func TestCalmRoundDecidesNothing(t *testing.T) {
	out := eviction.Evaluate(input(t, "5Gi", namedPod("a")))
	require.Empty(t, out.Conditions)
	require.Nil(t, out.Victim)
	require.Empty(t, out.Short)
	require.Empty(t, out.Events)
	require.Nil(t, out.Ranking())
}

func TestMemoryRanking(t *testing.T) {
	in := input(t, "1Mi",
		podWith("guaranteed-low", -1, memory("1Gi")), podWith("burstable-below", 0, memory("100Mi")),
		podWith("burstable-above", 0, memory("100Mi")), podWith("best-effort-high", 9, nil), podWith("best-effort-low", -1, nil),
	)
	for name, used := range map[types.UID]uint64{
		"guaranteed-low": 900, "burstable-below": 50, "burstable-above": 400, "best-effort-high": 400, "best-effort-low": 100,
	} {
		in.Pods.Measure("uid-"+name, usesMemory(used<<20))
	}
	out := eviction.Evaluate(in)
	require.Equal(t, "best-effort-low", out.Victim.Pod.Name)
	var order, reasons []string
	for _, p := range out.Ranking() {
		order, reasons = append(order, p.Pod.Name), append(reasons, p.Reason)
	}
	require.Equal(t, []string{"best-effort-low", "burstable-above", "best-effort-high", "guaranteed-low", "burstable-below"}, order)
	require.Equal(t, "uses 400Mi of memory, more than its request of 100Mi, priority 0", reasons[1])
	require.Equal(t, "uses 900Mi of memory, within its request of 1Gi, priority -1", reasons[3])
}

func TestPIDRanking(t *testing.T) {
	in := input(t, "5Gi", podWith("high", 9, nil), podWith("few", 0, nil), podWith("many", 0, nil), podWith("low-many", -1, nil), podWith("low-few", -1, nil))
	in.Policy.Thresholds = mustThresholds(t, eviction.Settings{Hard: map[string]string{"pid.available": "1200"}})
	in.Observations = []eviction.Observation{seen(eviction.PIDAvailable, "500", "5000", 0)}
	for name, n := range map[types.UID]uint64{"high": 900, "few": 100, "many": 400, "low-many": 600, "low-few": 50} {
		in.Pods.Measure("uid-"+name, &eviction.PodStats{ProcessStats: &eviction.ProcessStats{ProcessCount: &n}})
	}
	out := eviction.Evaluate(in)
	require.Equal(t, "low-many", out.Victim.Pod.Name)
	require.Equal(t, "The node was low on resource: pids. Threshold quantity: 1200, available: 500. ", out.Victim.Message)
	require.Equal(t, []v1.NodeConditionType{v1.NodePIDPressure}, out.Conditions)
	require.Equal(t, "priority -1, uses 600 of pids", out.Ranking()[0].Reason)
}

// A pod without stats goes first; among equals, the one that came first.
func TestPodsWithoutStatsAndTies(t *testing.T) {
	in := input(t, "1Mi", namedPod("b"), namedPod("a"), namedPod("unknown"))
	in.Pods.Measure("uid-a", usesMemory(5))
	in.Pods.Measure("uid-b", usesMemory(5))
	require.Equal(t, "unknown", eviction.Evaluate(in).Victim.Pod.Name)
	in.Pods.Remove("uid-unknown")
	require.Equal(t, "b", eviction.Evaluate(in).Victim.Pod.Name)
}

// kubernetes/kubernetes#73572, #75144, #39124, #80491: critical and static pods
// were evicted, because the check looked at the mirror pod.
func TestCriticalPodsStay_73572_80491(t *testing.T) {
	critical := podWith("critical", admission.CriticalPriority, nil)
	in := input(t, "1Mi", staticPod("static"), critical, namedPod("innocent"))
	in.Pods.Measure("uid-static", usesMemory(9<<30))
	in.Pods.Measure("uid-critical", usesMemory(9<<30))
	in.Pods.Measure("uid-innocent", usesMemory(1))
	out := eviction.Evaluate(in)
	require.Equal(t, "innocent", out.Victim.Pod.Name)
	require.Equal(t, "static", out.Ranking()[0].Pod.Name, "the worst offender stays")
	require.Contains(t, out.Ranking()[0].Reason, "stays: static pod; uses 9Gi of memory")

	in.Pods.Remove("uid-innocent")
	out = eviction.Evaluate(in)
	require.Nil(t, out.Victim)
	require.Equal(t, &eviction.Stuck{Resource: v1.ResourceMemory, Pods: 2, First: true}, out.Stuck)
	require.Equal(t, "The node is low on resource: memory, and none of its 2 pods may be evicted", out.Events[1].Message)
	out = eviction.Evaluate(next(in, out, "2Mi", 10))
	require.False(t, out.Stuck.First)
	require.Len(t, out.Events, 1, "it is told once")
	out = eviction.Evaluate(next(in, out, "5Gi", 20))
	require.Nil(t, out.Stuck)
	out = eviction.Evaluate(next(in, out, "2Mi", 30))
	require.True(t, out.Stuck.First, "and again when it comes back")
}

func TestSoftThresholdMustHold(t *testing.T) {
	in := input(t, "1Mi", namedPod("a"))
	in.Policy.Thresholds = mustThresholds(t, eviction.Settings{
		Hard: map[string]string{}, Soft: map[string]string{"memory.available": "1Gi"}, SoftGracePeriod: map[string]string{"memory.available": "1m"},
	})
	in.Policy.MaxPodGracePeriod = 10 * time.Second
	out := eviction.Evaluate(in)
	require.Equal(t, []v1.NodeConditionType{v1.NodeMemoryPressure}, out.Conditions, "the condition does not wait for the grace period")
	require.Nil(t, out.Victim)
	out = eviction.Evaluate(next(in, out, "2Gi", 30))
	out = eviction.Evaluate(next(in, out, "1Mi", 60))
	require.Nil(t, out.Victim, "it did not hold without a break")
	out = eviction.Evaluate(next(in, out, "1Mi", 119))
	require.Nil(t, out.Victim)
	out = eviction.Evaluate(next(in, out, "1Mi", 120))
	require.NotNil(t, out.Victim)
	require.Equal(t, 10*time.Second, out.Victim.Grace())
}

// kubernetes/kubernetes#118172: a negative maximum promises the pod's own grace
// period, and kills at once.
func TestNegativeMaximumLeavesThePodItsGrace_118172(t *testing.T) {
	pod := namedPod("a")
	pod.Spec.TerminationGracePeriodSeconds = new(int64(77))
	in := input(t, "1Mi", pod)
	in.Policy.MaxPodGracePeriod = -1
	in.Policy.Thresholds[0].GracePeriod = time.Nanosecond
	out := eviction.Evaluate(in)
	out = eviction.Evaluate(next(in, out, "1Mi", 1))
	require.Nil(t, out.Victim.Override)
	require.Equal(t, 77*time.Second, out.Victim.Grace())
}

func TestMinimumReclaimKeepsThePressure(t *testing.T) {
	in := input(t, "1Mi", namedPod("a"))
	in.Policy.TransitionPeriod = time.Second
	in.Policy.Thresholds[0].MinReclaim = &eviction.Amount{Fraction: 0.1}
	out := eviction.Evaluate(in)
	require.NotNil(t, out.Victim)
	out = eviction.Evaluate(next(in, out, "1536Mi", 10))
	require.NotNil(t, out.Victim, "more than the threshold, but not enough is free again")
	require.Len(t, out.Conditions, 1)
	require.False(t, out.Relieved(next(in, out, "1536Mi", 11).Observations))
	require.True(t, out.Relieved(next(in, out, "2049Mi", 11).Observations))
	out = eviction.Evaluate(next(in, out, "2049Mi", 20))
	require.Nil(t, out.Victim)
	require.Empty(t, out.Conditions)
	out = eviction.Evaluate(next(in, out, "1536Mi", 30))
	require.Nil(t, out.Victim, "the minimum does not trigger")
}

func TestConditionOutlastsThePressure(t *testing.T) {
	in := input(t, "1Mi")
	out := eviction.Evaluate(in)
	out = eviction.Evaluate(next(in, out, "5Gi", 299))
	require.Len(t, out.Conditions, 1)
	out = eviction.Evaluate(next(in, out, "5Gi", 300))
	require.Empty(t, out.Conditions)
}

func TestOneSampleIsActedUponOnce(t *testing.T) {
	in := input(t, "1Mi", namedPod("a"))
	out := eviction.Evaluate(in)
	require.NotNil(t, out.Victim)
	again := next(in, out, "1Mi", 10)
	again.Observations = in.Observations
	out = eviction.Evaluate(again)
	require.Nil(t, out.Victim)
	require.Len(t, out.Conditions, 1)
	require.Empty(t, out.Problems)
	again.Observations[0].Time = at(-60)
	out = eviction.Evaluate(again)
	require.Nil(t, out.Victim)
	require.Equal(t, []eviction.Problem{{Signal: eviction.MemoryAvailable, Text: "observation is older than the last one"}}, out.Problems)
}

// kubernetes/kubernetes#52386
func TestImpossibleObservationIsReported_52386(t *testing.T) {
	in := input(t, "1Mi", namedPod("a"))
	in.Observations = eviction.Observe(&eviction.NodeStats{Memory: &eviction.MemoryStats{
		AvailableBytes: new(uint64(math.MaxUint64 - 2097758044639028)), WorkingSetBytes: new(uint64(1 << 30)),
	}})
	out := eviction.Evaluate(in)
	require.Nil(t, out.Victim)
	require.Empty(t, out.Conditions)
	require.Len(t, out.Problems, 1)
	require.Contains(t, out.Problems[0].Text, "impossible observation")
}

// A file system without inodes of its own, as btrfs, gives zero for both numbers.
func TestDiskWithoutInodes(t *testing.T) {
	seen := eviction.Observe(&eviction.NodeStats{Fs: &eviction.FsStats{Inodes: new(uint64), InodesFree: new(uint64)}})
	require.Empty(t, seen)
}

func TestClockThatIsTurnedBack(t *testing.T) {
	in := input(t, "1Mi", namedPod("a"))
	in.Policy.Thresholds[0].GracePeriod = time.Minute
	out := eviction.Evaluate(in)
	back := next(in, out, "1Mi", -3600)
	out = eviction.Evaluate(back)
	require.Nil(t, out.Victim)
	require.Len(t, out.Conditions, 1)
	out = eviction.Evaluate(next(in, out, "1Mi", -3600+60))
	require.NotNil(t, out.Victim, "the grace period begins anew")
	out = eviction.Evaluate(next(in, out, "5Gi", -3600+360))
	require.Empty(t, out.Conditions, "and so does the transition period")
}

func TestLocalStorageLimits(t *testing.T) {
	storage := func(s string) v1.ResourceList {
		return v1.ResourceList{v1.ResourceEphemeralStorage: resource.MustParse(s)}
	}
	dir := namedPod("dir")
	dir.Spec.Volumes = []v1.Volume{emptyDir("cache", "1Mi")}
	container := namedPod("container")
	container.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Limits: storage("10Mi")}}}
	whole := namedPod("whole")
	whole.Spec.Containers = container.Spec.Containers
	static := staticPod("static")
	static.Spec.Volumes = dir.Spec.Volumes
	fits := namedPod("fits")
	fits.Spec.Volumes = dir.Spec.Volumes

	in := input(t, "5Gi", whole, dir, container, static, fits)
	fs := func(n uint64) *eviction.FsStats { return &eviction.FsStats{UsedBytes: &n} }
	inDir := func(n uint64) *eviction.PodStats {
		return &eviction.PodStats{Volumes: []eviction.VolumeStats{{Name: "other"}, {Name: "cache", FsStats: *fs(n)}}}
	}
	in.Pods.Measure("uid-dir", inDir(1<<20+1))
	in.Pods.Measure("uid-static", inDir(1<<30))
	in.Pods.Measure("uid-fits", inDir(1<<20))
	in.Pods.Measure("uid-whole", &eviction.PodStats{EphemeralStorage: fs(11 << 20)})
	in.Pods.Measure("uid-container", &eviction.PodStats{Containers: []eviction.ContainerStats{{Name: "c", Rootfs: fs(9 << 20), Logs: fs(2 << 20)}}})

	out := eviction.Evaluate(in)
	var messages []string
	for _, v := range out.Over {
		messages = append(messages, v.Pod.Name+": "+v.Message)
		require.Equal(t, time.Second, v.Grace())
		require.Empty(t, v.Disruption)
		require.Nil(t, v.Annotations)
	}
	require.Equal(t, []string{
		"whole: Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. ",
		`dir: Usage of EmptyDir volume "cache" exceeds the limit "1Mi". `,
		`container: Container c exceeded its local ephemeral storage limit "10Mi". `,
	}, messages, "in the order in which they came; the static pod stays")

	in.Policy.Layout.DedicatedImageFs = true
	require.Len(t, eviction.Evaluate(in).Over, 2, "what a container writes beside its logs is elsewhere")
	in.Policy.LocalStorageLimits = false
	require.Empty(t, eviction.Evaluate(in).Over)
}

// Sums of component-helpers share numbers of many digits with the pod, and add the
// overhead to them: each look made the pod ask for more.
func TestEvictionDoesNotWriteToThePod(t *testing.T) {
	const many = "1234567890.12345678901234567"
	pod := podWith("p", 0, memory("1"))
	pod.Spec.Resources = &v1.ResourceRequirements{Requests: memory(many), Limits: memory(many)}
	pod.Spec.Overhead = memory(many)
	pod.Spec.Overhead[v1.ResourceEphemeralStorage] = resource.MustParse(many)
	pod.Spec.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceEphemeralStorage: resource.MustParse(many)}
	pod = pod.DeepCopy()
	before := pod.DeepCopy()
	for range 3 {
		in := input(t, "1Mi", pod)
		in.Pods.Measure(pod.UID, usesMemory(1<<40))
		require.NotNil(t, eviction.Evaluate(in).Victim)
	}
	require.Equal(t, before, pod)
}

// Upstream crashed on a volume of which the usage is not known.
func TestVolumeOfUnknownUsage(t *testing.T) {
	pod := namedPod("a")
	pod.Spec.Volumes = []v1.Volume{emptyDir("cache", "1Mi")}
	in := input(t, "5Gi", pod)
	in.Pods.Measure("uid-a", &eviction.PodStats{Volumes: []eviction.VolumeStats{{Name: "cache"}}})
	require.Empty(t, eviction.Evaluate(in).Over)
}

func TestHardMemoryThresholdComesFirst(t *testing.T) {
	in := input(t, "1Mi", namedPod("a"))
	in.Policy.Thresholds = mustThresholds(t, eviction.Settings{
		Hard: map[string]string{"memory.available": "1Gi"}, Soft: map[string]string{"memory.available": "2Gi"},
		SoftGracePeriod: map[string]string{"memory.available": "0s"},
	})
	in.Policy.MaxPodGracePeriod = time.Minute
	out := eviction.Evaluate(in)
	require.Equal(t, time.Second, out.Victim.Grace())
	require.Contains(t, out.Victim.Message, "Threshold quantity: 1Gi, available: 1Mi. ")
}

// The kubelet uses the thresholds of the containers' file system from its second
// round on.
func TestContainerFsThresholdsHoldFromTheFirstRound(t *testing.T) {
	given := mustThresholds(t, eviction.Settings{Hard: map[string]string{"imagefs.available": "10%", "containerfs.available": "1Gi"}})
	layout := eviction.Layout{DedicatedImageFs: true}
	derived, replaced := eviction.ContainerFsThresholds(given, layout)
	require.Len(t, derived, 2)
	require.Len(t, replaced, 1)
	in := input(t, "5Gi", namedPod("a"))
	in.Policy.Layout, in.Policy.Thresholds = layout, derived
	in.Observations = []eviction.Observation{seen(eviction.ContainerFsAvailable, "1Gi", "100Gi", 0)}
	require.Equal(t, "The node was low on resource: ephemeral-storage. Threshold quantity: 10737418400, available: 1Gi. ",
		eviction.Evaluate(in).Victim.Message)
}

func TestNodeConditions(t *testing.T) {
	conditions, events := eviction.NodeConditions(nil, nil, at(0))
	require.Len(t, conditions, 3)
	require.Len(t, events, 3)
	require.Equal(t, "KubeletHasSufficientMemory", conditions[0].Reason)
	conditions, events = eviction.NodeConditions([]v1.NodeConditionType{v1.NodeDiskPressure, "GPUPressure"}, conditions, at(10))
	require.Equal(t, "NodeHasDiskPressure", events[0].Reason)
	require.Equal(t, "kubelet has disk pressure", conditions[1].Message)
	require.Equal(t, at(10), conditions[1].LastTransitionTime.Time)
	require.Equal(t, at(0), conditions[0].LastTransitionTime.Time)
	require.Equal(t, at(10), conditions[0].LastHeartbeatTime.Time)
	require.EqualValues(t, "GPUPressure", conditions[3].Type)
	require.Equal(t, "EvictionThresholdMet", conditions[3].Reason)
	require.Equal(t, "NodeHasGPUPressure", events[1].Reason)
	conditions, _ = eviction.NodeConditions(nil, conditions, at(20))
	require.Equal(t, v1.ConditionFalse, conditions[3].Status, "a host's own is taken back")
}

func TestPodsAreKeptInStep(t *testing.T) {
	limited := namedPod("b")
	limited.Spec.Volumes = []v1.Volume{emptyDir("cache", "1Mi")}
	pods := eviction.NewPods(nil)
	pods.Set([]*v1.Pod{limited, namedPod("a")})
	require.Equal(t, 2, pods.Len())
	count := func() (n int) {
		for range pods.Limited() {
			n++
		}
		return n
	}
	require.Equal(t, 1, count())
	pods.Put(namedPod("b"))
	require.Zero(t, count(), "the new spec has no limit")
	pods.Put(limited)
	require.Equal(t, 1, count())
	pods.Set([]*v1.Pod{namedPod("c")})
	require.Equal(t, 1, pods.Len())
	require.Zero(t, count())
	pods.Remove("uid-nobody")
	var none *eviction.Pods
	require.Zero(t, none.Len())
	require.Nil(t, eviction.Evaluate(eviction.Input{}).Victim)
}
