package admission_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

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
	require.Contains(t, e.String(), "default/large holds 2 of cpu")
	require.Len(t, e.Checks, len(chain.Checks))
}

// A fork of a fork is what both did; what is dropped leaves no trace.
func TestForkOfAFork(t *testing.T) {
	ledger := admission.NewLedger()
	require.NoError(t, ledger.Add(newPod("a", resources("cpu", "1"), 80)))
	fork := ledger.Fork()
	require.True(t, fork.Remove("a"))
	require.NoError(t, fork.Add(newPod("b", resources("cpu", "2"))))
	deeper := fork.Fork()
	require.NoError(t, deeper.Add(newPod("a", resources("cpu", "4"), 81)))
	require.True(t, deeper.Remove("b"))
	deeper.Fork().Remove("a")

	require.EqualValues(t, 4000, deeper.UsedOf("cpu"))
	deeper.Commit()
	require.EqualValues(t, 4000, fork.UsedOf("cpu"))
	require.EqualValues(t, 1000, ledger.UsedOf("cpu"))
	fork.Commit()
	recount(t, ledger, map[types.UID]*v1.Pod{"a": newPod("a", resources("cpu", "4"), 81)})

	// Both go on as forks of what their parents are now.
	require.True(t, deeper.Has("a"))
	require.False(t, deeper.Has("b"))
	require.NoError(t, deeper.Add(newPod("c", resources("cpu", "1"))))
	require.EqualValues(t, 5000, deeper.UsedOf("cpu"))
	require.EqualValues(t, 4000, fork.UsedOf("cpu"))
	deeper.Commit()
	fork.Commit()
	require.Equal(t, 2, ledger.Pods())
	ledger.Commit()
	require.Equal(t, 2, ledger.Pods(), "it is no fork")
}

// Nobody should write to a parent while its fork is in use. Its sums are true all
// the same.
func TestCommitOfAStaleFork(t *testing.T) {
	ledger := admission.NewLedger()
	require.NoError(t, ledger.Add(newPod("gone", resources("cpu", "1"))))
	fork := ledger.Fork()
	require.True(t, fork.Remove("gone"))
	require.NoError(t, fork.Add(newPod("both", resources("cpu", "2"))))
	require.True(t, ledger.Remove("gone"))
	require.NoError(t, ledger.Add(newPod("both", resources("cpu", "4"))))
	require.NoError(t, ledger.Add(newPod("own", resources("cpu", "8"))))
	fork.Commit()
	recount(t, ledger, map[types.UID]*v1.Pod{
		"both": newPod("both", resources("cpu", "2")), "own": newPod("own", resources("cpu", "8")),
	})
	require.Equal(t, ledger.Used(), fork.Used())
	countVictims(t, ledger, 2)
}

// A UID that looks like a name is a UID, and names of pods in other namespaces are
// other names.
func TestKeys(t *testing.T) {
	nameless := func(namespace, name string) *v1.Pod {
		pod := newPod("", nil)
		pod.Namespace, pod.Name = namespace, name
		return pod
	}
	ledger := admission.NewLedger()
	for _, pod := range []*v1.Pod{nameless("x", "a"), nameless("y", "a"), nameless("", "a"), newPod("a", nil)} {
		require.NoError(t, ledger.Add(pod))
		require.ErrorIs(t, ledger.Add(pod), admission.ErrEntered)
		require.NoError(t, ledger.Update(pod))
		require.True(t, ledger.SetLeaving(admission.KeyOf(pod), true))
	}
	require.Equal(t, 4, ledger.Pods())
	require.True(t, ledger.RemovePod(nameless("x", "a")))
	require.False(t, ledger.HasPod(nameless("x", "a")))
	require.True(t, ledger.HasPod(nameless("y", "a")))
	require.False(t, ledger.Has(""))
	require.False(t, ledger.RemovePod(&v1.Pod{}))
	require.ErrorIs(t, ledger.Update(&v1.Pod{}), admission.ErrNotEntered)
}

// What a node does not list is not asked of it, and so is not among the figures.
func TestExplainLeavesOutWhatIsNotAsked(t *testing.T) {
	chain := kubeletChain(newNode(resources("pods", "10", "cpu", "4")))
	e, err := chain.Explain(t.Context(), newPod("new", resources("cpu", "1", "example.com/unheard", "7")))
	require.NoError(t, err)
	require.Equal(t, admission.Admit, e.Outcome)
	require.Len(t, e.Room, 2, "pods and cpu")
	require.NotContains(t, e.String(), "unheard")
}

// Names of resources come and go with pods: a ledger does not keep those of pods
// that are gone, nor do its forks copy them.
func TestLedgerForgetsNamesOfResources(t *testing.T) {
	ledger := admission.NewLedger()
	require.NoError(t, ledger.Add(newPod("stays", resources("example.com/gpu", "1"))))
	fork := func() { ledger.Fork() }
	before := testing.AllocsPerRun(100, fork)
	for i := range 1000 {
		pod := newPod("job", resources(fmt.Sprintf("example.com/job-%d", i), "1", "example.com/gpu", "1"))
		require.NoError(t, ledger.Add(pod))
		ledger.RemovePod(pod)
	}
	require.Equal(t, before, testing.AllocsPerRun(100, fork))
	require.Equal(t, map[v1.ResourceName]int64{"example.com/gpu": 1}, ledger.Used().Scalar)
}
