package podstatus_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// Only phase, reason and message wait until everything has stopped; what the
// containers do is written at once.
func TestTerminalPhaseIsHeldBack(t *testing.T) {
	pod := newPod(policy(v1.RestartPolicyNever))
	api := podstatus.Compute(input(pod, running("c0"))).Status
	in := input(pod, exited("c0", 1))
	in.Previous, in.Verdict = &api, &podstatus.Verdict{Reason: "Evicted", Message: "low", Disruption: "low"}
	next := podstatus.Compute(in).Status
	later := now.Add(time.Minute)

	merged, held := podstatus.Merge(&api, &next, true, later)
	require.True(t, held)
	require.Equal(t, v1.PodRunning, merged.Phase)
	require.Empty(t, merged.Reason)
	require.Empty(t, merged.Message)
	require.NotNil(t, merged.ContainerStatuses[0].State.Terminated)
	require.Empty(t, full(&merged, v1.DisruptionTarget), "it is said with the phase")

	merged, held = podstatus.Merge(&api, &next, false, later)
	require.False(t, held)
	require.Equal(t, v1.PodFailed, merged.Phase)
	require.Equal(t, "Evicted", merged.Reason)
	require.Equal(t, "True TerminationByKubelet low", full(&merged, v1.DisruptionTarget))
	require.Equal(t, later, transition(&merged, v1.DisruptionTarget))

	_, held = podstatus.Merge(&next, &next, true, later)
	require.False(t, held, "the API server has it already")
}

// A pod that has ended is never written as ready.
func TestTerminalPhaseIsNeverReady(t *testing.T) {
	next := podstatus.Compute(input(newPod(), running("c0"))).Status
	for phase, reason := range map[v1.PodPhase]string{v1.PodFailed: "PodFailed", v1.PodSucceeded: "PodCompleted"} {
		next.Phase = phase
		merged, _ := podstatus.Merge(&v1.PodStatus{Phase: v1.PodRunning}, &next, false, now)
		require.Equal(t, "False "+reason, full(&merged, v1.PodReady))
		require.Equal(t, "False "+reason, full(&merged, v1.ContainersReady))
	}
}

// What others write is taken from the API server, as it is there now.
func TestMergeKeepsWhatOthersWrote(t *testing.T) {
	next := podstatus.Compute(input(newPod(), running("c0"))).Status
	next.Conditions = append(next.Conditions, v1.PodCondition{Type: "example.com/old"})
	next.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "old"}}
	api := v1.PodStatus{
		Conditions: []v1.PodCondition{
			{Type: "example.com/new", Status: v1.ConditionTrue},
			{Type: v1.PodScheduled, Status: v1.ConditionFalse},
			{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: "EvictionByEvictionAPI"},
		},
		ResourceClaimStatuses: []v1.PodResourceClaimStatus{{Name: "new"}},
	}
	merged, held := podstatus.Merge(&api, &next, true, now)
	require.False(t, held)
	require.Equal(t, "True", full(&merged, "example.com/new"))
	require.Empty(t, full(&merged, "example.com/old"))
	require.Equal(t, "True", full(&merged, v1.PodScheduled))
	require.Equal(t, "True EvictionByEvictionAPI", full(&merged, v1.DisruptionTarget))
	require.Equal(t, api.ResourceClaimStatuses, merged.ResourceClaimStatuses)
}

// difference: the last status is judged by what was said last, and static pods
// end like any other. The kubelet asks the API object whether the pod was
// initialised, and leaves the phase of static pods.
func TestTerminate(t *testing.T) {
	lost := &v1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown", Message: located}
	type containers = []runtime.ContainerStatus
	tests := []struct {
		name string
		pod  *v1.Pod
		runs containers
		want map[string]*v1.ContainerStateTerminated // nil: stays as it was
		end  v1.PodPhase
	}{
		{
			name: "nothing is known of the container", pod: newPod(),
			want: map[string]*v1.ContainerStateTerminated{"c0": lost}, end: v1.PodFailed,
		},
		{
			name: "all have ended", pod: newPod(policy(v1.RestartPolicyNever)), runs: containers{exited("c0", 0)},
			want: map[string]*v1.ContainerStateTerminated{"c0": nil}, end: v1.PodSucceeded,
		},
		{
			name: "not initialised", pod: newPod(withInit, func(p *v1.Pod) {
				p.Spec.InitContainers = append(p.Spec.InitContainers, v1.Container{Name: "i1"}, v1.Container{Name: "i2"})
			}), runs: containers{running("i1"), exited("i0", 0)},
			want: map[string]*v1.ContainerStateTerminated{"i0": nil, "i1": lost, "i2": nil, "c0": nil}, end: v1.PodFailed,
		},
		{
			name: "nothing was started", pod: newPod(withInit, withSidecar),
			want: map[string]*v1.ContainerStateTerminated{"i0": lost, "s0": nil, "c0": nil}, end: v1.PodFailed,
		},
		{
			name: "initialised, not started", pod: newPod(withInit), runs: containers{exited("i0", 0)},
			want: map[string]*v1.ContainerStateTerminated{"i0": nil, "c0": lost}, end: v1.PodFailed,
		},
		{
			name: "initialised by a sidecar", pod: newPod(withSidecar), runs: containers{running("s0")},
			want: map[string]*v1.ContainerStateTerminated{"s0": lost, "c0": lost}, end: v1.PodFailed,
		},
		{
			name: "static", pod: newPod(static), runs: containers{running("c0")},
			want: map[string]*v1.ContainerStateTerminated{"c0": lost}, end: v1.PodFailed,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := podstatus.Compute(input(tt.pod, tt.runs...))
			r := podstatus.Terminate(after(before, tt.pod))
			require.Equal(t, tt.end, r.Status.Phase)
			require.True(t, r.Terminal)
			for name, want := range tt.want {
				was, got := statuses(&before.Status)[name], statuses(&r.Status)[name]
				if want == nil {
					require.Equal(t, was, got, name)
				} else {
					require.Equal(t, want, got.State.Terminated, name)
					require.Equal(t, was.LastTerminationState, got.LastTerminationState, name)
				}
			}
			require.False(t, podstatus.Terminate(after(r, tt.pod)).Changed)
		})
	}
}

// A phase that someone else made terminal stays without the disruption that only
// the agent knows; the two are equal once merged, so that nothing is written for
// ever after.
func TestMergedStatusComesToRest(t *testing.T) {
	pod := newPod(policy(v1.RestartPolicyNever))
	in := input(pod, exited("c0", 1))
	in.Verdict = &podstatus.Verdict{Reason: "Evicted", Message: "low", Disruption: "low"}
	next := podstatus.Compute(in).Status
	api := *next.DeepCopy()
	api.Conditions = api.Conditions[1:]
	require.False(t, podstatus.Equal(&api, &next))
	merged, _ := podstatus.Merge(&api, &next, false, now)
	require.True(t, podstatus.Equal(&api, &merged))
}
