package podstatus_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// difference: a pod that can't go on is Failed. The kubelet leaves it Pending.
func TestStrandedPodFails(t *testing.T) {
	tests := []struct {
		name  string
		pod   *v1.Pod
		runs  []runtime.ContainerStatus
		ready bool // the sandbox
		want  bool
	}{
		{"between init and regular", newPod(policy(v1.RestartPolicyNever), withInit), []runtime.ContainerStatus{exited("i0", 0)}, false, true},
		{"before all had begun", newPod(policy(v1.RestartPolicyNever), withC1), []runtime.ContainerStatus{exited("c0", 0)}, false, true},
		{"one runs on", newPod(policy(v1.RestartPolicyNever), withC1), []runtime.ContainerStatus{running("c0")}, false, false},
		{"one may run", newPod(policy(v1.RestartPolicyNever), withC1), []runtime.ContainerStatus{unknown("c0")}, false, false},
		{"nothing had begun", newPod(policy(v1.RestartPolicyNever)), nil, false, false},
		{"the sandbox is there", newPod(policy(v1.RestartPolicyNever), withC1), []runtime.ContainerStatus{exited("c0", 0)}, true, false},
		{"another one is made", newPod(policy(v1.RestartPolicyOnFailure), withC1), []runtime.ContainerStatus{exited("c0", 0)}, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := input(tt.pod, tt.runs...)
			in.Observed.Sandboxes[0].Ready = tt.ready
			v := podstatus.Stranded(in)
			require.Equal(t, tt.want, v != nil)
			if tt.want {
				in.Verdict = v
				r := podstatus.Compute(in)
				require.Equal(t, v1.PodFailed, r.Status.Phase)
				require.Equal(t, podstatus.ReasonSandboxLost, r.Status.Reason)
			}
		})
	}
}
