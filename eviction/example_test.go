package eviction_test

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/eviction"
	"github.com/kubeparts/kubeparts/eviction/evictiontest"
)

// What would be evicted now: a decision without a node, from values alone.
func ExampleEvaluate() {
	policy, err := eviction.Settings{Hard: map[string]string{"memory.available": "1Gi"}}.Policy()
	if err != nil {
		fmt.Println(err)
		return
	}
	pods := eviction.PodsOf(podWith("web", 0, memory("2Gi")), podWith("batch", 0, memory("64Mi")), staticPod("proxy"))
	pods.Measure("uid-web", usesMemory(1<<30))
	pods.Measure("uid-batch", usesMemory(512<<20))
	pods.Measure("uid-proxy", usesMemory(4<<30))
	out := eviction.Evaluate(eviction.Input{
		Policy:       policy,
		Observations: []eviction.Observation{{Signal: eviction.MemoryAvailable, Available: 700 << 20, Capacity: 8 << 30}},
		Pods:         pods,
		Now:          time.Now(),
	})
	fmt.Println(out.Conditions, out.Victim.Pod.Name, out.Victim.Grace())
	fmt.Printf("%q\n", out.Victim.Message)
	for _, p := range out.Ranking() {
		fmt.Printf("%s: %s\n", p.Pod.Name, p.Reason)
	}
	// Output:
	// [MemoryPressure] batch 1s
	// "The node was low on resource: memory. Threshold quantity: 1Gi, available: 700Mi. "
	// proxy: stays: static pod; uses 4Gi of memory, more than its request of 0, priority 0
	// batch: uses 512Mi of memory, more than its request of 64Mi, priority 0
	// web: uses 1Gi of memory, within its request of 2Gi, priority 0
}

// A what-if: who would be first if processes ran short?
func ExampleRank() {
	stats := func(n uint64) *eviction.PodStats {
		return &eviction.PodStats{ProcessStats: &eviction.ProcessStats{ProcessCount: &n}}
	}
	pods := eviction.PodsOf(podWith("web", 0, nil), podWith("forks", 0, nil))
	pods.Measure("uid-web", stats(10))
	pods.Measure("uid-forks", stats(900))
	for _, p := range eviction.Rank(eviction.Policy{}, eviction.PIDAvailable, pods) {
		fmt.Printf("%s: %s\n", p.Pod.Name, p.Reason)
	}
	// Output:
	// forks: priority 0, uses 900 of pids
	// web: priority 0, uses 10 of pids
}

// A signal of a host's own: memory of the GPU.
func ExamplePolicy_custom() {
	used := map[string]int64{"train": 30 << 30, "infer": 4 << 30}
	policy := eviction.Policy{
		Thresholds: []eviction.Threshold{{Signal: "gpu.available", Value: eviction.Amount{Fraction: 0.1}}},
		Custom: map[eviction.Signal]eviction.CustomSignal{"gpu.available": {
			Condition: "GPUPressure", Resource: "gpu-memory",
			Usage: func(pod *v1.Pod, _ *eviction.PodStats) (int64, bool) { return used[pod.Name], true },
		}},
		TransitionPeriod: time.Minute,
	}
	out := eviction.Evaluate(eviction.Input{
		Policy:       policy,
		Observations: []eviction.Observation{{Signal: "gpu.available", Available: 1 << 30, Capacity: 40 << 30}},
		Pods:         eviction.PodsOf(namedPod("infer"), namedPod("train")),
		Now:          time.Now(),
	})
	fmt.Println(out.Conditions, out.Victim.Pod.Name)
	fmt.Printf("%q\n", out.Victim.Message)
	// Output:
	// [GPUPressure] train
	// "The node was low on resource: gpu-memory. Threshold quantity: 4294967360, available: 1Gi. "
}

func ExampleAdmitHandler() {
	pressure := []v1.NodeConditionType{v1.NodeMemoryPressure}
	handler := eviction.NewAdmitHandler(func() []v1.NodeConditionType { return pressure })
	admit := func(pod *v1.Pod) {
		verdict, _ := handler.Admit(context.Background(), admission.Request{Pod: pod})
		fmt.Printf("%s: %s %q\n", pod.Name, verdict.Outcome, verdict.Message)
	}
	admit(podWith("burstable", 0, memory("1Mi")))
	admit(namedPod("best-effort"))
	pressure = append(pressure, v1.NodeDiskPressure)
	admit(podWith("burstable", 0, memory("1Mi")))
	admit(staticPod("static"))
	// Output:
	// burstable: admit ""
	// best-effort: reject "The node had condition: [MemoryPressure]. "
	// burstable: reject "The node had condition: [MemoryPressure DiskPressure]. "
	// static: admit ""
}

// The rule of the articles about kubelets before 1.16: an annotation in
// kube-system makes a pod critical. It comes in under pressure, but it may be
// evicted unless it is static, too.
func ExampleAdmitHandler_olderRule() {
	handler := eviction.AdmitHandler{
		Conditions: func() []v1.NodeConditionType { return []v1.NodeConditionType{v1.NodeDiskPressure} },
		Critical:   admission.IsLegacyCritical,
	}
	protect := func(pod *v1.Pod) string {
		if admission.IsLegacyCritical(pod) && admission.IsStatic(pod) {
			return "critical and static"
		}
		return ""
	}
	annotated := namedPod("dns")
	annotated.ObjectMeta = metav1.ObjectMeta{
		Name: "dns", Namespace: "kube-system", UID: "uid-dns",
		Annotations: map[string]string{"scheduler.alpha.kubernetes.io/critical-pod": ""},
	}
	for _, pod := range []*v1.Pod{annotated, staticPod("static")} {
		verdict, _ := handler.Admit(context.Background(), admission.Request{Pod: pod})
		fmt.Printf("%s: %s, protected: %t\n", pod.Name, verdict.Outcome, protect(pod) != "")
	}
	pods := eviction.NewPods(protect)
	pods.Put(annotated)
	fmt.Println(eviction.Rank(eviction.Policy{}, eviction.MemoryAvailable, pods)[0].Protected == "")
	// Output:
	// dns: admit, protected: false
	// static: reject, protected: false
	// true
}

func ExampleManager_Round() {
	var node evictiontest.Stats
	node.Set(eviction.MemoryAvailable, 50<<20, 4<<30)
	node.SetPodMemory("uid-web", 1<<30)
	policy, _ := eviction.Settings{Hard: map[string]string{"memory.available": "100Mi"}}.Policy()
	manager, err := eviction.NewManager(eviction.Config{
		Policy: policy,
		Stats:  &node,
		Pods:   func() []*v1.Pod { return []*v1.Pod{namedPod("web")} },
		Kill: func(_ context.Context, v eviction.Victim) error {
			fmt.Println("kill", v.Pod.Name, "within", v.Grace())
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = manager.Round(context.Background())
	fmt.Println(manager.Conditions(), err)
	// Output:
	// kill web within 1s
	// [MemoryPressure] <nil>
}
