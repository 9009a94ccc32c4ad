package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// difference: an unknown hash restarts nothing. The kubelet takes a container
// whose annotation is missing for one of another spec.
func TestPlanTrustsAContainerOfUnknownHash(t *testing.T) {
	in := planCase{pod: newPod(always, "c0"), seen: "c0=running"}.input()
	in.Status.Containers[0].Hash++
	require.Equal(t, "kill c0; start c0", summary(runtime.Plan(in)))
	in.Status.Containers[0].Hash = 0
	require.Equal(t, "nothing", summary(runtime.Plan(in)))
}

// difference: dead sandboxes are not stopped again. The kubelet repeats it with
// each sync of a pod that has ended.
func TestPlanLeavesDeadSandboxesOfAStoppedPod(t *testing.T) {
	ended := planCase{pod: newPod(never, "c0"), seen: "c0=exited:0"}
	require.Equal(t, []string{"sb0"}, runtime.Plan(ended.input()).StopSandboxes, "one that is ready is stopped")
	ended.sandboxes = []runtime.SandboxStatus{sandbox(0, false)}
	a := runtime.Plan(ended.input())
	require.True(t, a.KillPod)
	require.Empty(t, a.StopSandboxes)
}

// difference: what ended for good is not started, whatever is left to see of it. The
// kubelet starts a container anew that was lost, or whose instance was removed.
func TestPlanStartsNothingThatEndedForGood(t *testing.T) {
	for _, c := range []struct{ name, seen, want string }{
		{"removed", "c1=running", "nothing"},
		{"lost", "c0=unknown c1=running", "kill c0"},
		{"made and not started", "c0=created c1=running", "nothing"},
		{"all forgotten", "", "start c1"},
		{"it runs all the same", "c0=running c1=running", "nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := planCase{pod: newPod(never, "c0 c1"), seen: c.seen}.input()
			in.Ended = map[string]bool{"c0": true}
			require.Equal(t, c.want, summary(runtime.Plan(in)))
		})
	}
	in := planCase{pod: newPod(onFailure, "c0 c1"), sandboxes: []runtime.SandboxStatus{sandbox(0, false)}}.input()
	in.Ended = map[string]bool{"c0": true}
	require.Equal(t, "kill pod; sandbox 1; start c1", summary(runtime.Plan(in)))
}

func TestSandboxLost(t *testing.T) {
	lost := func(p v1.RestartPolicy, seen string, sandboxes ...runtime.SandboxStatus) bool {
		pod := newPod(p, "c0 c1")
		status := observe(pod, seen)
		status.Sandboxes = sandboxes
		return runtime.SandboxLost(pod, status)
	}
	require.True(t, lost(never, "c0=exited:0", sandbox(0, false)))
	require.False(t, lost(never, "c0=exited:0", sandbox(0, true)), "it is there")
	require.False(t, lost(never, "", sandbox(0, false)), "nothing began in it")
	require.False(t, lost(onFailure, "c0=exited:0", sandbox(0, false)), "another one is made")
	require.False(t, lost(never, "c0=exited:0"), "none was ever made")
	require.False(t, runtime.SandboxLost(newPod(never, "c0"), nil))
}
