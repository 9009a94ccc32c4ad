package admission_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
)

// A pod in whose way everything stands: each cure lets the next failure in the
// kubelet's order be the Reason, and all that remain are told.
func TestEveryFailureInTheKubeletsOrder(t *testing.T) {
	evicting, stopping := true, true
	features, err := admission.NewDeclaredFeatures("1.36.3")
	require.NoError(t, err)
	node := newNode(resources("pods", "1", "cpu", "1", "memory", "1Gi", "ephemeral-storage", "1Gi", "example.com/a", "0", "example.com/b", "0"))
	node.Labels = map[string]string{"zone": "a"}
	node.Spec.Taints = []v1.Taint{{Key: "gone", Effect: v1.TaintEffectNoExecute}}
	chain := &admission.Chain{
		Ledger: admission.NewLedger(), Nodes: admission.FixedNode(node), OS: "linux",
		Checks: admission.KubeletChecks(admission.Kubelet{
			Eviction: admission.AdmitFunc(func(context.Context, admission.Request) (admission.Verdict, error) {
				if evicting {
					return admission.Rejected("Evicted", "The node had condition: [DiskPressure]. "), nil
				}
				return admission.Admitted(), nil
			}),
			AppArmor:          admission.AppArmor{Unavailable: admission.ErrAppArmorDisabled},
			PodLevelResources: admission.PodLevelResources{Disabled: true},
			DeclaredFeatures:  features,
			Shutdown:          admission.NodeShutdown{Active: func() bool { return stopping }},
		}),
	}
	require.NoError(t, chain.Enter(newPod("other", resources("cpu", "1"), 80)))

	pod := newPod("new", resources("ephemeral-storage", "2Gi", "example.com/a", "1", "example.com/b", "1"), 80)
	pod.Labels = map[string]string{v1.LabelOSStable: "windows"}
	pod.Spec.OS = &v1.PodOS{Name: v1.Windows}
	pod.Spec.NodeSelector = map[string]string{"zone": "b"}
	pod.Spec.NodeName = "elsewhere"
	pod.Spec.HostNetwork, pod.Spec.HostUsers = true, new(false)
	pod.Spec.Resources = &v1.ResourceRequirements{Requests: resources("cpu", "1", "memory", "2Gi")}
	pod.Spec.SecurityContext = &v1.PodSecurityContext{
		Sysctls:                  []v1.Sysctl{{Name: "vm.x"}},
		SupplementalGroupsPolicy: new(v1.SupplementalGroupsPolicyStrict),
		AppArmorProfile:          &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeRuntimeDefault},
	}
	has := func(name, amount string) func() {
		return func() {
			for name, q := range resources(name, amount) {
				node.Status.Allocatable[name] = q
			}
		}
	}
	order := []struct {
		reason string
		cure   func()
	}{
		{"Evicted", func() { evicting = false }},
		{"SysctlForbidden", func() { pod.Spec.SecurityContext.Sysctls = nil }},
		{"PodOSSelectorNodeLabelDoesNotMatch", func() { pod.Labels = nil }},
		{"PodOSNotSupported", func() { pod.Spec.OS = nil }},
		{"SupplementalGroupsPolicyNotSupported", func() { pod.Spec.SecurityContext.SupplementalGroupsPolicy = nil }},
		{"OutOfpods", has("pods", "2")},
		{"OutOfcpu", has("cpu", "2")},
		{"OutOfmemory", has("memory", "2Gi")},
		{"OutOfephemeral-storage", has("ephemeral-storage", "2Gi")},
		{"OutOfexample.com/a", has("example.com/a", "1")},
		{"OutOfexample.com/b", has("example.com/b", "1")},
		{"NodeAffinity", func() { pod.Spec.NodeSelector = nil }},
		{"NodeName", func() { pod.Spec.NodeName = node.Name }},
		{"NodePorts", func() { pod.Spec.Containers[0].Ports[0].HostPort = 81 }},
		{"TaintToleration", func() { pod.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}} }},
		{"AppArmor", func() { pod.Spec.SecurityContext.AppArmorProfile = nil }},
		{"PodLevelResourcesNotSupported", func() { pod.Spec.Resources = nil }},
		{"PodFeatureUnsupported", func() { pod.Spec.HostUsers = nil }},
		{"NodeShutdown", func() { stopping = false }},
	}
	for i, c := range order {
		var remain []string
		for _, later := range order[i:] {
			remain = append(remain, later.reason)
		}
		d, err := chain.Admit(t.Context(), pod)
		require.NoError(t, err)
		require.Equal(t, c.reason, d.Reason)
		require.Equal(t, remain, reasonsOf(d.Failures))
		require.Equal(t, 1, chain.Ledger.Pods())
		c.cure()
	}
	d, err := chain.Admit(t.Context(), pod)
	require.NoError(t, err)
	require.Equal(t, admission.Decision{Verdict: admission.Admitted()}, d)
}

// reasonsOf lists a shortage each by itself.
func reasonsOf(failures []admission.CheckVerdict) (reasons []string) {
	for _, f := range failures {
		for _, s := range f.Short {
			reasons = append(reasons, s.Reason())
		}
		if len(f.Short) == 0 {
			reasons = append(reasons, f.Reason)
		}
	}
	return reasons
}
