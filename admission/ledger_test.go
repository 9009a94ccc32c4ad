package admission_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
)

func TestUpdateCountsWhatThePodIsNow(t *testing.T) {
	ledger := admission.NewLedger()
	require.NoError(t, ledger.Add(newPod("a", resources("cpu", "1"), 80)))

	require.NoError(t, ledger.Update(newPod("a", resources("cpu", "3"), 81)))
	require.EqualValues(t, 3000, ledger.Used().MilliCPU)
	require.False(t, ledger.HostPortTaken(v1.ContainerPort{HostPort: 80}))
	require.True(t, ledger.HostPortTaken(v1.ContainerPort{HostPort: 81}))

	fork := ledger.Fork()
	require.NoError(t, fork.Update(newPod("a", resources("cpu", "2"))))
	require.EqualValues(t, 3000, ledger.Used().MilliCPU)
	fork.Commit()
	require.EqualValues(t, 2000, ledger.Used().MilliCPU)

	finished := newPod("a", resources("cpu", "2"))
	finished.Status.Phase = v1.PodSucceeded
	require.NoError(t, ledger.Update(finished))
	require.Zero(t, ledger.Pods(), "one that has finished takes nothing")
	require.ErrorIs(t, ledger.Update(finished), admission.ErrNotEntered)
}

func TestLeavingPodCountsUntilItIsRemoved(t *testing.T) {
	ledger := admission.NewLedger()
	require.NoError(t, ledger.Add(newPod("a", resources("cpu", "1"))))
	require.True(t, ledger.SetLeaving("a", true))
	require.EqualValues(t, 1000, ledger.UsedOf("cpu"))
	critical := withPriority(newPod("critical", nil), admission.CriticalPriority)
	_, err := ledger.Plan(critical, []admission.Need{{Resource: "cpu", Quantity: 1}})
	var none *admission.NoVictimsError
	require.ErrorAs(t, err, &none)
	require.Equal(t, []admission.Need{{Resource: "cpu", Quantity: 1}}, none.Missing)
	require.False(t, ledger.SetLeaving("b", true))
}

// kubernetes/kubernetes#70499: which pods hold what is missing.
func TestExplainNamesWhoHoldsMost_70499(t *testing.T) {
	chain := kubeletChain(newNode(resources("pods", "10", "cpu", "4", "memory", "8Gi")))
	for name, cpu := range map[string]string{"small": "100m", "large": "2", "middle": "1", "tiny": "1m"} {
		require.NoError(t, chain.Enter(newPod(name, resources("cpu", cpu))))
	}
	e, err := chain.Explain(t.Context(), newPod("new", resources("cpu", "1", "memory", "1Gi")))
	require.NoError(t, err)
	require.Equal(t, admission.Reject, e.Outcome)
	require.Equal(t, []admission.Holder{
		{Resource: "cpu", Pod: "default/large", Amount: 2000},
		{Resource: "cpu", Pod: "default/middle", Amount: 1000},
		{Resource: "cpu", Pod: "default/small", Amount: 100},
	}, e.Holders)
	require.Equal(t, admission.Room{Resource: "cpu", Requested: 1000, Used: 3101, Capacity: 4000, Free: 899}, e.Room[1])
	require.Contains(t, e.String(), "default/large holds 2000 of cpu")
	require.Len(t, e.Checks, len(chain.Checks))
}
