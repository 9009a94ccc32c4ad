package admission_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/admission/admissiontest"
	"github.com/kubeparts/kubeparts/admission/resize"
)

// What is nil, or was never filled in, is an error by name.
func TestNilIsAnErrorByName(t *testing.T) {
	ctx := t.Context()
	chain := admissiontest.NewChain(admissiontest.NewNode("n", "cpu=4"))
	ofChain := func(_ admission.Decision, err error) error { return err }
	ofVerdict := func(_ admission.Verdict, err error) error { return err }
	ofPlan := func(_ admission.Plan, err error) error { return err }
	pod := admissiontest.NewPod("a", "cpu=1").Pod
	bare := &admission.Chain{}
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"Check":             {ofChain(chain.Check(ctx, nil)), "the pod is nil"},
		"Admit":             {ofChain(chain.Admit(ctx, nil)), "the pod is nil"},
		"Resize":            {ofChain(chain.Resize(ctx, nil)), "the pod is nil"},
		"CheckPrepared":     {ofChain(chain.CheckPrepared(ctx, nil)), "the pod is nil"},
		"AdmitPrepared":     {ofChain(chain.AdmitPrepared(ctx, nil)), "the pod is nil"},
		"prepared from nil": {ofChain(chain.CheckPrepared(ctx, chain.Prepare(nil))), "the pod is nil"},
		"Enter":             {chain.Enter(nil), "the pod is nil"},
		"Update":            {chain.Update(nil), "the pod is nil"},
		"Add":               {chain.Ledger.Add(nil), "the pod is nil"},
		"AddWithPorts":      {chain.Ledger.AddWithPorts(nil, []v1.ContainerPort{{}}), "the pod is nil"},
		"AddPrepared":       {chain.Ledger.AddPrepared(nil), "the pod is nil"},
		"UpdatePrepared":    {chain.Ledger.UpdatePrepared(nil), "the pod is nil"},
		"no name":           {chain.Enter(&v1.Pod{}), "neither UID nor name"},
		"update, no name":   {chain.Update(&v1.Pod{}), "not entered"},
		"PlanPreemption":    {ofPlan(admission.PlanPreemption(nil, nil, nil)), "the pod is nil"},
		"Ledger.Plan":       {ofPlan(chain.Ledger.Plan(nil, nil)), "the pod is nil"},
		"no ledger, Check":  {ofChain(bare.Check(ctx, pod)), "Ledger is nil"},
		"no ledger, Admit":  {ofChain(bare.Admit(ctx, pod)), "Ledger is nil"},
		"no ledger, Resize": {ofChain(bare.Resize(ctx, pod)), "Ledger is nil"},
		"AdmitFunc":         {ofVerdict(admission.AdmitFunc(nil).Admit(ctx, admission.Request{})), "it has no Handler"},
		"Allocation":        {ofVerdict(admission.Allocation{}.Reserve(ctx, admission.Request{})), "it has no Allocator"},
		"NodeFit":           {ofVerdict(admission.NodeFit{}.Admit(ctx, admission.Request{Pod: pod, Node: &v1.Node{}})), "Request's Ledger is nil"},
	} {
		require.ErrorContains(t, c.err, c.says, name)
	}
	_, err := resize.Judge(ctx, chain, resize.Support{StaticCPU: true}, nil, nil)
	require.ErrorContains(t, err, "a pod is nil")
	features, err := admission.NewDeclaredFeatures("1.36.3")
	require.NoError(t, err)
	chain.Checks = admission.KubeletChecks(admission.Kubelet{DeclaredFeatures: features})
	require.Empty(t, chain.Updated(nil, pod))
	require.Empty(t, chain.Updated(pod, nil))
	require.False(t, chain.Ledger.RemovePod(nil))
	require.False(t, chain.Ledger.HasPod(nil))
	require.Zero(t, chain.Ledger.Pods())
}

// What has no error to give takes a nil pod for one with nothing in it.
func TestNilPodIsAsAnEmptyOne(t *testing.T) {
	require.False(t, admission.IsStatic(nil) || admission.IsMirror(nil) || admission.IsCritical(nil) || admission.IsLegacyCritical(nil))
	require.False(t, admission.IsNodeCritical(nil) || admission.Finished(nil) || admission.Preemptable(nil, nil))
	require.Empty(t, admission.WhyCritical(nil)+string(admission.KeyOf(nil)))
	require.Equal(t, v1.PodQOSBestEffort, admission.QOS(nil))
	require.Equal(t, v1.PodQOSBestEffort, admission.SpecQOS(nil))
	require.Zero(t, admission.PodRequests(nil))
	require.Empty(t, admission.HostPorts(nil))
	require.False(t, admission.Tolerates(nil, &v1.Taint{Key: "a", Effect: v1.TaintEffectNoExecute}))
	require.True(t, admission.Tolerates(nil, nil))
	require.Equal(t, v1.ResourcePods, admission.Shortages(nil, nil, nil)[0].Resource)

	pod := admissiontest.NewPod("a", "cpu=1").Pod
	require.Equal(t, &resize.Allocation{}, resize.Of(nil))
	allocated, differs := resize.Of(pod).Apply(nil)
	require.Nil(t, allocated)
	require.False(t, differs)
	require.Nil(t, resize.Counted(nil, &v1.PodStatus{}))
	require.False(t, resize.Differ(nil, pod) || resize.Differ(pod, nil))
	require.True(t, resize.Settled(nil, nil) && resize.Settled(pod, nil))
	require.True(t, resize.Grows(nil, pod))
	require.True(t, resize.PendingOf(nil, pod, time.Time{}).Grows)
	require.Empty(t, resize.PendingOf(pod, nil, time.Time{}).UID)
	require.Empty(t, resize.Support{PodLevelDisabled: true, StaticCPU: true}.Infeasible(nil, nil))
	c, _ := resize.PendingCondition(resize.Verdict{}, nil, nil, time.Time{})
	require.Zero(t, c.ObservedGeneration)
	require.Equal(t, `Pod resize error: {"generation":0}`, resize.ErrorMessage(nil, nil))
}

// A node that nobody gives is a verdict.
func TestNoNode(t *testing.T) {
	for name, nodes := range map[string]admission.NodeGetter{
		"FixedNode": admission.FixedNode(nil), "NodeFunc": admission.NodeFunc(nil),
	} {
		chain := admissiontest.NewChain(admissiontest.NewNode("n"))
		chain.Nodes = nodes
		d, err := chain.Admit(t.Context(), admissiontest.NewPod("a").Pod)
		require.NoError(t, err, name)
		require.Equal(t, "InvalidNodeInfo", d.Reason, name)
		require.Equal(t, admission.Retry, d.Outcome, name)
	}
}

func TestZeroLedger(t *testing.T) {
	var ledger admission.Ledger
	fork := ledger.Fork()
	require.NoError(t, fork.Add(admissiontest.NewPod("a", "cpu=1").HostPorts(80).Pod))
	fork.Commit()
	require.NoError(t, ledger.Add(admissiontest.NewPod("b", "cpu=1").Pod))
	require.EqualValues(t, 2000, ledger.UsedOf(v1.ResourceCPU))
	require.True(t, ledger.HostPortTaken(v1.ContainerPort{HostPort: 80}))
	require.True(t, ledger.Remove("a"))
	require.False(t, ledger.HostPortTaken(v1.ContainerPort{HostPort: 80}))
	plan, err := admission.PlanPreemption(admissiontest.NewPod("c").Critical().Pod, []admission.Need{{Resource: v1.ResourcePods, Quantity: 1}},
		[]*v1.Pod{nil, admissiontest.NewPod("d").Pod})
	require.NoError(t, err)
	require.Len(t, plan.Victims, 1)
	require.Len(t, admission.Shortages(admissiontest.NewPod("a", "cpu=1").Pod, nil, nil), 2)
}
