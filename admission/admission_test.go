package admission_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
)

func resources(pairs ...string) v1.ResourceList {
	list := v1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func newPod(uid string, requests v1.ResourceList, hostPorts ...int32) *v1.Pod {
	c := v1.Container{Name: "main", Resources: v1.ResourceRequirements{Requests: requests}}
	for _, p := range hostPorts {
		c.Ports = append(c.Ports, v1.ContainerPort{HostPort: p})
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: uid, UID: types.UID(uid)},
		Spec:       v1.PodSpec{Containers: []v1.Container{c}},
	}
}

func newNode(allocatable v1.ResourceList) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}, Status: v1.NodeStatus{Allocatable: allocatable}}
}

func newChain(node *v1.Node) *admission.Chain {
	return &admission.Chain{
		Ledger: admission.NewLedger(),
		Nodes:  admission.FixedNode(node),
		Checks: []admission.Check{
			{Name: "NodeFit", Handler: admission.NodeFit{}},
			{Name: "NodePorts", Handler: admission.NodePorts{}},
		},
	}
}

func TestNodeFit(t *testing.T) {
	node := resources("pods", "3", "cpu", "2", "memory", "1Gi", "ephemeral-storage", "1Gi",
		"hugepages-2Mi", "4Mi", "example.com/foo", "2", "example.com/none", "0")
	running := []*v1.Pod{newPod("running", resources("cpu", "1500m", "memory", "512Mi", "example.com/foo", "1"))}
	for _, c := range []struct {
		name     string
		requests v1.ResourceList
		reasons  []string
		message  string
	}{
		{"it fits to the last millicore", resources("cpu", "500m"), nil, ""},
		{"one millicore too many", resources("cpu", "501m"), []string{"OutOfcpu"},
			"Node didn't have enough resource: cpu, requested: 501, used: 1500, capacity: 2000"},
		{"a part of a millicore counts as a whole one", resources("cpu", "500100u"), []string{"OutOfcpu"},
			"Node didn't have enough resource: cpu, requested: 501, used: 1500, capacity: 2000"},
		{"memory in bytes", resources("memory", "513Mi"), []string{"OutOfmemory"},
			"Node didn't have enough resource: memory, requested: 537919488, used: 536870912, capacity: 1073741824"},
		{"all shortages in the kubelet's order", resources("example.com/foo", "2", "hugepages-2Mi", "6Mi", "memory", "2Gi", "cpu", "3", "ephemeral-storage", "2Gi"),
			[]string{"OutOfcpu", "OutOfmemory", "OutOfephemeral-storage", "OutOfexample.com/foo", "OutOfhugepages-2Mi"}, ""},
		{"an extended resource that the node does not list", resources("example.com/unheard", "7"), nil, ""},
		{"an extended resource that the node lists as zero", resources("example.com/none", "1"), []string{"OutOfexample.com/none"}, ""},
		{"a kubernetes.io resource that the node does not list", resources("kubernetes.io/batteries", "1"), []string{"OutOfkubernetes.io/batteries"}, ""},
		{"a name that means nothing to a node", resources("storage", "1Ti"), nil, ""},
		{"zero never fails", resources("cpu", "0", "example.com/none", "0"), nil, ""},
		{"more than there is of anything", resources("cpu", "1e15"), []string{"OutOfcpu"}, ""},
		{"more than an int64", resources("memory", "1e30"), []string{"OutOfmemory"}, ""},
		{"less than nothing", resources("cpu", "-1"), nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			ledger := admission.NewLedger()
			for _, p := range running {
				require.NoError(t, ledger.Add(p))
			}
			short := admission.Shortages(newPod("new", c.requests), node, ledger)
			var reasons []string
			for _, s := range short {
				reasons = append(reasons, s.Reason())
			}
			require.Equal(t, c.reasons, reasons)
			if c.message != "" {
				require.Equal(t, c.message, short[0].Message())
			}
		})
	}
}

func TestPodsAreCountedFirst(t *testing.T) {
	chain := newChain(newNode(resources("pods", "1", "cpu", "1")))
	require.NoError(t, chain.Enter(newPod("a", nil)))
	d, err := chain.Check(t.Context(), newPod("b", resources("cpu", "2")))
	require.NoError(t, err)
	require.Equal(t, "OutOfpods", d.Reason)
	require.Equal(t, "Node didn't have enough resource: pods, requested: 1, used: 1, capacity: 1", d.Message)
}

func TestNodePorts(t *testing.T) {
	port := func(ip, protocol string, n int32) v1.ContainerPort {
		return v1.ContainerPort{HostIP: ip, Protocol: v1.Protocol(protocol), HostPort: n}
	}
	for _, c := range []struct {
		name       string
		held, want v1.ContainerPort
		taken      bool
	}{
		{"the same port", port("", "", 80), port("", "", 80), true},
		{"another number", port("", "", 80), port("", "", 81), false},
		{"another protocol", port("", "TCP", 53), port("", "UDP", 53), false},
		{"no protocol is TCP", port("", "TCP", 53), port("", "", 53), true},
		{"any address against one", port("", "", 80), port("10.0.0.1", "", 80), true},
		{"one address against any", port("10.0.0.1", "", 80), port("0.0.0.0", "", 80), true},
		{"two addresses", port("10.0.0.1", "", 80), port("10.0.0.2", "", 80), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ledger := admission.NewLedger()
			require.NoError(t, ledger.AddWithPorts(newPod("a", nil), []v1.ContainerPort{c.held}))
			require.Equal(t, c.taken, ledger.HostPortTaken(c.want))
			require.Equal(t, c.taken, ledger.Fork().HostPortTaken(c.want))
			fork := ledger.Fork()
			fork.Remove("a")
			require.False(t, fork.HostPortTaken(c.want), "free in the fork that removed the holder")
			ledger.Remove("a")
			require.False(t, ledger.HostPortTaken(c.want))
		})
	}
}

func TestPortHeldTwiceIsFreeWhenBothAreGone(t *testing.T) {
	ledger := admission.NewLedger()
	port := v1.ContainerPort{HostPort: 80}
	require.NoError(t, ledger.AddWithPorts(newPod("a", nil), []v1.ContainerPort{port}))
	require.NoError(t, ledger.AddWithPorts(newPod("b", nil), []v1.ContainerPort{port}))
	ledger.Remove("a")
	require.True(t, ledger.HostPortTaken(port))
	ledger.Remove("b")
	require.False(t, ledger.HostPortTaken(port))
}

func TestHostPortsOfSidecarsCountAndOfInitContainersDoNot(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	pod := newPod("a", nil, 1)
	pod.Spec.InitContainers = []v1.Container{
		{Name: "init", Ports: []v1.ContainerPort{{HostPort: 2}}},
		{Name: "sidecar", RestartPolicy: &always, Ports: []v1.ContainerPort{{HostPort: 3}, {ContainerPort: 4}}},
	}
	require.Equal(t, []v1.ContainerPort{{HostPort: 3}, {HostPort: 1}}, admission.HostPorts(pod))
}

// kubernetes/kubernetes#135296: the absurd request of a rejected pod counted
// against the next one.
func TestRejectedPodIsNotCounted_135296(t *testing.T) {
	chain := newChain(newNode(resources("pods", "10", "cpu", "2")))
	d, err := chain.Admit(t.Context(), newPod("absurd", resources("cpu", "1000000000000000m")))
	require.NoError(t, err)
	require.Equal(t, admission.Reject, d.Outcome)

	d, err = chain.Admit(t.Context(), newPod("modest", resources("cpu", "2")))
	require.NoError(t, err)
	require.Equal(t, admission.Admit, d.Outcome)
	require.Equal(t, 1, chain.Ledger.Pods())
}

func TestSumsDoNotOverflow(t *testing.T) {
	ledger := admission.NewLedger()
	for i := range 5 {
		require.NoError(t, ledger.Add(newPod(fmt.Sprint(i), resources("memory", "9E"))))
	}
	short := admission.Shortages(newPod("new", resources("memory", "1")), resources("pods", "110", "memory", "1Ti"), ledger)
	require.Len(t, short, 1)
	for i := range 5 {
		ledger.Remove(types.UID(fmt.Sprint(i)))
	}
	require.Equal(t, admission.Requests{}, ledger.Used())
}

func TestChainTellsAllThatStandsInTheWay(t *testing.T) {
	broken := errors.New("the device plugin is away")
	chain := newChain(newNode(resources("pods", "10", "cpu", "1")))
	chain.Checks = append(chain.Checks,
		admission.Check{Name: "Devices", Handler: admission.AdmitFunc(func(context.Context, admission.Request) (admission.Verdict, error) {
			return admission.Verdict{}, broken
		})},
		admission.Check{Name: "Curfew", Handler: admission.AdmitFunc(func(context.Context, admission.Request) (admission.Verdict, error) {
			return admission.RetryLater("Curfew", "come back in the morning", 0), nil
		})})

	d, err := chain.Check(t.Context(), newPod("a", resources("cpu", "2")))
	require.NoError(t, err)
	require.Equal(t, admission.Reject, d.Outcome)
	require.Equal(t, "OutOfcpu", d.Reason, "the first refusal in the chain's order decides")
	require.Len(t, d.Failures, 3, "and all that stands in the way is told")
	require.ErrorIs(t, d.Failures[1].Err, broken)
	require.Equal(t, "Curfew", d.Failures[2].Reason)

	d, err = chain.Check(t.Context(), newPod("a", resources("cpu", "1")))
	require.NoError(t, err)
	require.Equal(t, admission.Retry, d.Outcome, "an error of a check is no rejection")
	require.Equal(t, admission.ReasonUnexpectedAdmissionError, d.Reason)
}

func TestWhatIfOfAPodThatIsInDoesNotCountItTwice(t *testing.T) {
	chain := newChain(newNode(resources("pods", "1", "cpu", "1")))
	pod := newPod("a", resources("cpu", "1"), 80)
	d, err := chain.Admit(t.Context(), pod)
	require.NoError(t, err)
	require.Equal(t, admission.Admit, d.Outcome)

	d, err = chain.Check(t.Context(), pod)
	require.NoError(t, err)
	require.Equal(t, admission.Admitted(), d.Verdict)
	require.True(t, chain.Ledger.Has("a"), "without any effect")
}

func TestCheckThatGivesNoAnswerIsTriedAgain(t *testing.T) {
	silent := admission.AdmitFunc(func(context.Context, admission.Request) (admission.Verdict, error) {
		return admission.Verdict{}, nil
	})
	for want, handler := range map[string]admission.AdmitHandler{"unknown outcome": silent, "no Handler": nil} {
		chain := &admission.Chain{Ledger: admission.NewLedger(), Checks: []admission.Check{{Name: "Quota", Handler: handler}}}
		d, err := chain.Admit(t.Context(), newPod("a", nil))
		require.NoError(t, err)
		require.Equal(t, admission.Retry, d.Outcome)
		require.ErrorContains(t, d.Failures[0].Err, "Quota")
		require.ErrorContains(t, d.Failures[0].Err, want)
	}
}

// Pods of a simulation that nobody gave UIDs must not pass for one pod.
func TestPodWithoutUIDIsKnownByItsName(t *testing.T) {
	chain := newChain(newNode(resources("pods", "10")))
	a, b := newPod("", nil), newPod("", nil)
	a.Name, b.Name = "a", "b"
	for _, pod := range []*v1.Pod{a, b} {
		d, err := chain.Admit(t.Context(), pod)
		require.NoError(t, err)
		require.Equal(t, admission.Admit, d.Outcome)
	}
	require.Equal(t, 2, chain.Ledger.Pods())
	require.ErrorIs(t, chain.Ledger.Add(b), admission.ErrEntered)
	require.True(t, chain.Ledger.RemovePod(a))

	_, err := chain.Admit(t.Context(), newPod("", nil))
	require.ErrorContains(t, err, "neither UID nor name")
	require.ErrorContains(t, chain.Ledger.Add(newPod("", nil)), "neither UID nor name")
}

func TestUnreadableNodeIsTriedAgain(t *testing.T) {
	chain := newChain(nil)
	chain.Nodes = admission.NodeFunc(func(context.Context, bool) (*v1.Node, error) { return nil, errors.New("gone") })
	d, err := chain.Admit(t.Context(), newPod("a", nil))
	require.NoError(t, err)
	require.Equal(t, admission.Retry, d.Outcome)
	require.Equal(t, admission.ReasonInvalidNodeInfo, d.Reason)
	require.Equal(t, "Kubelet cannot get node info.", d.Message)
}

func TestChainSaysWhatItLacks(t *testing.T) {
	_, err := (&admission.Chain{}).Check(t.Context(), newPod("a", nil))
	require.ErrorContains(t, err, "Ledger")

	chain := newChain(nil)
	chain.Nodes = nil
	d, err := chain.Check(t.Context(), newPod("a", nil))
	require.NoError(t, err)
	require.ErrorContains(t, d.Failures[0].Err, "NodeGetter")
}

func TestLedgerRefusesAPodThatIsIn(t *testing.T) {
	ledger := admission.NewLedger()
	require.NoError(t, ledger.Add(newPod("a", nil)))
	require.ErrorIs(t, ledger.Add(newPod("a", nil)), admission.ErrEntered)
	require.ErrorIs(t, ledger.Fork().Add(newPod("a", nil)), admission.ErrEntered)
	require.False(t, ledger.Remove("b"))
}

// Sums of component-helpers share numbers of many digits with the pod, and add the
// overhead to them: each count made the pod ask for more.
func TestCountingDoesNotWriteToThePod(t *testing.T) {
	const many = "1234567890.12345678901234567"
	pod := newPod("a", resources("cpu", many, "memory", many))
	all := v1.ResourceRequirements{Requests: resources("cpu", many, "memory", many), Limits: resources("cpu", many, "memory", many)}
	pod.Spec.Resources, pod.Spec.Overhead = &all, resources("cpu", "1", "memory", many, "example.com/a", many)
	pod.Spec.InitContainers = []v1.Container{{Name: "init", Resources: all}}
	pod.Status.Resources, pod.Status.AllocatedResources = &all, resources("cpu", many)
	pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "main", AllocatedResources: all.Requests, Resources: &all}}
	pod = pod.DeepCopy() // no two of these share anything
	before := pod.DeepCopy()
	want := admission.PodRequests(pod)
	require.EqualValues(t, int64(1234567891124), want.MilliCPU)
	ledger := admission.NewLedger()
	require.NoError(t, ledger.Add(pod))
	for range 3 {
		require.NoError(t, ledger.Update(pod))
		require.Equal(t, want, admission.PodRequests(pod))
		admission.QOS(pod)
	}
	require.Equal(t, before, pod)
}

func TestResizedPodHoldsTheLargerOfSpecAndStatus(t *testing.T) {
	pod := newPod("a", resources("cpu", "1"))
	pod.Status.ContainerStatuses = []v1.ContainerStatus{{
		Name:               "main",
		AllocatedResources: resources("cpu", "2"),
		Resources:          &v1.ResourceRequirements{Requests: resources("cpu", "3")},
	}}
	ledger := admission.NewLedger()
	require.NoError(t, ledger.Add(pod))
	require.EqualValues(t, 3000, ledger.Used().MilliCPU)
	require.EqualValues(t, 1000, admission.PodRequests(pod).MilliCPU, "a candidate is judged by its spec")
}

// FuzzLedger compares a ledger and its forks with a plain list of pods.
func FuzzLedger(f *testing.F) {
	f.Add(uint64(1), uint8(50))
	f.Add(uint64(99), uint8(255))
	f.Fuzz(func(t *testing.T, seed uint64, steps uint8) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		ledger := admission.NewLedger()
		parents := []*admission.Ledger{}
		models := []map[types.UID]*v1.Pod{{}}
		for range steps {
			model := models[len(models)-1]
			uid := types.UID(fmt.Sprint(rnd.IntN(12)))
			switch rnd.IntN(9) {
			case 0, 1, 2:
				pod := randomPod(rnd, uid)
				_, in := model[uid]
				require.Equal(t, in, ledger.Add(pod) != nil)
				if !in {
					model[uid] = pod
				}
			case 6:
				pod := randomPod(rnd, uid)
				_, in := model[uid]
				require.Equal(t, in, ledger.Update(pod) == nil)
				if in {
					model[uid] = pod
				}
			case 3:
				_, in := model[uid]
				require.Equal(t, in, ledger.Remove(uid))
				delete(model, uid)
			case 7, 8:
				_, in := model[uid]
				key := admission.Key(uid)
				require.Equal(t, in, ledger.SetLeaving(key, true))
				// None is left on its way out: then all of them may be victims.
				require.Equal(t, in, ledger.SetStuck(key))
				require.Equal(t, in, ledger.SetLeaving(key, false))
			case 4:
				parents, models = append(parents, ledger), append(models, maps.Clone(model))
				ledger = ledger.Fork()
			case 5:
				if n := len(parents); n > 0 {
					if rnd.IntN(2) == 0 {
						ledger.Commit()
						models[n-1] = maps.Clone(models[n])
						if rnd.IntN(2) == 0 {
							break // the fork is used on
						}
					}
					ledger, parents, models = parents[n-1], parents[:n-1], models[:n]
				}
			}
			recount(t, ledger, models[len(models)-1])
			countVictims(t, ledger, len(models[len(models)-1]))
		}
	})
}

// countVictims is for a ledger in which no pod is critical or on its way out.
func countVictims(t *testing.T, ledger *admission.Ledger, pods int) {
	t.Helper()
	var none *admission.NoVictimsError
	_, err := ledger.Plan(withPriority(newPod("critical", nil), admission.CriticalPriority), []admission.Need{{Resource: "pods", Quantity: 1000}})
	require.ErrorAs(t, err, &none)
	require.EqualValues(t, 1000-pods, none.Missing[0].Quantity, "each may be a victim once")
}

func recount(t *testing.T, ledger *admission.Ledger, model map[types.UID]*v1.Pod) {
	t.Helper()
	fresh := admission.NewLedger()
	for _, pod := range model {
		require.NoError(t, fresh.Add(pod))
	}
	require.Equal(t, fresh.Pods(), ledger.Pods())
	require.Equal(t, fresh.Used(), ledger.Used())
	for port := int32(1); port < 5; port++ {
		for _, ip := range []string{"", "10.0.0.1"} {
			p := v1.ContainerPort{HostPort: port, HostIP: ip}
			require.Equal(t, fresh.HostPortTaken(p), ledger.HostPortTaken(p), "port %d on %q", port, ip)
		}
	}
}

func randomPod(rnd *rand.Rand, uid types.UID) *v1.Pod {
	amounts := []string{"0", "1", "100m", "3Gi", "8E", "1e40", "-5"}
	names := []string{"cpu", "memory", "ephemeral-storage", "example.com/foo"}
	requests := v1.ResourceList{}
	for _, name := range names {
		if rnd.IntN(2) == 0 {
			requests[v1.ResourceName(name)] = resource.MustParse(amounts[rnd.IntN(len(amounts))])
		}
	}
	pod := newPod(string(uid), requests)
	for range rnd.IntN(3) {
		pod.Spec.Containers[0].Ports = append(pod.Spec.Containers[0].Ports, v1.ContainerPort{
			HostPort: int32(rnd.IntN(5)), HostIP: []string{"", "10.0.0.1", "0.0.0.0"}[rnd.IntN(3)],
		})
	}
	return pod
}
