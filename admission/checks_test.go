package admission_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/admission"
)

func ask(t *testing.T, h admission.AdmitHandler, pod *v1.Pod, node *v1.Node) string {
	t.Helper()
	v, err := h.Admit(t.Context(), admission.Request{Pod: pod, Node: node, Ledger: admission.NewLedger(), OS: "linux"})
	require.NoError(t, err)
	if v.Outcome == admission.Admit {
		return ""
	}
	require.Equal(t, admission.Reject, v.Outcome)
	return v.Reason + ": " + v.Message
}

func TestSysctls(t *testing.T) {
	allowed, err := admission.NewSysctls(append(admission.SafeSysctls("6.1.0-18-amd64"), "kernel.shm*", "net/core/somaxconn", "net.ipv6.conf.*")...)
	require.NoError(t, err)
	for _, c := range []struct {
		name, set string
		spec      v1.PodSpec
		want      string
	}{
		{"a safe one", "net.ipv4.tcp_syncookies", v1.PodSpec{}, ""},
		{"one that the operator allows", "net.core.somaxconn", v1.PodSpec{}, ""},
		{"written with slashes", "net/ipv6/conf/eth0.100/forwarding", v1.PodSpec{}, ""},
		{"by its prefix", "kernel.shmmax", v1.PodSpec{}, ""},
		{"one that nobody allows", "vm.swappiness", v1.PodSpec{}, `SysctlForbidden: forbidden sysctl: "vm.swappiness" not allowlisted`},
		{"of the host's network", "net.ipv4.tcp_syncookies", v1.PodSpec{HostNetwork: true},
			`SysctlForbidden: forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host Net enabled`},
		{"of the host's IPC", "kernel.shmmax", v1.PodSpec{HostIPC: true},
			`SysctlForbidden: forbidden sysctl: "kernel.shmmax" not allowed with host IPC enabled`},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &v1.Pod{Spec: c.spec}
			pod.Spec.SecurityContext = &v1.PodSecurityContext{Sysctls: []v1.Sysctl{{Name: c.set, Value: "1"}}}
			require.Equal(t, c.want, ask(t, allowed, pod, nil))
		})
	}
	require.Empty(t, ask(t, allowed, &v1.Pod{}, nil), "no security context")
}

func TestSysctlPatterns(t *testing.T) {
	for pattern, want := range map[string]string{
		"kernel.shm*":  "",
		"kernel.msg*":  "",
		"fs.mqueue.*":  "",
		"net/core/*":   "",
		"kernel.shm_*": "namespace",
		"vm.max":       "namespace",
		"kernel.*":     "namespace",
		"net.*.x":      "is none",
		"net..x":       "is none",
		"Net.x":        "is none",
		"":             "is none",
	} {
		_, err := admission.NewSysctls(pattern)
		if want == "" {
			require.NoError(t, err, pattern)
		} else {
			require.ErrorContains(t, err, want, pattern)
		}
	}
}

func TestSafeSysctlsDependOnTheKernel(t *testing.T) {
	require.Len(t, admission.SafeSysctls("6.1.0-18-amd64"), 12)
	require.Len(t, admission.SafeSysctls("4.5.0"), 9)
	require.Len(t, admission.SafeSysctls("unknown"), 5)
}

func TestAppArmor(t *testing.T) {
	wants := func(p v1.AppArmorProfile) *v1.Pod {
		pod := newPod("a", nil)
		pod.Spec.Containers[0].SecurityContext = &v1.SecurityContext{AppArmorProfile: &p}
		return pod
	}
	runtimeDefault := wants(v1.AppArmorProfile{Type: v1.AppArmorProfileTypeRuntimeDefault})
	off := admission.AppArmor{Unavailable: admission.ErrAppArmorDisabled}

	require.Equal(t, "AppArmor: Cannot enforce AppArmor: AppArmor is not enabled on the host", ask(t, off, runtimeDefault, nil))
	require.Empty(t, ask(t, admission.AppArmor{}, runtimeDefault, nil))
	require.Empty(t, ask(t, off, wants(v1.AppArmorProfile{Type: v1.AppArmorProfileTypeUnconfined}), nil))
	require.Equal(t, `AppArmor: Cannot enforce AppArmor: invalid empty AppArmor profile name: " "`,
		ask(t, admission.AppArmor{}, wants(v1.AppArmorProfile{Type: v1.AppArmorProfileTypeLocalhost, LocalhostProfile: new(" ")}), nil))

	running := runtimeDefault.DeepCopy()
	running.Status.Phase = v1.PodRunning
	require.Empty(t, ask(t, off, running, nil), "one that runs has its profile")

	legacy := newPod("b", nil)
	legacy.Annotations = map[string]string{"container.apparmor.security.beta.kubernetes.io/main": "runtime/default"}
	require.NotEmpty(t, ask(t, off, legacy, nil))
	legacy.Annotations["container.apparmor.security.beta.kubernetes.io/main"] = "unconfined"
	require.Empty(t, ask(t, off, legacy, nil))
}

func TestPodLevelResources(t *testing.T) {
	pod := newPod("a", nil)
	require.Empty(t, ask(t, admission.PodLevelResources{Disabled: true}, pod, nil))
	pod.Spec.Resources = &v1.ResourceRequirements{Requests: resources("cpu", "1")}
	require.Empty(t, ask(t, admission.PodLevelResources{}, pod, nil))
	require.Equal(t, "PodLevelResourcesNotSupported: PodLevelResources feature gate is disabled",
		ask(t, admission.PodLevelResources{Disabled: true}, pod, nil))
	for os, want := range map[string]string{"windows": "pod-level resources are not supported on Windows", "darwin": "pod-level resources are not supported on the node"} {
		v, err := admission.PodLevelResources{}.Admit(t.Context(), admission.Request{Pod: pod, OS: os})
		require.NoError(t, err)
		require.Equal(t, want, v.Message)
	}
}

func TestDeclaredFeatures(t *testing.T) {
	pod := newPod("a", nil)
	pod.Spec.HostNetwork, pod.Spec.HostUsers = true, new(false)
	pod.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestartAllContainers}}

	none, err := admission.NewDeclaredFeatures("1.36.3")
	require.NoError(t, err)
	require.Equal(t, "PodFeatureUnsupported: Pod requires node features that are not available: "+
		"RestartAllContainersOnContainerExits, UserNamespacesHostNetworkSupport", ask(t, none, pod, nil))
	require.Empty(t, ask(t, none, newPod("b", nil), nil))

	both, err := admission.NewDeclaredFeatures("1.36.3", "UserNamespacesHostNetworkSupport", "Unheard", "RestartAllContainersOnContainerExits")
	require.NoError(t, err)
	require.Empty(t, ask(t, both, pod, nil))

	_, err = admission.NewDeclaredFeatures("new")
	require.ErrorContains(t, err, `version "new"`)
}

// A change that needs what the node does not declare is told of.
func TestDeclaredFeaturesOfAnUpdate(t *testing.T) {
	none, err := admission.NewDeclaredFeatures("1.36.3")
	require.NoError(t, err)
	before := newPod("a", nil)
	before.Spec.InitContainers = []v1.Container{{Name: "first"}, {Name: "second"}}
	for name, c := range map[string]struct {
		change func(*v1.Pod)
		want   admission.Verdict
	}{
		"nothing":   {func(*v1.Pod) {}, admission.Admitted()},
		"an image":  {func(p *v1.Pod) { p.Spec.Containers[0].Image = "new" }, admission.Admitted()},
		"pod level": {func(p *v1.Pod) { p.Spec.Resources = &v1.ResourceRequirements{Limits: resources("cpu", "1")} }, lacks("InPlacePodLevelResourcesVerticalScaling")},
		"init container": {func(p *v1.Pod) { p.Spec.InitContainers[1].Resources.Requests = resources("cpu", "1") },
			lacks("InPlacePodVerticalScalingInitContainers")},
		"fewer init containers": {func(p *v1.Pod) { p.Spec.InitContainers = p.Spec.InitContainers[:1] }, admission.Admitted()},
		"more init containers":  {func(p *v1.Pod) { p.Spec.InitContainers = append(p.Spec.InitContainers, v1.Container{}) }, admission.Admitted()},
	} {
		t.Run(name, func(t *testing.T) {
			after := before.DeepCopy()
			c.change(after)
			require.Equal(t, c.want, none.Updated(before, after))
			said := (&admission.Chain{Checks: admission.KubeletChecks(admission.Kubelet{DeclaredFeatures: none})}).Updated(before, after)
			require.Equal(t, c.want.Outcome == admission.Admit, len(said) == 0)
		})
	}
}

func lacks(feature string) admission.Verdict {
	return admission.Rejected("FailedNodeDeclaredFeaturesCheck", "Pod requires node features that are not available: "+feature)
}

func TestNodeShutdown(t *testing.T) {
	active := false
	check := admission.NodeShutdown{Active: func() bool { return active }}
	static := newPod("a", nil)
	static.Annotations = map[string]string{"kubernetes.io/config.source": "file"}
	require.Empty(t, ask(t, check, static, nil))
	active = true
	require.Equal(t, "NodeShutdown: Pod was rejected as the node is shutting down.", ask(t, check, static, nil))
	require.Empty(t, ask(t, admission.NodeShutdown{}, static, nil))
}

// The kubelet looks at the pod's own label, not at its node selector.
func TestOSLabelLooksAtThePodsLabels(t *testing.T) {
	pod := newPod("a", nil)
	pod.Spec.NodeSelector = map[string]string{v1.LabelOSStable: "windows"}
	require.Empty(t, ask(t, admission.OSLabel{}, pod, nil))
	pod.Labels = map[string]string{v1.LabelOSStable: "windows"}
	require.Equal(t, "PodOSSelectorNodeLabelDoesNotMatch: Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
		ask(t, admission.OSLabel{}, pod, nil))
}

func TestTaintsOfEffectNoExecute(t *testing.T) {
	node := &v1.Node{Spec: v1.NodeSpec{Taints: []v1.Taint{
		{Key: "soft", Effect: v1.TaintEffectPreferNoSchedule}, {Key: "hard", Effect: v1.TaintEffectNoSchedule},
	}}}
	pod := newPod("a", nil)
	require.Empty(t, ask(t, admission.Taints{}, pod, node))
	node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: "gone", Effect: v1.TaintEffectNoExecute})
	require.Equal(t, "TaintToleration: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
		ask(t, admission.Taints{}, pod, node))
	pod.Annotations = map[string]string{"kubernetes.io/config.source": "file"}
	require.Empty(t, ask(t, admission.Taints{}, pod, node), "static pods are not asked")
	pod.Annotations = nil
	pod.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
	require.Empty(t, ask(t, admission.Taints{}, pod, node))
}

// An extended resource that the node lacks is taken out of the containers'
// requests, not out of the overhead.
func TestOverheadOfAnUnknownResourceCounts(t *testing.T) {
	pod := newPod("a", resources("example.com/foo", "2"))
	node := resources("pods", "10")
	require.Empty(t, admission.Shortages(pod, node, admission.NewLedger()))
	pod.Spec.Overhead = resources("example.com/foo", "1")
	short := admission.Shortages(pod, node, admission.NewLedger())
	require.Len(t, short, 1)
	require.EqualValues(t, 1, short[0].Requested)
}

// What a resource claim satisfies is not asked of the node's allocatable.
func TestClaimedResourcesAreNotAsked(t *testing.T) {
	pod := newPod("a", resources("example.com/gpu", "2"))
	node := resources("pods", "10", "example.com/gpu", "1")
	require.Len(t, admission.Shortages(pod, node, admission.NewLedger()), 1)
	pod.Status.ExtendedResourceClaimStatus = &v1.PodExtendedResourceClaimStatus{
		RequestMappings: []v1.ContainerExtendedResourceRequest{{ContainerName: "main", ResourceName: "example.com/gpu", RequestName: "r"}},
	}
	before := pod.DeepCopy()
	require.Empty(t, admission.Shortages(pod, node, admission.NewLedger()))
	require.Equal(t, before, pod, "the pod is not written to")
}

func TestDevicesRaiseAllocatable(t *testing.T) {
	node := newNode(resources("pods", "10", "example.com/gpu", "0"))
	pod := newPod("a", resources("example.com/gpu", "1"))
	chain := newChain(node)
	chain.Checks = admission.KubeletChecks(admission.Kubelet{Devices: func(_ context.Context, p *v1.Pod, have v1.ResourceList) (v1.ResourceList, error) {
		raised := have.DeepCopy()
		raised["example.com/gpu"] = resources("x", "1")["x"]
		return raised, nil
	}})
	d, err := chain.Check(t.Context(), pod)
	require.NoError(t, err)
	require.Equal(t, admission.Admit, d.Outcome, d.Message)

	chain.Checks = admission.KubeletChecks(admission.Kubelet{Devices: func(context.Context, *v1.Pod, v1.ResourceList) (v1.ResourceList, error) {
		return nil, errors.New("no plugin")
	}})
	d, err = chain.Check(t.Context(), pod)
	require.NoError(t, err)
	require.Equal(t, admission.RetryLater("UnexpectedAdmissionError", "Update plugin resources failed due to no plugin, which is unexpected.", 0), d.Verdict)
}

func TestNodeCriticalAndPreemptable(t *testing.T) {
	with := func(source string, priority *int32, class string) *v1.Pod {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}, Spec: v1.PodSpec{Priority: priority, PriorityClassName: class}}
		if source != "" {
			pod.Annotations["kubernetes.io/config.source"] = source
		}
		return pod
	}
	cluster, node := with("", new(admission.CriticalPriority), "system-cluster-critical"), with("", new(admission.CriticalPriority+1000), "system-node-critical")
	static, plain := with("file", nil, ""), with("api", new(int32(1000)), "system-node-critical")

	require.True(t, admission.IsNodeCritical(node))
	require.False(t, admission.IsNodeCritical(cluster))
	require.False(t, admission.IsNodeCritical(plain), "the class counts only for a critical pod")

	require.True(t, admission.Preemptable(static, plain))
	require.True(t, admission.Preemptable(node, cluster))
	require.False(t, admission.Preemptable(cluster, node))
	require.False(t, admission.Preemptable(static, cluster), "without a priority it takes no other critical pod's place")
	require.False(t, admission.Preemptable(cluster, static))
	require.False(t, admission.Preemptable(node, node))
}
