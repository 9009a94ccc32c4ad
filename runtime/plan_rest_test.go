package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

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
