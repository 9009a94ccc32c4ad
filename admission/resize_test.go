package admission_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
)

// bank hands out cpus to at most as many as it has, and notes what it did.
type bank struct {
	has  int64
	held int64
	log  []string
}

func (b *bank) Allocate(_ context.Context, pod *v1.Pod) error {
	want := admission.PodRequests(pod).MilliCPU / 1000
	if want > b.has {
		return errors.New("too few")
	}
	b.held = want
	b.log = append(b.log, "allocate")
	return nil
}

func (b *bank) Free(*v1.Pod) {
	b.held = 0
	b.log = append(b.log, "free")
}

func TestResizeKeepsWhatIsReserved(t *testing.T) {
	b := &bank{has: 3}
	chain := &admission.Chain{
		Ledger: admission.NewLedger(), Nodes: admission.FixedNode(newNode(resources("pods", "9", "cpu", "8"))), OS: "linux",
		Checks: admission.KubeletChecks(admission.Kubelet{Allocator: b}),
	}
	pod := newPod("a", resources("cpu", "1"))
	d, err := chain.Admit(t.Context(), pod)
	require.NoError(t, err)
	require.Equal(t, admission.Admit, d.Outcome)

	d, err = chain.Resize(t.Context(), newPod("a", resources("cpu", "2")))
	require.NoError(t, err)
	require.Equal(t, admission.Admit, d.Outcome)
	require.Equal(t, int64(2000), chain.Ledger.UsedOf(v1.ResourceCPU))

	for _, cpu := range []string{"4", "9"} { // no bank has so many, no node
		d, err = chain.Resize(t.Context(), newPod("a", resources("cpu", cpu)))
		require.NoError(t, err)
		require.NotEqual(t, admission.Admit, d.Outcome)
		require.True(t, chain.Ledger.Has("a"))
		require.Equal(t, int64(2000), chain.Ledger.UsedOf(v1.ResourceCPU))
		require.Equal(t, int64(2), b.held)
	}
	require.Equal(t, []string{"allocate", "allocate"}, b.log)
}

// A resize in a fork that a Reserver refuses leaves the parent as it was.
func TestRefusedResizeInAFork(t *testing.T) {
	chain := kubeletChain(newNode(resources("pods", "10", "cpu", "4")))
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, chain.Enter(newPod(name, resources("cpu", "1"))))
	}
	fork := *chain
	fork.Ledger = chain.Ledger.Fork()
	fork.Checks = append(fork.Checks, admission.Check{Name: "Full", Handler: admission.Allocation{Allocator: refuser(func() bool { return true })}})
	d, err := fork.Resize(t.Context(), newPod("b", resources("cpu", "2")))
	require.NoError(t, err)
	require.NotEqual(t, admission.Admit, d.Outcome)
	require.EqualValues(t, 3000, fork.Ledger.UsedOf("cpu"))

	require.True(t, chain.Remove("b"))
	countVictims(t, chain.Ledger, 2)
	plan, err := chain.Ledger.Plan(withPriority(newPod("critical", nil), admission.CriticalPriority), []admission.Need{{Resource: "pods", Quantity: 2}})
	require.NoError(t, err)
	require.Equal(t, "c", plan.Victims[0].Pod.Name)
	require.Equal(t, "a", plan.Victims[1].Pod.Name)
}
