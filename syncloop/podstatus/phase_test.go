package podstatus_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

func TestPhase(t *testing.T) {
	never, onFailure := policy(v1.RestartPolicyNever), policy(v1.RestartPolicyOnFailure)
	type containers = []runtime.ContainerStatus
	tests := []struct {
		name    string
		pod     *v1.Pod
		runs    containers
		stopped bool
		want    v1.PodPhase
	}{
		{name: "nothing was started", pod: newPod(), want: v1.PodPending},
		{name: "all run", pod: newPod(withC1), runs: containers{running("c0"), running("c1")}, want: v1.PodRunning},
		{name: "one waits for its first start", pod: newPod(withC1), runs: containers{running("c0")}, want: v1.PodPending},
		{name: "one was made but not started", pod: newPod(withC1), runs: containers{running("c0"), created("c1")}, want: v1.PodPending},
		{name: "one ended for good, one runs", pod: newPod(never, withC1), runs: containers{running("c0"), exited("c1", 1)}, want: v1.PodRunning},
		{name: "all ended, all restart", pod: newPod(), runs: containers{exited("c0", 0)}, want: v1.PodRunning},
		{name: "all ended well for good", pod: newPod(onFailure), runs: containers{exited("c0", 0)}, want: v1.PodSucceeded},
		{name: "all ended, one restarts", pod: newPod(onFailure, withC1), runs: containers{exited("c0", 0), exited("c1", 1)}, want: v1.PodRunning},
		{name: "all ended for good, one badly", pod: newPod(never, withC1), runs: containers{exited("c0", 0), exited("c1", 1)}, want: v1.PodFailed},

		{name: "over: ended well although it would restart", pod: newPod(), runs: containers{exited("c0", 0)}, stopped: true, want: v1.PodSucceeded},
		{name: "over: ended badly although it would restart", pod: newPod(), runs: containers{exited("c0", 143)}, stopped: true, want: v1.PodFailed},

		{name: "over: static, too", pod: newPod(static), runs: containers{exited("c0", 143)}, stopped: true, want: v1.PodFailed},

		{name: "init runs", pod: newPod(withInit), runs: containers{running("i0")}, want: v1.PodPending},
		{name: "init ended well", pod: newPod(withInit), runs: containers{exited("i0", 0)}, want: v1.PodPending},
		{name: "init failed, restarts", pod: newPod(withInit), runs: containers{exited("i0", 1)}, want: v1.PodPending},
		{name: "init failed for good", pod: newPod(never, withInit), runs: containers{exited("i0", 1)}, want: v1.PodFailed},
		{name: "init runs again under running containers", pod: newPod(withInit), runs: containers{running("c0"), running("i0")}, want: v1.PodPending},
		{name: "init is forgotten", pod: newPod(withInit), runs: containers{running("c0")}, want: v1.PodRunning},

		{name: "sidecar runs, container waits", pod: newPod(withSidecar), runs: containers{running("s0")}, want: v1.PodPending},
		{name: "sidecar and container run", pod: newPod(withSidecar), runs: containers{running("c0"), running("s0")}, want: v1.PodRunning},
		{name: "sidecar runs on after the containers", pod: newPod(never, withSidecar), runs: containers{exited("c0", 0), running("s0")}, want: v1.PodRunning},
		{name: "sidecar ended after the containers", pod: newPod(never, withSidecar), runs: containers{exited("c0", 0), exited("s0", 137)}, want: v1.PodSucceeded},
		{name: "sidecar has no history", pod: newPod(withSidecar), runs: containers{running("c0")}, want: v1.PodPending},

		{name: "exit code restarts all", pod: newPod(never, restartAllOn(42)), runs: containers{exited("c0", 42)}, want: v1.PodRunning},
		{name: "another exit code does not", pod: newPod(never, restartAllOn(42)), runs: containers{exited("c0", 1)}, want: v1.PodFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := input(tt.pod, tt.runs...)
			in.Stopped = tt.stopped
			r := podstatus.Compute(in)
			require.Equal(t, tt.want, r.Status.Phase)
			require.Equal(t, podstatus.Terminal(tt.want), r.Terminal)
		})
	}
}

// A container whose start failed after it had run counts as stopped, and not as
// succeeded, whatever its exit code.
func TestPhaseOfContainerThatCannotRestart(t *testing.T) {
	pod := newPod()
	in := input(pod, exited("c0", 0))
	in.StartFailures = map[string]runtime.StartResult{"c0": {Reason: "CrashLoopBackOff", Message: "back-off 10s"}}
	require.Equal(t, v1.PodRunning, podstatus.Compute(in).Status.Phase)
	in.Stopped = true
	require.Equal(t, v1.PodFailed, podstatus.Compute(in).Status.Phase)
}

// After its sandbox was lost a pod initialises anew: sidecars that have not
// started in the new one make it pending again, whatever ran in the old one.
func TestPhaseAfterNewSandbox(t *testing.T) {
	pod := newPod(withSidecar)
	old := exited("c0", 137)
	old.SandboxID = "sb0"
	in := input(pod, running("s0"), old)
	in.Startup.Workers = map[string]bool{"s0": true}
	require.Equal(t, v1.PodPending, podstatus.Compute(in).Status.Phase)

	in.Startup.Results = map[string]runtime.Verdict{"s0": runtime.VerdictSuccess}
	require.Equal(t, v1.PodRunning, podstatus.Compute(in).Status.Phase)
}

// difference: the phase sees who has started. The kubelet takes the started flag
// of the status before for it, so that its phase is one status behind.
func TestPhaseSeesWhoHasStarted(t *testing.T) {
	pod := newPod(withSidecar)
	in := input(pod, exited("c0", 1), running("s0"))
	in.Observed.Sandboxes[0].Ready = false
	require.Equal(t, v1.PodRunning, podstatus.Compute(in).Status.Phase)
}

// difference: a terminal phase is final. The kubelet lets a later computation
// turn Failed into Succeeded.
func TestTerminalPhaseIsFinal(t *testing.T) {
	pod := newPod(policy(v1.RestartPolicyNever))
	for _, phase := range []v1.PodPhase{v1.PodFailed, v1.PodSucceeded} {
		for _, code := range []int32{0, 1} {
			in := input(pod, exited("c0", code))
			in.Previous = &v1.PodStatus{Phase: phase, Reason: "Because", Message: "said so"}
			r := podstatus.Compute(in)
			require.Equal(t, phase, r.Status.Phase)
			require.Equal(t, "Because", r.Status.Reason)
			require.Equal(t, "said so", r.Status.Message)

			in.Pod = newPod(policy(v1.RestartPolicyNever))
			in.Pod.Status = *in.Previous
			in.Previous = &v1.PodStatus{Phase: v1.PodRunning}
			r = podstatus.Compute(in)
			require.Equal(t, phase, r.Status.Phase, "what the API server says is final too")
			require.Equal(t, "Because", r.Status.Reason)
		}
	}
}

// Reason and message live as long as the phase does.
func TestReasonLivesWithPhase(t *testing.T) {
	pod := newPod()
	in := input(pod, running("c0"))
	in.Previous = &v1.PodStatus{Phase: v1.PodRunning, Reason: "Because", Message: "said so"}
	r := podstatus.Compute(in)
	require.Equal(t, "Because", r.Status.Reason)
	require.Equal(t, "said so", r.Status.Message)

	in.Previous.Phase = v1.PodPending
	r = podstatus.Compute(in)
	require.Empty(t, r.Status.Reason)
	require.Empty(t, r.Status.Message)
}
