package podstatus_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

func TestReadyAndStarted(t *testing.T) {
	worker := map[string]bool{"c0": true, "i0": true, "s0": true}
	result := func(v runtime.Verdict) map[string]runtime.Verdict {
		return map[string]runtime.Verdict{"c0": v, "i0": v, "s0": v}
	}
	success, failure := result(runtime.VerdictSuccess), result(runtime.VerdictFailure)
	type probing = podstatus.Probing
	tests := []struct {
		name               string
		container          runtime.ContainerStatus
		readiness, startup probing
		ready, started     bool
	}{
		{name: "no worker", container: running("c0"), ready: true, started: true},
		{name: "readiness succeeded", container: running("c0"), readiness: probing{worker, success}, ready: true, started: true},
		{name: "readiness failed", container: running("c0"), readiness: probing{worker, failure}, ready: false, started: true},
		{name: "readiness not known yet", container: running("c0"), readiness: probing{worker, nil}, ready: false, started: true},
		{name: "startup not known yet", container: running("c0"), startup: probing{worker, nil}, ready: false, started: false},
		{name: "startup failed", container: running("c0"), startup: probing{worker, failure}, ready: false, started: false},
		{name: "startup succeeded", container: running("c0"), startup: probing{worker, success}, ready: true, started: true},
		{name: "startup not known, readiness succeeded", container: running("c0"), readiness: probing{worker, success}, startup: probing{worker, nil}, ready: false, started: false},
		{name: "ended, readiness succeeded", container: exited("c0", 0), readiness: probing{worker, success}, ready: false, started: false},
		{name: "init ended well", container: exited("i0", 0), ready: true, started: false},
		{name: "init ended badly", container: exited("i0", 1), ready: false, started: false},
		{name: "init runs, startup succeeded", container: running("i0"), startup: probing{worker, success}, ready: false, started: true},
		{name: "sidecar runs, startup succeeded", container: running("s0"), startup: probing{worker, success}, ready: true, started: true},
		{name: "sidecar ended well", container: exited("s0", 0), ready: false, started: false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := input(newPod(withInit, withSidecar), tt.container)
			in.Readiness, in.Startup = tt.readiness, tt.startup
			r := podstatus.Compute(in)
			got := statuses(&r.Status)[tt.container.Name]
			require.Equal(t, tt.ready, got.Ready, "ready")
			require.Equal(t, tt.started, *got.Started, "started")
		})
	}
}

// What a startup probe passed stays passed for that instance when its result is
// no longer known. difference: started is said of one instance; the kubelet
// passes it on to the next one until its own probe has a result.
func TestStartedIsSaidOfOneInstance(t *testing.T) {
	pod := newPod()
	in := input(pod, running("c0"))
	in.Startup = podstatus.Probing{
		Workers: map[string]bool{"c0": true},
		Results: map[string]runtime.Verdict{"c0": runtime.VerdictSuccess},
	}
	r := podstatus.Compute(in)
	require.True(t, *r.Status.ContainerStatuses[0].Started)

	in = after(r, pod, running("c0"))
	in.Startup.Workers = map[string]bool{"c0": true}
	require.True(t, *podstatus.Compute(in).Status.ContainerStatuses[0].Started)

	in = after(r, pod, again(running("c0"), "c0-1", 1))
	in.Startup.Workers = map[string]bool{"c0": true}
	require.False(t, *podstatus.Compute(in).Status.ContainerStatuses[0].Started)
}

// TestRestartOfAgentKeepsReadiness: kubernetes/kubernetes#100277. A container that
// ran before the agent did inherits its readiness, until a probe says otherwise.
func TestRestartOfAgentKeepsReadiness(t *testing.T) {
	probed := newPod()
	probed.Spec.Containers[0].ReadinessProbe = &v1.Probe{}
	apiReady := &v1.PodStatus{Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}}
	worker := map[string]bool{"c0": true}
	failed := map[string]runtime.Verdict{"c0": runtime.VerdictFailure}
	tests := []struct {
		name      string
		pod       *v1.Pod
		api       *v1.PodStatus
		readiness podstatus.Probing
		agentAge  time.Duration // after the container's start
		want      bool
	}{
		{"was ready", probed, apiReady, podstatus.Probing{Workers: worker}, time.Minute, true},
		{"was not ready", probed, &v1.PodStatus{}, podstatus.Probing{Workers: worker}, time.Minute, false},
		{"was not ready, no worker yet", probed, &v1.PodStatus{}, podstatus.Probing{}, time.Minute, false},
		{"has no probe", newPod(), &v1.PodStatus{}, podstatus.Probing{}, time.Minute, true},
		{"was ready and failed since", probed, apiReady, podstatus.Probing{Workers: worker, Results: failed}, time.Minute, false},
		{"started with the agent", probed, apiReady, podstatus.Probing{Workers: worker}, 9 * time.Second, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := input(tt.pod, running("c0"))
			in.API, in.Readiness, in.AgentStarted = tt.api, tt.readiness, now.Add(tt.agentAge)
			require.Equal(t, tt.want, podstatus.Compute(in).Status.ContainerStatuses[0].Ready)
		})
	}
}

// The readiness of a pod is not that of an instance which took the place of another
// just before the agent died, and of which nobody has said anything: the kubelet
// takes it for ready.
func TestReadinessIsNotThatOfTheInstanceBefore(t *testing.T) {
	pod := newPod()
	pod.Spec.Containers[0].ReadinessProbe = &v1.Probe{}
	in := input(pod, running("c0"))
	in.Readiness = podstatus.Probing{Workers: map[string]bool{"c0": true}, Results: map[string]runtime.Verdict{"c0": runtime.VerdictSuccess}}
	r := podstatus.Compute(in)
	require.True(t, r.Status.ContainerStatuses[0].Ready)

	for _, next := range []runtime.ContainerStatus{running("c0"), again(running("c0"), "c0-1", 1)} {
		for _, mirror := range []*v1.PodStatus{nil, &r.Status} {
			in = input(pod.DeepCopy(), next)
			if in.API, in.AgentStarted = mirror, now.Add(time.Hour); mirror == nil {
				in.Pod.Status = r.Status
			}
			in.Readiness.Workers = map[string]bool{"c0": true}
			require.Equal(t, next.ID == "c0", podstatus.Compute(in).Status.ContainerStatuses[0].Ready)
		}
	}
}

// An agent that could not write down that an instance is ready has said so to the
// API server: the next one does not take it back, however young the instance is.
func TestReadinessThatOnlyTheAPIRemembers(t *testing.T) {
	pod := newPod()
	pod.Spec.Containers[0].ReadinessProbe = &v1.Probe{}
	in := input(pod, running("c0"))
	worker := map[string]bool{"c0": true}
	in.Startup.Workers, in.Readiness.Workers = worker, worker
	written := podstatus.Compute(in)
	require.False(t, written.Status.ContainerStatuses[0].Ready)
	in.Startup.Results = map[string]runtime.Verdict{"c0": runtime.VerdictSuccess}
	in.Readiness.Results = in.Startup.Results
	said := podstatus.Compute(in)

	in = after(written, pod, running("c0"))
	in.API, in.AgentStarted = &said.Status, now.Add(time.Second)
	in.Startup.Workers, in.Readiness.Workers = worker, worker
	require.True(t, podstatus.Compute(in).Status.ContainerStatuses[0].Ready)
}

// Without an API server, what was said last is remembered: it speaks for the
// container, not for the pod as a whole.
func TestRestartOfAgentRemembersReadiness(t *testing.T) {
	pod := newPod(withC1)
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].ReadinessProbe = &v1.Probe{}
	}
	worker := map[string]bool{"c0": true, "c1": true}
	in := input(pod, running("c0"), running("c1"))
	in.Readiness = podstatus.Probing{Workers: worker, Results: map[string]runtime.Verdict{"c0": runtime.VerdictSuccess}}
	r := podstatus.Compute(in)

	// Also of one that started just before the agent.
	for _, age := range []time.Duration{time.Minute, time.Second} {
		in = after(r, pod, running("c0"), running("c1"))
		in.Readiness.Workers, in.AgentStarted = worker, now.Add(age)
		again := podstatus.Compute(in)
		require.True(t, again.Status.ContainerStatuses[0].Ready)
		require.False(t, again.Status.ContainerStatuses[1].Ready)
		require.False(t, again.Changed)
	}
}
