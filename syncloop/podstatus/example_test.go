package podstatus_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// A pod runs, is evicted, and ends with exit code 0 while it is being stopped:
// the verdict outweighs that.
func Example() {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "1"},
		Spec: v1.PodSpec{
			RestartPolicy: v1.RestartPolicyNever,
			Containers:    []v1.Container{{Name: "main", Image: "img"}},
		},
	}
	container := runtime.ContainerStatus{ID: "7f", Name: "main", SandboxID: "s", State: runtime.StateRunning}
	in := podstatus.Input{
		Pod: pod,
		Observed: &runtime.PodStatus{
			Sandboxes:  []runtime.SandboxStatus{{ID: "s", Ready: true}},
			Containers: []runtime.ContainerStatus{container},
		},
		RuntimeName: "process",
		Now:         time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	show := func(r podstatus.Result) {
		fmt.Println(r.Status.Phase, r.Status.Reason, "ready:", r.Status.ContainerStatuses[0].Ready, "changed:", r.Changed)
	}
	r := podstatus.Compute(in)
	show(r)

	in.Previous = &r.Status
	show(podstatus.Compute(in))

	in.Verdict = &podstatus.Verdict{Reason: "Evicted", Message: "The node was low on resource: memory."}
	container.State, container.ExitCode = runtime.StateExited, 0
	in.Observed.Containers = []runtime.ContainerStatus{container}
	show(podstatus.Compute(in))
	// Output:
	// Running  ready: true changed: true
	// Running  ready: true changed: false
	// Failed Evicted ready: false changed: true
}

// Only phase, reason and message wait until nothing of the pod runs any more.
func ExampleMerge() {
	api := v1.PodStatus{Phase: v1.PodRunning}
	next := v1.PodStatus{Phase: v1.PodFailed, Reason: "Evicted", PodIP: "10.1.2.3"}
	merged, held := podstatus.Merge(&api, &next, true, time.Now())
	fmt.Println(merged.Phase, merged.Reason, merged.PodIP, held)
	merged, held = podstatus.Merge(&api, &next, false, time.Now())
	fmt.Println(merged.Phase, merged.Reason, merged.PodIP, held)
	// Output:
	// Running  10.1.2.3 true
	// Failed Evicted 10.1.2.3 false
}
