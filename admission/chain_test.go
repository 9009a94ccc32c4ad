package admission_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/admission/admissiontest"
)

func kubeletChain(node *v1.Node) *admission.Chain {
	return &admission.Chain{
		Ledger: admission.NewLedger(),
		Nodes:  admission.FixedNode(node),
		Checks: admission.KubeletChecks(admission.Kubelet{}),
		OS:     "linux",
	}
}

func TestFirstFailureInTheKubeletsOrderIsTheReason(t *testing.T) {
	node := newNode(resources("pods", "0"))
	pod := newPod("a", nil)
	pod.Spec.SecurityContext = &v1.PodSecurityContext{Sysctls: []v1.Sysctl{{Name: "vm.x"}}}
	pod.Spec.NodeName = "elsewhere"
	pod.Labels = map[string]string{v1.LabelOSStable: "windows"}
	chain := kubeletChain(node)
	reason := func() string {
		d, err := chain.Check(t.Context(), pod)
		require.NoError(t, err)
		return d.Reason
	}
	require.Equal(t, "SysctlForbidden", reason())
	pod.Spec.SecurityContext = nil
	require.Equal(t, "PodOSSelectorNodeLabelDoesNotMatch", reason())
	pod.Labels = nil
	require.Equal(t, "OutOfpods", reason())
	node.Status.Allocatable = resources("pods", "1")
	require.Equal(t, "NodeName", reason())
	pod.Spec.NodeName = ""
	require.Empty(t, reason())
}

func TestChecksThatNeedNoNodeComeBeforeAnUnreadableOne(t *testing.T) {
	chain := kubeletChain(nil)
	chain.Nodes = admission.NodeFunc(func(context.Context, bool) (*v1.Node, error) { return nil, errors.New("no route") })
	pod := newPod("a", nil)
	d, err := chain.Check(t.Context(), pod)
	require.NoError(t, err)
	require.Equal(t, admission.ReasonInvalidNodeInfo, d.Reason)

	pod.Spec.SecurityContext = &v1.PodSecurityContext{Sysctls: []v1.Sysctl{{Name: "vm.x"}}}
	d, err = chain.Check(t.Context(), pod)
	require.NoError(t, err)
	require.Equal(t, admission.Reject, d.Outcome)
	require.Equal(t, "SysctlForbidden", d.Reason)

	chain.Nodes = admission.NodeFunc(func(context.Context, bool) (*v1.Node, error) { return nil, nil })
	d, err = chain.Check(t.Context(), newPod("b", nil))
	require.NoError(t, err)
	require.Equal(t, admission.ReasonInvalidNodeInfo, d.Reason, "a getter that gives nothing")
}

// The node is read afresh when node affinity alone failed, once, and never to
// check again what matched.
func TestFreshNodeOnALoneAffinityFailure(t *testing.T) {
	stale := newNode(resources("pods", "1", "cpu", "1"))
	stale.Labels = map[string]string{"zone": "a"}
	relabelled := stale.DeepCopy()
	relabelled.Labels["zone"] = "b"
	for _, c := range []struct {
		name, zone, cpu string
		fails           bool
		reads           int
		reason          string
	}{
		{"it matches", "a", "1", false, 0, ""},
		{"only the fresh one matches", "b", "1", false, 1, ""},
		{"neither matches", "c", "1", false, 1, "NodeAffinity"},
		{"there is no room either", "b", "2", false, 0, "OutOfcpu"},
		{"the fresh one can't be read", "b", "1", true, 1, "NodeAffinity"},
	} {
		t.Run(c.name, func(t *testing.T) {
			reads := 0
			chain := kubeletChain(nil)
			chain.Nodes = admission.NodeFunc(func(_ context.Context, fresh bool) (*v1.Node, error) {
				if !fresh {
					return stale, nil
				}
				reads++
				if c.fails {
					return nil, errors.New("no route")
				}
				return relabelled, nil
			})
			pod := newPod("a", resources("cpu", c.cpu))
			pod.Spec.NodeSelector = map[string]string{"zone": c.zone}
			d, err := chain.Check(t.Context(), pod)
			require.NoError(t, err)
			require.Equal(t, c.reason, d.Reason)
			require.Equal(t, c.reads, reads)
		})
	}
}

// The kubelet writes the label into the node that it shares with its cache.
func TestOSLabelOfTheNodeIsPutRightInACopy(t *testing.T) {
	node := newNode(resources("pods", "1"))
	node.Labels = map[string]string{v1.LabelOSStable: "plan9"}
	pod := newPod("a", nil)
	pod.Spec.NodeSelector = map[string]string{v1.LabelOSStable: "linux"}
	before := node.DeepCopy()
	d, err := kubeletChain(node).Check(t.Context(), pod)
	require.NoError(t, err)
	require.Equal(t, admission.Admit, d.Outcome, d.Message)
	require.Equal(t, before, node)
}

// devices hands out one thing at a time.
type devices struct {
	free int
	held map[string]bool
	err  error
}

func (d *devices) Allocate(_ context.Context, pod *v1.Pod) error {
	switch {
	case d.err != nil:
		return d.err
	case d.held[pod.Name]:
		return nil
	case d.free == 0:
		return alignment{}
	}
	d.held[pod.Name] = true
	d.free--
	return nil
}

func (d *devices) Free(pod *v1.Pod) {
	if d.held[pod.Name] {
		delete(d.held, pod.Name)
		d.free++
	}
}

type alignment struct{}

func (alignment) Error() string { return "Resources cannot be allocated with Topology locality" }
func (alignment) Type() string  { return "TopologyAffinityError" }

func TestDevicesKeepTheRules(t *testing.T) {
	admissiontest.TestAllocator(t, func() admission.Allocator { return &devices{free: 3, held: map[string]bool{}} },
		admissiontest.Case{Pod: newPod("p", nil), Node: newNode(nil), Room: 3})
}

func TestReservations(t *testing.T) {
	first, second := &devices{free: 2, held: map[string]bool{}}, &devices{free: 1, held: map[string]bool{}}
	chain := kubeletChain(newNode(resources("pods", "10", "cpu", "1")))
	chain.Checks = append([]admission.Check{
		{Name: "First", Handler: admission.Allocation{Allocator: first}},
		{Name: "Second", Handler: admission.Allocation{Allocator: second}},
	}, chain.Checks...)
	admit := func(pod *v1.Pod) admission.Verdict {
		d, err := chain.Admit(t.Context(), pod)
		require.NoError(t, err)
		return d.Verdict
	}

	require.Equal(t, "OutOfcpu", admit(newPod("big", resources("cpu", "2"))).Reason)
	require.Empty(t, first.held, "nothing is reserved for a pod that a check refuses")

	_, err := chain.Check(t.Context(), newPod("a", nil))
	require.NoError(t, err)
	require.Empty(t, first.held, "a what-if reserves nothing")

	require.Equal(t, admission.Admitted(), admit(newPod("a", nil)))
	require.Equal(t, admission.Admitted(), admit(newPod("a", nil)), "asked again, it keeps what it has")
	require.Equal(t, 1, first.free)

	v := admit(newPod("b", nil))
	require.Equal(t, admission.Rejected("TopologyAffinityError", "Resources cannot be allocated with Topology locality"), v)
	require.Equal(t, 1, first.free, "rolled back")
	require.False(t, chain.Ledger.Has("b"))

	second.err = fmt.Errorf("asking the bank: %w", alignment{})
	v = admit(newPod("c", nil))
	require.Equal(t, admission.Rejected("TopologyAffinityError", second.err.Error()), v)
	second.err = errors.New("plugin away")
	v = admit(newPod("c", nil))
	require.Equal(t, admission.RetryLater("UnexpectedAdmissionError", "Allocate failed due to plugin away, which is unexpected", 0), v)

	require.True(t, chain.Remove("a"))
	require.Equal(t, 2, first.free)
	require.False(t, chain.Remove("a"))
}

// A what-if on a fork sets nothing aside: to drop the fork would not give it back.
func TestWhatIfReservesNothing(t *testing.T) {
	first := &devices{free: 1, held: map[string]bool{}}
	chain := kubeletChain(newNode(resources("pods", "10", "cpu", "2")))
	chain.Checks = append(chain.Checks, admission.Check{Name: "First", Handler: admission.Allocation{Allocator: first}})
	require.NoError(t, chain.Enter(newPod("old", resources("cpu", "1"))))
	what := chain.WhatIf()
	for _, name := range []string{"a", "b"} {
		d, err := what.Admit(t.Context(), newPod(name, resources("cpu", "1")))
		require.NoError(t, err)
		require.Equal(t, name == "a", d.Outcome == admission.Admit, d.Message)
	}
	_, err := what.Resize(t.Context(), newPod("a", nil))
	require.NoError(t, err)
	require.True(t, what.Remove("old"))
	require.Equal(t, &devices{free: 1, held: map[string]bool{}}, first)
	require.Equal(t, 1, chain.Ledger.Pods())
	_, err = (&admission.Chain{}).WhatIf().Check(t.Context(), newPod("a", nil))
	require.ErrorContains(t, err, "Ledger is nil")
}

func TestPreparedCheckAllocatesNothing(t *testing.T) {
	node := newNode(resources("pods", "110", "cpu", "8", "memory", "64Gi", "example.com/gpu", "4"))
	chain := kubeletChain(node)
	require.NoError(t, chain.Enter(newPod("a", resources("cpu", "1", "example.com/gpu", "1"), 80)))
	p := chain.Prepare(newPod("b", resources("cpu", "1", "memory", "1Gi", "example.com/gpu", "1"), 81))
	ctx := t.Context()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if d, err := chain.CheckPrepared(ctx, p); err != nil || d.Outcome != admission.Admit {
			t.Error(d, err)
		}
	}))
}

// Any number of goroutines may ask, of one ledger and of forks of it, for one pod
// that was prepared once, and preemption and explanations too. Nothing that they
// share is written to.
func TestCheckFromManyGoroutines(t *testing.T) {
	node := newNode(resources("pods", "110", "cpu", "8", "example.com/gpu", "2"))
	node.Labels = map[string]string{v1.LabelOSStable: "plan9"}
	chain := kubeletChain(node)
	chain.Preempt = true
	chain.Checks = append(chain.Checks, admission.Check{Name: "Allocation", Handler: admission.Allocation{Allocator: &devices{}}})
	require.NoError(t, chain.Enter(newPod("a", resources("cpu", "1"), 80)))
	require.NoError(t, chain.Enter(newPod("b", resources("cpu", "6", "example.com/gpu", "1"))))
	critical := withPriority(newPod("critical", resources("cpu", "4", "example.com/gpu", "2", "example.com/unheard", "1"), 81), admission.CriticalPriority)
	critical.Spec.NodeSelector = map[string]string{v1.LabelOSStable: "linux"}
	critical.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
	prepared := chain.Prepare(critical)
	ctx := t.Context()
	want, err := chain.Check(ctx, critical)
	require.NoError(t, err)
	require.NotNil(t, want.Plan)
	done := make(chan error)
	for i := range 8 {
		own := *chain
		if i%2 == 0 {
			own.Ledger = chain.Ledger.Fork()
		}
		go func() {
			var errs []error
			for range 50 {
				d, err := own.CheckPrepared(ctx, prepared)
				if err == nil && d.Message != want.Message {
					err = errors.New(d.Message)
				}
				errs = append(errs, err)
				_, err = own.Check(ctx, newPod("a", resources("cpu", "8")))
				errs = append(errs, err)
				_, err = own.Explain(ctx, critical)
				errs = append(errs, err)
				if i%2 == 0 { // its own fork
					own.Ledger.SetLeaving("b", true)
					own.Ledger.Remove("a")
					own.Ledger = chain.Ledger.Fork()
				}
			}
			done <- errors.Join(errs...)
		}()
	}
	for range 8 {
		require.NoError(t, <-done)
	}
	require.Equal(t, 2, chain.Ledger.Pods())
}

func TestNodeWithoutAllocatable(t *testing.T) {
	d, err := kubeletChain(&v1.Node{}).Check(t.Context(), &v1.Pod{})
	require.NoError(t, err)
	require.Equal(t, "OutOfpods", d.Reason, "a node without an allocatable has room for nobody")
}

// A node getter that hangs costs ten seconds, and is a verdict by name.
func TestNodeGetterThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chain := kubeletChain(nil)
		chain.Nodes = admission.NodeFunc(func(ctx context.Context, _ bool) (*v1.Node, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		began := time.Now()
		d, err := chain.Check(t.Context(), newPod("a", nil))
		require.NoError(t, err)
		require.Equal(t, admission.ReasonInvalidNodeInfo, d.Reason)
		require.Equal(t, 10*time.Second, time.Since(began))
		began = time.Now()
		e, err := chain.Explain(t.Context(), newPod("a", nil))
		require.NoError(t, err)
		require.Empty(t, e.Room)
		require.Equal(t, 10*time.Second, time.Since(began))
	})
}

// With Patience the next pods don't wait for it again, each kind of read by itself.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chain := kubeletChain(nil)
		chain.Patience = &admission.Patience{}
		takes := 10 * time.Second
		var hangs, fails bool
		chain.Nodes = admission.NodeFunc(func(ctx context.Context, fresh bool) (*v1.Node, error) {
			if fresh || hangs {
				time.Sleep(takes)
				return nil, errors.New("no answer")
			}
			if fails {
				return nil, errors.New("no route")
			}
			return newNode(resources("pods", "1")), nil
		})
		check := func(reason string, took time.Duration, selector map[string]string) {
			t.Helper()
			pod := newPod("a", nil)
			pod.Spec.NodeSelector = selector
			began := time.Now()
			d, err := chain.Check(t.Context(), pod)
			require.NoError(t, err)
			require.Equal(t, reason, d.Reason)
			require.Equal(t, took, time.Since(began))
		}
		fast := map[string]string{"disk": "fast"}
		require.Empty(t, chain.Silent())
		began := time.Now()
		check("NodeAffinity", takes, fast)
		check("NodeAffinity", 0, fast)
		check("", 0, nil)
		require.Equal(t, []admission.Silence{{Name: "a fresh node", Since: began, Until: began.Add(10 * takes)}}, chain.Silent())

		fails = true
		check("InvalidNodeInfo", 0, nil)
		fails = false
		check("", 0, nil) // a failure that took no time is forgotten

		hangs = true
		check("InvalidNodeInfo", takes, nil)
		check("InvalidNodeInfo", 0, fast)
		hangs = false
		check("InvalidNodeInfo", 0, nil)
		time.Sleep(9 * takes)
		require.Len(t, chain.Silent(), 2)
		check("", 0, nil)
		require.Len(t, chain.Silent(), 1, "it answers again")

		check("NodeAffinity", takes, fast)
		check("NodeAffinity", 0, fast)
		require.Equal(t, began, chain.Silent()[0].Since)
		chain.Patience.Forget()
		require.Empty(t, chain.Silent())
		takes = time.Second
		check("NodeAffinity", takes, fast)
		check("NodeAffinity", takes, fast) // that much is borne
	})
}

// A caller who gave up before the node could answer leaves others to ask it.
func TestCallerWhoGivesUpCostsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chain := kubeletChain(nil)
		chain.Patience = &admission.Patience{}
		chain.Nodes = admission.NodeFunc(func(ctx context.Context, _ bool) (*v1.Node, error) {
			select {
			case <-time.After(3 * time.Second):
				return newNode(resources("pods", "1")), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		hasty, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		d, err := chain.Check(hasty, newPod("a", nil))
		require.NoError(t, err)
		require.Equal(t, "InvalidNodeInfo", d.Reason)
		require.Empty(t, chain.Silent())
		d, err = chain.Check(t.Context(), newPod("b", nil))
		require.NoError(t, err)
		require.Equal(t, admission.Admit, d.Outcome)
	})
}

// A Reserver that takes its time to say that it has nothing for one pod is asked for
// the next one.
func TestReserverThatAnswersSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []string
		slow := &shelf{name: "slow", kept: map[string]int64{}, unsettled: map[string]int64{}, log: &log}
		slow.refuse = func() (admission.Verdict, error) {
			time.Sleep(2 * time.Second)
			return admission.RetryLater("ShelfIsEmpty", "none is left", 0), nil
		}
		chain := kubeletChain(newNode(resources("pods", "10", "cpu", "8")))
		chain.Patience = &admission.Patience{}
		chain.Checks = append(chain.Checks, admission.Check{Name: "Slow", Handler: slow})
		d, err := chain.Admit(t.Context(), newPod("a", nil))
		require.NoError(t, err)
		require.Equal(t, "ShelfIsEmpty", d.Reason)
		require.Empty(t, chain.Silent())
		slow.refuse = nil
		d, err = chain.Admit(t.Context(), newPod("b", nil))
		require.NoError(t, err)
		require.Equal(t, admission.Admit, d.Outcome, d.Message)
	})
}

// What a Reserver gave up for a resize that another one refused it gets the time to
// give back, although it is left alone.
func TestUndoOfAResizeAsksOneThatIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cpus := &exclusive{has: map[string]int64{}}
		var full bool
		chain := kubeletChain(newNode(resources("pods", "10", "cpu", "8")))
		chain.Patience = &admission.Patience{}
		chain.Checks = append(chain.Checks,
			admission.Check{Name: "CPUs", Handler: admission.Allocation{Allocator: cpus}},
			admission.Check{Name: "Full", Handler: admission.Allocation{Allocator: refuser(func() bool { return full })}})
		d, err := chain.Admit(t.Context(), newPod("a", resources("cpu", "2")))
		require.NoError(t, err)
		require.Equal(t, admission.Admit, d.Outcome, d.Message)
		cpus.hangs = true
		_, err = chain.Admit(t.Context(), newPod("b", resources("cpu", "2")))
		require.NoError(t, err)
		require.Equal(t, "CPUs", chain.Silent()[0].Name)

		cpus.hangs, full = false, true
		d, err = chain.Resize(t.Context(), newPod("a", resources("cpu", "0")))
		require.NoError(t, err)
		require.Len(t, d.Failures, 1)
		require.Equal(t, "Full", d.Failures[0].Name)
		require.EqualValues(t, 2000, cpus.has["a"])
	})
}

// exclusive is an Allocator of cpus, which can hang over whoever wants some.
type exclusive struct {
	has   map[string]int64
	hangs bool
}

func (e *exclusive) Allocate(ctx context.Context, pod *v1.Pod) error {
	wants := admission.PodRequests(pod).MilliCPU
	if wants > 0 && e.hangs {
		<-ctx.Done()
	}
	if wants > 0 && ctx.Err() != nil {
		return ctx.Err()
	}
	e.has[pod.Name] = wants
	return nil
}

func (e *exclusive) Free(pod *v1.Pod) { delete(e.has, pod.Name) }

// refuser is an Allocator that has nothing while it says so.
type refuser func() bool

func (r refuser) Allocate(context.Context, *v1.Pod) error {
	if r() {
		return errors.New("full")
	}
	return nil
}

func (refuser) Free(*v1.Pod) {}

// So does a Reserver that hangs, and nothing stays set aside by others.
func TestReserverThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := &devices{free: 1, held: map[string]bool{}}
		chain := kubeletChain(newNode(resources("pods", "10")))
		chain.Checks = append(chain.Checks,
			admission.Check{Name: "Before", Handler: admission.Allocation{Allocator: before}},
			admission.Check{Name: "Hanging", Handler: admission.Allocation{Allocator: hanging{}}})
		began := time.Now()
		d, err := chain.Admit(t.Context(), newPod("a", nil))
		require.NoError(t, err)
		require.Equal(t, admission.RetryLater("UnexpectedAdmissionError", "Allocate failed due to context deadline exceeded, which is unexpected", 0), d.Verdict)
		require.Equal(t, 10*time.Second, time.Since(began))
		require.Equal(t, 1, before.free)
		require.False(t, chain.Ledger.Has("a"))
	})
}

// hanging never answers.
type hanging struct{}

func (hanging) Allocate(ctx context.Context, _ *v1.Pod) error {
	<-ctx.Done()
	return ctx.Err()
}

func (hanging) Free(*v1.Pod) {}

// Who looks at the status of a pod learns at least who refused it.
func TestRefusalWithoutReason(t *testing.T) {
	for _, c := range []struct {
		name            string
		says            admission.Verdict
		reason, message string
	}{
		{"Licence", admission.Rejected("", ""), "Licence", `admission check "Licence" does not say why`},
		{"Licence", admission.RetryLater("", "", time.Second), "Licence", `admission check "Licence" does not say why`},
		{"Licence", admission.Rejected("", "none is left"), "Licence", "none is left"},
		{"Licence", admission.Rejected("NoLicence", ""), "NoLicence", `admission check "Licence" does not say why`},
		{"", admission.Rejected("", ""), "UnexpectedAdmissionError", `admission check "" does not say why`},
	} {
		chain := kubeletChain(newNode(resources("pods", "1")))
		chain.Checks = []admission.Check{{Name: c.name, Handler: admission.AdmitFunc(func(context.Context, admission.Request) (admission.Verdict, error) {
			return c.says, nil
		})}}
		d, err := chain.Admit(t.Context(), newPod("a", nil))
		require.NoError(t, err)
		want := c.says
		want.Reason, want.Message = c.reason, c.message
		require.Equal(t, want, d.Verdict)
		require.Equal(t, want, d.Failures[0].Verdict)
	}
}

// Thousands of ports, terms and containers are judged like any other.
func TestHugePod(t *testing.T) {
	pod := newPod("a", nil)
	var terms []v1.NodeSelectorTerm
	for i := range 5_000 {
		name := fmt.Sprint("c", i)
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: name, Ports: []v1.ContainerPort{{HostPort: int32(i + 1)}},
			Resources: v1.ResourceRequirements{Requests: resources("cpu", "1e18", "memory", "-1", "example.com/"+name, "1")}})
		terms = append(terms, v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: name, Operator: "Near"}}})
	}
	pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: terms},
	}}
	chain := kubeletChain(newNode(resources("pods", "10", "cpu", "4")))
	require.NoError(t, chain.Enter(newPod("b", nil, 5_000)))
	d, err := chain.Check(t.Context(), pod)
	require.NoError(t, err)
	require.Equal(t, "OutOfcpu", d.Reason)
	reasons := map[string]string{}
	for _, c := range d.Failures {
		reasons[c.Name] = c.Reason
	}
	require.Equal(t, "NodeAffinity", reasons["NodeAffinity"], "a term that can't be read matches nothing")
	require.Equal(t, "NodePorts", reasons["NodePorts"])
}
