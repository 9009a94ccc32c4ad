package admission_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
)

func withPriority(pod *v1.Pod, priority int32) *v1.Pod {
	pod.Spec.Priority = &priority
	return pod
}

func ofClass(name string, class v1.PodQOSClass, pairs ...string) *v1.Pod {
	pod := newPod(name, resources(pairs...))
	pod.Status.QOSClass = class
	return pod
}

func fivePods() map[string]*v1.Pod {
	return map[string]*v1.Pod{
		"bestEffort":     ofClass("bestEffort", v1.PodQOSBestEffort),
		"burstable":      ofClass("burstable", v1.PodQOSBurstable, "cpu", "100m", "memory", "100Mi"),
		"highBurstable":  ofClass("highBurstable", v1.PodQOSBurstable, "cpu", "300m", "memory", "300Mi"),
		"guaranteed":     ofClass("guaranteed", v1.PodQOSGuaranteed, "cpu", "100m", "memory", "100Mi"),
		"highGuaranteed": ofClass("highGuaranteed", v1.PodQOSGuaranteed, "cpu", "300m", "memory", "300Mi"),
	}
}

func TestVictims(t *testing.T) {
	all := []string{"bestEffort", "burstable", "highBurstable", "guaranteed", "highGuaranteed"}
	for _, c := range []struct {
		name              string
		cpu, memory, pods int64
		running           []string
		victims           []string
		missing           string
	}{
		{"one pod", 0, 0, 1, []string{"burstable", "bestEffort"}, []string{"bestEffort"}, ""},
		{"the lower class", 0, 0, 1, []string{"burstable", "guaranteed"}, []string{"burstable"}, ""},
		{"the smaller one that suffices", 100, 100, 0, []string{"bestEffort", "highBurstable", "burstable"}, []string{"burstable"}, ""},
		{"the larger one if it must be", 150, 150, 0, []string{"bestEffort", "highBurstable", "burstable"}, []string{"highBurstable"}, ""},
		{"both", 350, 350, 0, all, []string{"highBurstable", "burstable"}, ""},
		{"no Burstable that a Guaranteed one covers", 0, 550, 0, all, []string{"highBurstable", "highGuaranteed"}, ""},
		{"too much", 200, 200, 2, []string{"burstable"}, nil, "[(res: cpu, q: 100), (res: memory, q: 104857600), (res: pods, q: 1), ]"},
		{"nothing", 0, 0, 0, all, nil, ""},
		{"BestEffort gives no cpu", 1, 0, 0, []string{"bestEffort"}, nil, "[(res: cpu, q: 1), ]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var needs []admission.Need
			need := func(name v1.ResourceName, n int64) {
				if n > 0 {
					needs = append(needs, admission.Need{Resource: name, Quantity: n})
				}
			}
			need("cpu", c.cpu)
			need("memory", c.memory<<20)
			need("pods", c.pods)
			var running []*v1.Pod
			for _, name := range c.running {
				running = append(running, fivePods()[name])
			}
			plan, err := admission.PlanPreemption(withPriority(newPod("critical", nil), admission.CriticalPriority), needs, running)
			if c.missing != "" {
				require.EqualError(t, err, "no set of running pods found to reclaim resources: "+c.missing)
				return
			}
			require.NoError(t, err)
			var victims []string
			for _, v := range plan.Victims {
				victims = append(victims, v.Pod.Name)
			}
			require.ElementsMatch(t, c.victims, victims)
		})
	}
}

// The kubelet leaves ties to the order of a map.
func TestOfEqualsTheOneEnteredLastGoes(t *testing.T) {
	ledger := admission.NewLedger()
	for _, name := range []string{"c", "a", "b"} {
		require.NoError(t, ledger.Add(newPod(name, resources("cpu", "1"))))
	}
	critical := withPriority(newPod("critical", nil), admission.CriticalPriority)
	for range 20 {
		plan, err := ledger.Plan(critical, []admission.Need{{Resource: "cpu", Quantity: 1500}})
		require.NoError(t, err)
		require.Len(t, plan.Victims, 2)
		require.Equal(t, "b", plan.Victims[0].Pod.Name)
		require.Equal(t, "a", plan.Victims[1].Pod.Name)
	}
}

func preemptingChain(t *testing.T, node *v1.Node, running ...*v1.Pod) *admission.Chain {
	t.Helper()
	chain := kubeletChain(node)
	chain.Preempt = true
	for _, pod := range running {
		require.NoError(t, chain.Enter(pod))
	}
	return chain
}

// The whole way: planned, parked with its room kept, let in when the victims
// are gone. Nothing is ever over-committed by it, and nobody slips in between.
func TestPreemptionFromPlanToAdmission(t *testing.T) {
	node := newNode(resources("pods", "10", "cpu", "2"))
	chain := preemptingChain(t, node, newPod("a", resources("cpu", "1")), newPod("b", resources("cpu", "1")))
	admit := func(pod *v1.Pod) admission.Decision {
		d, err := chain.Admit(t.Context(), pod)
		require.NoError(t, err)
		return d
	}
	critical := withPriority(newPod("critical", resources("cpu", "1")), admission.CriticalPriority)

	d, err := chain.Check(t.Context(), critical)
	require.NoError(t, err)
	require.NotNil(t, d.Plan)
	require.False(t, chain.Ledger.Has("critical"), "a what-if")

	d = admit(critical)
	require.Equal(t, admission.RetryLater(admission.ReasonPreempting, "waiting for pods to stop that give way: default/b", 0), d.Verdict)
	require.Equal(t, "b", d.Plan.Victims[0].Pod.Name)

	d = admit(critical)
	require.Empty(t, d.Plan.Victims, "asked again meanwhile, it takes nobody else's place")
	require.Equal(t, admission.Retry, d.Outcome)

	second := withPriority(newPod("second", resources("cpu", "1")), admission.CriticalPriority)
	d = admit(second)
	require.Equal(t, "a", d.Plan.Victims[0].Pod.Name, "b gives way to the first already")
	require.True(t, chain.Remove("second"))
	require.True(t, chain.Ledger.SetLeaving("a", false))

	require.True(t, chain.Remove("b"))
	require.Equal(t, "OutOfcpu", admit(newPod("late", resources("cpu", "1"))).Reason, "the room is kept")
	require.Equal(t, admission.Admit, admit(critical).Outcome)
	require.EqualValues(t, 2000, chain.Ledger.Used().MilliCPU)
}

// A victim that can't be stopped stays, and the critical pod does not go in
// beside it: others are chosen, and where there are none it waits. The kubelet
// admits it regardless.
func TestVictimThatCannotBeStopped(t *testing.T) {
	chain := preemptingChain(t, newNode(resources("pods", "10", "cpu", "2")),
		newPod("b", resources("cpu", "1")), newPod("a", resources("cpu", "1")))
	critical := withPriority(newPod("critical", resources("cpu", "1")), admission.CriticalPriority)
	admit := func() admission.Decision {
		d, err := chain.Admit(t.Context(), critical)
		require.NoError(t, err)
		return d
	}
	require.Equal(t, "a", admit().Plan.Victims[0].Pod.Name)

	require.True(t, chain.Ledger.SetLeaving("a", false))
	require.Equal(t, "a", admit().Plan.Victims[0].Pod.Name, "it may be tried again")

	require.True(t, chain.Ledger.SetStuck("a"))
	require.Equal(t, "b", admit().Plan.Victims[0].Pod.Name)

	require.True(t, chain.Ledger.SetStuck("b"))
	require.False(t, chain.Ledger.SetStuck("c"))
	d := admit()
	require.Equal(t, admission.RetryLater("Preempting", "waiting for pods that are being stopped and do not stop", 0), d.Verdict)
	require.Empty(t, d.Plan.Victims)
	require.True(t, chain.Ledger.Has("critical"), "its room is kept")

	for _, name := range []string{"a", "b"} {
		static := newPod(name, resources("cpu", "1"))
		static.Annotations = map[string]string{"kubernetes.io/config.source": "file"}
		require.True(t, chain.Remove(admission.KeyOf(static)))
		require.NoError(t, chain.Enter(static))
	}
	require.Equal(t, admission.Rejected("UnexpectedAdmissionError",
		"Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: "+
			"no set of running pods found to reclaim resources: [(res: cpu, q: 1000), ]"), admit().Verdict)
	require.False(t, chain.Ledger.Has("critical"), "and its room is given back")
}

// The kubelet stops victims for a critical pod that AppArmor then rejects.
func TestNoVictimForAPodThatALaterCheckRejects(t *testing.T) {
	chain := preemptingChain(t, newNode(resources("pods", "10", "cpu", "1")), newPod("a", resources("cpu", "1")))
	chain.Checks = admission.KubeletChecks(admission.Kubelet{AppArmor: admission.AppArmor{Unavailable: admission.ErrAppArmorDisabled}})
	critical := withPriority(newPod("critical", resources("cpu", "1")), admission.CriticalPriority)
	critical.Spec.SecurityContext = &v1.PodSecurityContext{AppArmorProfile: &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeRuntimeDefault}}
	d, err := chain.Admit(t.Context(), critical)
	require.NoError(t, err)
	require.Nil(t, d.Plan)
	require.Equal(t, "AppArmor", d.Reason)
}

func TestPlainPodPreemptsNobody(t *testing.T) {
	chain := preemptingChain(t, newNode(resources("pods", "10", "cpu", "1")), newPod("a", resources("cpu", "1")))
	d, err := chain.Admit(t.Context(), withPriority(newPod("important", resources("cpu", "1")), 1_000_000_000))
	require.NoError(t, err)
	require.Nil(t, d.Plan)
	require.Equal(t, "OutOfcpu", d.Reason)
}

// A handler that calls something short of which there is enough does not let the
// pod wait for nobody's end.
func TestShortageOfNothingIsFinal(t *testing.T) {
	chain := preemptingChain(t, newNode(resources("pods", "10", "cpu", "4")), newPod("a", resources("cpu", "1")))
	chain.Checks = append(chain.Checks, admission.Check{Name: "Liar", Handler: admission.AdmitFunc(
		func(context.Context, admission.Request) (admission.Verdict, error) {
			return admission.RejectedShort([]admission.Shortage{{Resource: "cpu", Requested: 1, Used: 1000, Capacity: 4000}}), nil
		})})
	d, err := chain.Admit(t.Context(), withPriority(newPod("critical", resources("cpu", "1")), admission.CriticalPriority))
	require.NoError(t, err)
	require.Equal(t, admission.Reject, d.Outcome)
	require.Nil(t, d.Plan)
	require.Equal(t, 1, chain.Ledger.Pods())
}

func TestMessageNamesSomeOfManyVictims(t *testing.T) {
	chain := preemptingChain(t, newNode(resources("pods", "1000", "cpu", "300")))
	for i := range 300 {
		require.NoError(t, chain.Enter(newPod(fmt.Sprintf("p%03d", i), resources("cpu", "1"))))
	}
	d, err := chain.Check(t.Context(), withPriority(newPod("critical", resources("cpu", "299")), admission.CriticalPriority))
	require.NoError(t, err)
	require.Len(t, d.Plan.Victims, 299)
	require.Contains(t, d.Message, "give way: default/p299, default/p298, ")
	require.Contains(t, d.Message, ", default/p290 and 289 more")
}

// Of several critical pods that wait the first goes in as soon as there is room for
// it, although the others keep theirs: else all would wait for the last victim, and
// for ever for one that does not stop.
func TestFirstOfSeveralThatWaitGoesFirst(t *testing.T) {
	chain := preemptingChain(t, newNode(resources("pods", "10", "cpu", "2")),
		newPod("a", resources("cpu", "1")), newPod("b", resources("cpu", "1")))
	admit := func(name, cpu string) admission.Decision {
		d, err := chain.Admit(t.Context(), withPriority(newPod(name, resources("cpu", cpu)), admission.CriticalPriority))
		require.NoError(t, err)
		return d
	}
	require.Equal(t, "b", admit("first", "1").Plan.Victims[0].Pod.Name)
	require.Equal(t, "a", admit("second", "1").Plan.Victims[0].Pod.Name)
	require.Empty(t, admit("first", "1").Plan.Victims)

	require.True(t, chain.Ledger.SetStuck("b"))
	require.Equal(t, admission.Retry, admit("first", "1").Outcome, "a is there yet")
	require.True(t, chain.Remove("a"))
	require.Equal(t, admission.Retry, admit("second", "1").Outcome, "it is the other's turn")
	require.Equal(t, admission.Admit, admit("first", "1").Outcome)
	require.Equal(t, admission.Retry, admit("second", "1").Outcome)
	require.Equal(t, "OutOfcpu", mustCheck(t, chain, newPod("late", resources("cpu", "1m"))).Reason)
	require.True(t, chain.Remove("b"))
	require.Equal(t, admission.Admit, admit("second", "1").Outcome)
	require.EqualValues(t, 2000, chain.Ledger.UsedOf("cpu"))
}

func mustCheck(t *testing.T, chain *admission.Chain, pod *v1.Pod) admission.Decision {
	t.Helper()
	d, err := chain.Check(t.Context(), pod)
	require.NoError(t, err)
	return d
}
