package admission_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/podmanager/manifest"
)

// FuzzCheck judges whatever decodes as a pod against whatever decodes as a node:
// no panic, the same answer twice, nothing written to, and a ledger that equals a
// full recount.
func FuzzCheck(f *testing.F) {
	f.Add([]byte(`{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"-1","memory":"1e30"}}}]}}`),
		[]byte(`{"status":{"allocatable":{"pods":"1","cpu":"0.5"}}}`))
	f.Add([]byte(`{"metadata":{"uid":"u"},"spec":{"nodeSelector":{"x":"y"},"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Near"}]}]}}}}}`),
		[]byte(`{"metadata":{"name":"n","labels":{"a":"b"}},"spec":{"taints":[{"key":"k","effect":"NoExecute"}]}}`))
	f.Add([]byte(`{"metadata":{"name":"a"},"spec":{"priority":2000000000,"overhead":{"example.com/x":"1"},"resources":{"requests":{"cpu":"2"}}}}`),
		[]byte(`{"status":{"allocatable":{"pods":"5","cpu":"2"}}}`))
	f.Fuzz(func(t *testing.T, podJSON, nodeJSON []byte) {
		var pod v1.Pod
		var node v1.Node
		if manifest.Unmarshal(podJSON, &pod) != nil || manifest.Unmarshal(nodeJSON, &node) != nil {
			return
		}
		podBefore, nodeBefore := pod.DeepCopy(), node.DeepCopy()
		chain := kubeletChain(&node)
		chain.Preempt = true
		require.NoError(t, chain.Enter(newPod("other", resources("cpu", "1", "memory", "1Gi"), 80)))

		first, err := chain.Check(t.Context(), &pod)
		require.NoError(t, err)
		second, err := chain.Check(t.Context(), &pod)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(first.Verdict), fmt.Sprint(second.Verdict))
		_, err = chain.Explain(t.Context(), &pod)
		require.NoError(t, err)

		d, err := chain.Admit(t.Context(), &pod)
		if err == nil {
			require.Equal(t, d.Outcome == admission.Admit || d.Plan != nil, chain.Ledger.HasPod(&pod))
		}
		recount(t, chain.Ledger, pods(chain.Ledger.HasPod(&pod), &pod, newPod("other", resources("cpu", "1", "memory", "1Gi"), 80)))
		require.Equal(t, podBefore, &pod)
		require.Equal(t, nodeBefore, &node)
	})
}

func pods(in bool, pod, other *v1.Pod) map[types.UID]*v1.Pod {
	all := map[types.UID]*v1.Pod{"other": other}
	if in {
		all["new"] = pod
	}
	return all
}

// FuzzSysctls looks for patterns that are taken although they name nothing, and
// for names that make the check panic.
func FuzzSysctls(f *testing.F) {
	f.Add("kernel.shm*", "kernel/shmmax")
	f.Add("net.*", "net.")
	f.Add("*", "")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		check, err := admission.NewSysctls(pattern)
		if err != nil {
			return
		}
		pod := newPod("a", nil)
		pod.Spec.SecurityContext = &v1.PodSecurityContext{Sysctls: []v1.Sysctl{{Name: name}}}
		v, err := check.Admit(t.Context(), admission.Request{Pod: pod})
		require.NoError(t, err)
		require.Contains(t, []admission.Outcome{admission.Admit, admission.Reject}, v.Outcome)
	})
}
