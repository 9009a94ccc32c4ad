package podstatus_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

func TestConditions(t *testing.T) {
	never := policy(v1.RestartPolicyNever)
	gated := func(pod *v1.Pod) {
		pod.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "example.com/a"}, {ConditionType: "example.com/b"}}
	}
	gates := func(a, b v1.ConditionStatus) func(*v1.Pod) {
		return func(pod *v1.Pod) {
			pod.Status.Conditions = []v1.PodCondition{{Type: "example.com/a", Status: a}}
			if b != "" {
				pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: "example.com/b", Status: b})
			}
		}
	}
	type containers = []runtime.ContainerStatus
	tests := []struct {
		name                           string
		pod                            *v1.Pod
		runs                           containers
		initialized, ready, containers string
	}{
		{
			name: "all well", pod: newPod(withSidecar), runs: containers{running("c0"), running("s0")},
			initialized: "True", ready: "True", containers: "True",
		},
		{
			name: "nothing runs", pod: newPod(withInit, withSidecar, withC1),
			initialized: "False ContainersNotInitialized containers with incomplete status: [i0 s0]",
			containers:  "False ContainersNotReady containers with unready status: [s0 c0 c1]",
		},
		{
			name: "init is through", pod: newPod(withInit, withSidecar), runs: containers{running("s0"), exited("i0", 0)},
			initialized: "True", containers: "False ContainersNotReady containers with unready status: [c0]",
		},
		{
			name: "init failed", pod: newPod(never, withInit), runs: containers{exited("i0", 1)},
			initialized: "False ContainersNotInitialized containers with incomplete status: [i0]",
			containers:  "False PodFailed",
		},
		{
			name: "succeeded", pod: newPod(never, withInit), runs: containers{exited("c0", 0), exited("i0", 0)},
			initialized: "True PodCompleted", containers: "False PodCompleted",
		},
		{
			name: "gates missing", pod: newPod(gated), runs: containers{running("c0")},
			initialized: "True", containers: "True",
			ready: `False ReadinessGatesNotReady corresponding condition of pod readiness gate "example.com/a" does not exist., corresponding condition of pod readiness gate "example.com/b" does not exist.`,
		},
		{
			name: "a gate is closed", pod: newPod(gated, gates(v1.ConditionTrue, v1.ConditionFalse)), runs: containers{running("c0")},
			initialized: "True", containers: "True",
			ready: `False ReadinessGatesNotReady the status of pod readiness gate "example.com/b" is not "True", but False`,
		},
		{
			name: "gates are open", pod: newPod(gated, gates(v1.ConditionTrue, v1.ConditionTrue)), runs: containers{running("c0")},
			initialized: "True", containers: "True", ready: "True",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := podstatus.Compute(input(tt.pod, tt.runs...))
			if tt.ready == "" {
				tt.ready = tt.containers
			}
			require.Equal(t, tt.initialized, full(&r.Status, v1.PodInitialized))
			require.Equal(t, tt.containers, full(&r.Status, v1.ContainersReady))
			require.Equal(t, tt.ready, full(&r.Status, v1.PodReady))
			require.Equal(t, "True", full(&r.Status, v1.PodScheduled))
		})
	}
}

// Conditions of others come first and stay as they are; the kubelet's follow in
// one order, with the generation of the pod.
func TestOrderOfConditions(t *testing.T) {
	pod := newPod(restartAllOn(42))
	pod.Status.Conditions = []v1.PodCondition{
		{Type: "example.com/a", Status: v1.ConditionUnknown, Reason: "R", ObservedGeneration: 9},
		{Type: v1.PodScheduled, Status: v1.ConditionFalse},
		{Type: "example.com/b", Status: v1.ConditionTrue},
	}
	in := input(pod, running("c0"))
	in.Previous = &v1.PodStatus{Conditions: []v1.PodCondition{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue}}}
	r := podstatus.Compute(in)
	var order []v1.PodConditionType
	for _, c := range r.Status.Conditions {
		order = append(order, c.Type)
		switch c.Type {
		case "example.com/a":
			require.Equal(t, pod.Status.Conditions[0], c)
		case v1.PodReady, v1.PodInitialized, v1.ContainersReady, v1.PodScheduled, v1.PodReadyToStartContainers:
			require.Equal(t, pod.Generation, c.ObservedGeneration, c.Type)
		}
	}
	require.Equal(t, []v1.PodConditionType{
		"example.com/a", "example.com/b", v1.DisruptionTarget,
		v1.PodReadyToStartContainers, v1.PodInitialized, v1.PodReady, v1.ContainersReady, v1.PodScheduled,
		v1.AllContainersRestarting,
	}, order)
}

// PodReadyToStartContainers goes with the sandbox, and Initialized does not come
// back with a new one.
func TestConditionsWithoutSandbox(t *testing.T) {
	pod := newPod(withInit)
	r := podstatus.Compute(input(pod, running("c0"), exited("i0", 0)))
	require.Equal(t, "True", full(&r.Status, v1.PodReadyToStartContainers))
	in := after(r, pod, running("i0"))
	in.Observed.Sandboxes[0].Ready = false
	r = podstatus.Compute(in)
	require.Equal(t, "False", full(&r.Status, v1.PodReadyToStartContainers))
	require.Equal(t, "True", full(&r.Status, v1.PodInitialized))
}
