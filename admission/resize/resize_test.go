package resize_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/admission/admissiontest"
	"github.com/kubeparts/kubeparts/admission/resize"
)

// with is the pod with other requests for its container.
func with(pod *v1.Pod, requests ...string) *v1.Pod {
	other := pod.DeepCopy()
	other.Spec.Containers[0].Resources.Requests = admissiontest.Resources(requests...)
	return other
}

// TestVectors are the kubelet's own: a node of 4 cpu and 4 Gi of which others use
// half, and a pod that has 1 and 1.
func TestVectors(t *testing.T) {
	t.Parallel()
	pod := admissiontest.NewPod("p", "cpu=1", "memory=1Gi").Pod
	for _, tt := range []struct {
		wants   []string
		verdict resize.Verdict
	}{
		{[]string{"cpu=500m", "memory=512Mi"}, resize.Verdict{Outcome: resize.Fits}},
		{[]string{"cpu=1500m", "memory=512Mi"}, resize.Verdict{Outcome: resize.Fits}},
		{[]string{"cpu=2500m", "memory=2560Mi"}, resize.Verdict{
			Outcome: resize.Deferred, Reason: "OutOfcpu",
			Message: "Node didn't have enough resource: cpu, requested: 2500, used: 2000, capacity: 4000",
		}},
		{[]string{"cpu=500m", "memory=2560Mi"}, resize.Verdict{
			Outcome: resize.Deferred, Reason: "OutOfmemory",
			Message: "Node didn't have enough resource: memory, requested: 2684354560, used: 2147483648, capacity: 4294967296",
		}},
		{[]string{"cpu=1", "memory=4500Mi"}, resize.Verdict{
			Outcome: resize.Deferred, Reason: "OutOfmemory",
			Message: "Node didn't have enough resource: memory, requested: 4718592000, used: 2147483648, capacity: 4294967296",
		}},
	} {
		others := admissiontest.NewPod("others", "cpu=2", "memory=2Gi").Pod
		chain := admissiontest.NewChain(admissiontest.NewNode("n", "cpu=4", "memory=4Gi"), pod, others)
		chain.Preempt = true
		desired := with(pod, tt.wants...)

		judged, err := resize.Judge(t.Context(), chain, resize.Support{}, pod, desired)
		require.NoError(t, err)
		judged.Short = nil
		require.Equal(t, tt.verdict, judged)
		require.Equal(t, int64(3000), chain.Ledger.UsedOf(v1.ResourceCPU), "judging changes nothing")

		granted, err := resize.Grant(t.Context(), chain, resize.Support{}, pod, desired)
		require.NoError(t, err)
		granted.Short = nil
		require.Equal(t, tt.verdict, granted)
		counted := pod
		if granted.Outcome == resize.Fits {
			counted = desired
		}
		held, in := chain.Ledger.Held("p")
		require.True(t, in)
		require.Equal(t, admission.PodRequests(counted), held, "nothing is granted in part")
	}
}

// A critical pod that grows lets no other pod be killed, where the kubelet's would.
func TestAResizeDoesNotPreempt(t *testing.T) {
	t.Parallel()
	static := admissiontest.NewPod("static", "cpu=1").Static().Pod
	chain := admissiontest.NewChain(admissiontest.NewNode("n", "cpu=2"), static, admissiontest.NewPod("other", "cpu=1").Pod)
	chain.Preempt = true
	for _, ask := range []func(context.Context, *admission.Chain, resize.Support, *v1.Pod, *v1.Pod) (resize.Verdict, error){
		resize.Judge, resize.Grant,
	} {
		v, err := ask(t.Context(), chain, resize.Support{}, static, with(static, "cpu=2"))
		require.NoError(t, err)
		require.Equal(t, resize.Deferred, v.Outcome)
		require.Equal(t, "OutOfcpu", v.Reason)
	}
}

func TestOutcomesOfOtherChecks(t *testing.T) {
	t.Parallel()
	pod := admissiontest.NewPod("p", "cpu=1").Pod
	for _, tt := range []struct {
		says    admission.Verdict
		outcome resize.Outcome
		reason  string
	}{
		{admission.Rejected("NodeShutdown", "m"), resize.Deferred, "NodeShutdown"},
		{admission.RetryLater("InvalidNodeInfo", "m", 0), resize.Deferred, "InvalidNodeInfo"},
		{admission.Rejected("Infeasible", "m"), resize.Infeasible, "Infeasible"},
		{admission.Rejected("infeasible", "m"), resize.Deferred, "infeasible"},
		// The kubelet counts it as a success.
		{admission.Rejected("", "m"), resize.Deferred, "host"},
	} {
		chain := &admission.Chain{Ledger: admission.NewLedger(), Checks: []admission.Check{{
			Name: "host", Handler: admission.AdmitFunc(func(context.Context, admission.Request) (admission.Verdict, error) { return tt.says, nil }),
		}}}
		require.NoError(t, chain.Enter(pod))
		v, err := resize.Grant(t.Context(), chain, resize.Support{}, pod, with(pod, "cpu=2"))
		require.NoError(t, err)
		require.Equal(t, resize.Verdict{Outcome: tt.outcome, Reason: tt.reason, Message: "m"}, v)
	}
}

func TestGrantOfAPodThatIsNotIn(t *testing.T) {
	t.Parallel()
	pod := admissiontest.NewPod("p").Pod
	_, err := resize.Grant(t.Context(), admissiontest.NewChain(admissiontest.NewNode("n")), resize.Support{}, pod, with(pod, "cpu=1"))
	require.ErrorIs(t, err, admission.ErrNotEntered)
	v, err := resize.Grant(t.Context(), nil, resize.Support{}, pod, with(pod, "cpu=1"))
	require.NoError(t, err)
	require.Equal(t, resize.Fits, v.Outcome)
}

// While the containers still have more than was granted, nobody may take it.
func TestWhatIsStillHeldCounts(t *testing.T) {
	t.Parallel()
	pod := admissiontest.NewPod("p", "cpu=3").Pod
	chain := admissiontest.NewChain(admissiontest.NewNode("n", "cpu=4"), pod)
	smaller := with(pod, "cpu=1")
	smaller.Status.ContainerStatuses = []v1.ContainerStatus{{
		Name: "main", Resources: &v1.ResourceRequirements{Requests: admissiontest.Resources("cpu=3")},
	}}
	v, err := resize.Grant(t.Context(), chain, resize.Support{}, pod, smaller)
	require.NoError(t, err)
	require.Equal(t, resize.Fits, v.Outcome)
	require.Equal(t, int64(3000), chain.Ledger.UsedOf(v1.ResourceCPU))
	require.NoError(t, chain.Update(with(pod, "cpu=1")))
	require.Equal(t, int64(1000), chain.Ledger.UsedOf(v1.ResourceCPU))
}

func TestSupport(t *testing.T) {
	t.Parallel()
	pod := admissiontest.NewPod("p", "cpu=1", "memory=1Gi").Limits("cpu=1", "memory=1Gi").Pod
	more := func(cpu, memory string) *v1.Pod {
		p := with(pod, cpu, memory)
		p.Spec.Containers[0].Resources.Limits = p.Spec.Containers[0].Resources.Requests
		return p
	}
	restarted := more("cpu=1", "memory=2Gi")
	restarted.Spec.Containers[0].ResizePolicy = []v1.ContainerResizePolicy{{ResourceName: v1.ResourceMemory, RestartPolicy: v1.RestartContainer}}
	whole := pod.DeepCopy()
	whole.Spec.Resources = &v1.ResourceRequirements{Limits: admissiontest.Resources("cpu=2")}
	burstable := with(pod, "cpu=500m", "memory=1Gi")
	swaps := func(*v1.Pod, *v1.Container) bool { return true }
	for name, tt := range map[string]struct {
		support resize.Support
		wants   *v1.Pod
		says    string
	}{
		"all":              {resize.Support{}, more("cpu=2", "memory=2Gi"), ""},
		"linux":            {resize.Support{OS: "linux"}, more("cpu=2", "memory=2Gi"), ""},
		"disabled":         {resize.Support{Disabled: true, OS: "windows"}, more("cpu=2", "memory=2Gi"), "InPlacePodVerticalScaling is disabled"},
		"windows":          {resize.Support{OS: "windows"}, more("cpu=2", "memory=2Gi"), "In-place pod resize is not supported on Windows"},
		"darwin":           {resize.Support{OS: "darwin"}, more("cpu=2", "memory=2Gi"), "In-place pod resize is not supported on this node"},
		"runtime":          {resize.Support{Unsupported: true}, more("cpu=2", "memory=2Gi"), "In-place pod resize is not supported on this node"},
		"swap":             {resize.Support{Swaps: swaps}, more("cpu=1", "memory=2Gi"), "In-place resize of containers with swap is not supported."},
		"swap, cpu":        {resize.Support{Swaps: swaps}, more("cpu=2", "memory=1Gi"), ""},
		"swap, restart":    {resize.Support{Swaps: swaps}, restarted, ""},
		"pod level":        {resize.Support{PodLevelDisabled: true}, whole, "InPlacePodLevelResourcesVerticalScaling is disabled"},
		"static cpu":       {resize.Support{StaticCPU: true}, more("cpu=2", "memory=1Gi"), `Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"`},
		"static cpu, mem":  {resize.Support{StaticCPU: true}, more("cpu=1", "memory=2Gi"), ""},
		"static memory":    {resize.Support{StaticMemory: true}, more("cpu=1", "memory=2Gi"), `Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"`},
		"static, not Guar": {resize.Support{StaticCPU: true, StaticMemory: true}, burstable, ""},
	} {
		require.Equal(t, tt.says, tt.support.Infeasible(pod, tt.wants), name)
		v, err := resize.Judge(t.Context(), nil, tt.support, pod, tt.wants)
		require.NoError(t, err)
		require.Equal(t, tt.says, v.Message, name)
		require.Equal(t, tt.says != "", v.Outcome == resize.Infeasible, name)
	}
}

func TestAllocation(t *testing.T) {
	t.Parallel()
	pod := admissiontest.NewPod("p", "cpu=1", "memory=1Gi").Pod
	pod.Spec.InitContainers = []v1.Container{{Name: "init", Resources: v1.ResourceRequirements{Requests: admissiontest.Resources("cpu=1")}}}
	granted := resize.Of(pod)
	text, err := json.Marshal(granted)
	require.NoError(t, err)
	var loaded *resize.Allocation
	require.NoError(t, json.Unmarshal(text, &loaded))

	for name, a := range map[string]*resize.Allocation{"kept": granted, "loaded": loaded, "none": nil} {
		same, differs := a.Apply(with(pod, "memory=1024Mi", "cpu=1000m"))
		require.False(t, differs, name)
		require.Equal(t, admissiontest.Resources("memory=1024Mi", "cpu=1000m"), same.Spec.Containers[0].Resources.Requests, name)
	}
	wants := with(pod, "cpu=2", "memory=1Gi")
	wants.Spec.Containers[0].Image = "new"
	wants.Spec.Containers = append(wants.Spec.Containers, v1.Container{Name: "second", Resources: v1.ResourceRequirements{Requests: admissiontest.Resources("cpu=7")}})
	before := wants.DeepCopy()
	allocated, differs := loaded.Apply(wants)
	require.True(t, differs)
	require.Equal(t, before, wants, "what is passed in is not written to")
	require.Zero(t, allocated.Spec.Containers[0].Resources.Requests.Cpu().CmpInt64(1))
	require.Equal(t, "new", allocated.Spec.Containers[0].Image)
	require.Zero(t, allocated.Spec.Containers[1].Resources.Requests.Cpu().CmpInt64(7), "a container that is not named keeps its spec")
	require.True(t, resize.Grows(allocated, wants))
	require.False(t, resize.Grows(wants, allocated))

	wants = pod.DeepCopy()
	wants.Spec.Resources = &v1.ResourceRequirements{Requests: admissiontest.Resources("cpu=4")}
	allocated, differs = granted.Apply(wants)
	require.True(t, differs)
	require.Nil(t, allocated.Spec.Resources)
	_, differs = resize.Of(wants).Apply(wants)
	require.False(t, differs)
}

func TestSettled(t *testing.T) {
	t.Parallel()
	pod := admissiontest.NewPod("p", "cpu=1", "memory=1Gi").Pod
	one, two := admissiontest.Resources("cpu=1000m", "memory=1Gi"), admissiontest.Resources("cpu=2", "memory=1Gi")
	for _, tt := range []struct {
		allocated, has v1.ResourceList
		settled        bool
	}{{one, one, true}, {two, one, false}, {one, two, false}, {one, nil, false}} {
		status := v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{
			Name: "main", AllocatedResources: tt.allocated, Resources: &v1.ResourceRequirements{Requests: tt.has},
		}}}
		require.Equal(t, tt.settled, resize.Settled(pod, &status), "%v", tt)
	}
	require.True(t, resize.Settled(pod, &v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Name: "main"}, {Name: "other"}}}))
}

// With a fixed total for the pod, a container that gets more of it is no growth.
func TestGrowthIsThatOfThePod(t *testing.T) {
	t.Parallel()
	pod := admissiontest.NewPod("p", "cpu=1").Pod
	pod.Spec.Resources = &v1.ResourceRequirements{Requests: admissiontest.Resources("cpu=4")}
	require.False(t, resize.Grows(pod, with(pod, "cpu=2")))
	require.Equal(t, resize.Pending{UID: "p", Since: noon}, resize.PendingOf(pod, with(pod, "cpu=2"), noon))
}

func TestConditions(t *testing.T) {
	t.Parallel()
	pod := admissiontest.NewPod("p", "cpu=1").Pod
	pod.Generation = 2
	deferred := resize.Verdict{Outcome: resize.Deferred, Reason: "OutOfcpu", Message: "too little"}
	first, news := resize.PendingCondition(deferred, pod, nil, noon)
	require.True(t, news)
	require.Equal(t, v1.PodCondition{
		Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: "Deferred", Message: "too little",
		ObservedGeneration: 2, LastTransitionTime: first.LastTransitionTime,
	}, first)
	require.True(t, first.LastTransitionTime.Time.Equal(noon))

	again, news := resize.PendingCondition(deferred, pod, &first, noon.Add(time.Hour))
	require.False(t, news)
	require.Equal(t, first, again)
	pod.Generation = 3
	again, news = resize.PendingCondition(deferred, pod, &first, noon.Add(time.Hour))
	require.True(t, news)
	require.True(t, again.LastTransitionTime.Time.Equal(noon))
	never, news := resize.PendingCondition(resize.Verdict{Outcome: resize.Infeasible}, pod, &again, noon.Add(time.Hour))
	require.True(t, news)
	require.True(t, never.LastTransitionTime.Time.Equal(noon.Add(time.Hour)))

	running := resize.InProgressCondition(3, nil, nil, noon)
	require.Equal(t, v1.PodResizeInProgress, running.Type)
	require.Empty(t, running.Reason)
	failed := resize.InProgressCondition(3, errors.New("no"), &running, noon.Add(time.Hour))
	require.Equal(t, v1.PodReasonError, failed.Reason)
	require.Equal(t, "no", failed.Message)
	require.Equal(t, failed, resize.InProgressCondition(3, errors.New("no"), &failed, noon.Add(2*time.Hour)))
}

func TestMessages(t *testing.T) {
	t.Parallel()
	pod := admissiontest.NewPod("p", "cpu=1").Limits("cpu=2").Pod
	pod.Generation = 4
	const resources = `"containers":[{"name":"main","resources":{"limits":{"cpu":"2"},"requests":{"cpu":"1"}}}],"generation":4`
	require.Equal(t, `Pod resize started: {`+resources+`}`, resize.StartedMessage(pod))
	require.Equal(t, `Pod resize completed: {`+resources+`}`, resize.CompletedMessage(pod))
	require.Equal(t, `Pod resize error: {`+resources+`,"error":"no"}`, resize.ErrorMessage(pod, errors.New("no")))
	reason, message := resize.RefusedEvent(resize.Verdict{Outcome: resize.Deferred, Reason: "OutOfcpu", Message: "too little"}, pod)
	require.Equal(t, "ResizeDeferred", reason)
	require.Equal(t, `Pod resize OutOfcpu: {`+resources+`,"error":"too little"}`, message)
	reason, _ = resize.RefusedEvent(resize.Verdict{Outcome: resize.Infeasible}, pod)
	require.Equal(t, "ResizeInfeasible", reason)
}

// A status that calls a resize infeasible would have the ledger pass over the spec,
// which is what the pod was granted.
func TestCounted(t *testing.T) {
	pod := admissiontest.NewPod("a", "cpu=2").Pod
	require.Same(t, pod, resize.Counted(pod, nil))
	had := v1.ResourceRequirements{Requests: admissiontest.Resources("cpu=1")}
	said := &v1.PodStatus{
		Conditions:        []v1.PodCondition{{Type: v1.PodReady}, {Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonInfeasible}},
		ContainerStatuses: []v1.ContainerStatus{{Name: "main", Resources: &had, AllocatedResources: had.Requests}},
	}
	before := said.DeepCopy()
	for _, counted := range []*v1.Pod{resize.Counted(pod, said), resize.Counted(&v1.Pod{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec, Status: *said}, nil)} {
		ledger := admission.NewLedger()
		require.NoError(t, ledger.Add(counted))
		require.EqualValues(t, 2000, ledger.UsedOf(v1.ResourceCPU))
		require.Equal(t, said.ContainerStatuses, counted.Status.ContainerStatuses)
		require.Len(t, counted.Status.Conditions, 1)
	}
	require.Equal(t, before, said)
	require.Empty(t, pod.Status)

	// So it is granted, too, where a host passes such a status.
	chain := admissiontest.NewChain(admissiontest.NewNode("n", "cpu=4"), with(pod, "cpu=1"))
	desired := pod.DeepCopy()
	desired.Status = *said
	v, err := resize.Grant(t.Context(), chain, resize.Support{}, with(pod, "cpu=1"), desired)
	require.NoError(t, err)
	require.Equal(t, resize.Fits, v.Outcome)
	require.EqualValues(t, 2000, chain.Ledger.UsedOf(v1.ResourceCPU))
}
