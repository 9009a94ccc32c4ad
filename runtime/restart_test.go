package runtime_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

func exitRule(action v1.ContainerRestartRuleAction, op v1.ContainerRestartRuleOnExitCodesOperator, codes ...int32) v1.ContainerRestartRule {
	return v1.ContainerRestartRule{
		Action:    action,
		ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: op, Values: codes},
	}
}

func TestRestartAfterExit(t *testing.T) {
	const (
		restart    = v1.ContainerRestartRuleActionRestart
		restartAll = v1.ContainerRestartRuleActionRestartAllContainers
		in, notIn  = v1.ContainerRestartRuleOnExitCodesOpIn, v1.ContainerRestartRuleOnExitCodesOpNotIn
	)
	for _, c := range []struct {
		name   string
		policy v1.RestartPolicy
		change func(*v1.Container)
		yes    []int32
		no     []int32
	}{
		{"Always", always, nil, []int32{0, 1}, nil},
		{"OnFailure", onFailure, nil, []int32{1, -1}, []int32{0}},
		{"Never", never, nil, nil, []int32{0, 1}},
		{"no policy means Always", "", nil, []int32{0, 1}, nil},
		{"the container's own policy", never, policy("OnFailure"), []int32{1}, []int32{0}},
		{"a rule", always, rules(exitRule(restart, in, 42, 43)), []int32{42, 43}, []int32{0, 1}},
		{"a rule about all others", always, rules(exitRule(restart, notIn, 42)), []int32{0, 1}, []int32{42}},
		{"a rule for all containers", always, rules(exitRule(restartAll, in, 42)), []int32{42}, []int32{0}},
		{"a rule without exit codes", always, rules(v1.ContainerRestartRule{Action: restart}), nil, []int32{0, 1}},
		{"the first that matches, even if its action is not known", always,
			rules(exitRule("Explode", in, 42), exitRule(restart, in, 42, 43)), []int32{43}, []int32{42}},
		{"rules without a policy of the container", never,
			func(c *v1.Container) { c.RestartPolicyRules = []v1.ContainerRestartRule{exitRule(restart, in, 42)} }, nil, []int32{42}},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := newPod(c.policy, "c0")
			if c.change != nil {
				c.change(&pod.Spec.Containers[0])
			}
			for _, code := range c.yes {
				require.True(t, runtime.RestartAfterExit(pod, &pod.Spec.Containers[0], code), code)
			}
			for _, code := range c.no {
				require.False(t, runtime.RestartAfterExit(pod, &pod.Spec.Containers[0], code), code)
			}
		})
	}
}

func TestShouldRestart(t *testing.T) {
	pod := newPod(onFailure, "c0")
	should := func(seen string) bool {
		return runtime.ShouldRestart(pod, &pod.Spec.Containers[0], observe(pod, seen))
	}
	require.True(t, should(""))
	require.True(t, should("c0=created"))
	require.True(t, should("c0=unknown"))
	require.True(t, should("c0=exited:1"))
	require.False(t, should("c0=running"))
	require.False(t, should("c0=exited:0"))
	require.False(t, should("c0=exited:0 c0=exited:1"), "the newest counts")
	require.True(t, runtime.ShouldRestart(pod, &pod.Spec.Containers[0], nil))

	pod.DeletionTimestamp = &metav1.Time{Time: now}
	require.False(t, should(""), "nothing starts in a pod that is being deleted")
}

func TestIsRestartable(t *testing.T) {
	const in = v1.ContainerRestartRuleOnExitCodesOpIn
	is := func(p v1.RestartPolicy, change func(*v1.Container)) bool {
		pod := newPod(p, "c0", with("c0", change))
		return runtime.IsRestartable(pod, &pod.Spec.Containers[0])
	}
	nothing := func(*v1.Container) {}
	require.True(t, is(always, nothing))
	require.True(t, is(onFailure, nothing))
	require.False(t, is(never, nothing))
	require.False(t, is(always, policy("Never")))
	require.True(t, is(never, policy("OnFailure")))
	require.True(t, is(never, rules(exitRule(v1.ContainerRestartRuleActionRestart, in, 1))))
	require.False(t, is(never, rules(exitRule(v1.ContainerRestartRuleActionRestartAllContainers, in, 1))))
}

func TestRestartAllTriggered(t *testing.T) {
	pod := newPod(never, "i0 s0 c0 c1", with("i0 c0", restartAllOn(42)))
	triggered := func(seen string) bool { return runtime.RestartAllTriggered(pod, observe(pod, seen)) }
	require.True(t, triggered("c0=exited:42 i0=exited:0"))
	require.True(t, triggered("i0=exited:42"))
	require.False(t, triggered("c0=exited:1 c1=exited:42 i0=exited:0"))
	require.False(t, triggered("c0=running c0=exited:42"), "the newest counts")
	require.False(t, runtime.RestartAllTriggered(pod, nil))
	require.True(t, runtime.HasRestartAllRule(pod))
	require.False(t, runtime.HasRestartAllRule(newPod(never, "i0 c0")))
}

func TestSandboxChanged(t *testing.T) {
	changed := func(hostNetwork bool, sandboxes ...runtime.SandboxStatus) []any {
		pod := newPod(always, "c0")
		pod.Spec.HostNetwork = hostNetwork
		yes, attempt, id := runtime.SandboxChanged(pod, &runtime.PodStatus{Sandboxes: sandboxes})
		return []any{yes, int(attempt), id}
	}
	onHost := sandbox(3, true)
	onHost.HostNetwork, onHost.IPs = true, []string{""}
	noIP := sandbox(3, true)
	noIP.IPs = []string{""}

	require.Equal(t, []any{true, 0, ""}, changed(false))
	require.Equal(t, []any{false, 3, "sb3"}, changed(false, sandbox(3, true), sandbox(2, false)))
	require.Equal(t, []any{true, 4, "sb3"}, changed(false, sandbox(3, false), sandbox(2, true)))
	require.Equal(t, []any{true, 4, "sb3"}, changed(false, sandbox(3, true), sandbox(2, true)))
	require.Equal(t, []any{true, 4, "sb3"}, changed(false, noIP))
	require.Equal(t, []any{true, 4, ""}, changed(false, onHost), "the network mode differs: no ID, no event")
	require.Equal(t, []any{true, 4, ""}, changed(true, sandbox(3, true)))
	require.Equal(t, []any{false, 3, "sb3"}, changed(true, onHost))
}

func TestContainerHash(t *testing.T) {
	// A value that the kubelet gives: it must not change, or adopting a
	// container would restart it.
	require.Equal(t, uint64(0x8e45cbd0), runtime.ContainerHash(&v1.Container{Name: "test_container", Image: "foo/image:v1"}))

	base := runtime.ContainerHash(&v1.Container{Name: "c", Image: "i"})
	require.Equal(t, base, runtime.ContainerHash(&v1.Container{Name: "c", Image: "i", Command: []string{"x"}, Env: []v1.EnvVar{{Name: "A"}}}))
	require.NotEqual(t, base, runtime.ContainerHash(&v1.Container{Name: "c", Image: "j"}))
	require.NotEqual(t, base, runtime.ContainerHash(&v1.Container{Name: "d", Image: "i"}))
}

func TestPodStatusSort(t *testing.T) {
	at := func(s int) time.Time { return now.Add(time.Duration(s) * time.Second) }
	status := &runtime.PodStatus{
		Sandboxes: []runtime.SandboxStatus{
			{ID: "a", Attempt: 1, CreatedAt: at(9)}, {ID: "c", Attempt: 2, CreatedAt: at(1)},
			{ID: "b", Attempt: 2, CreatedAt: at(1)}, {ID: "d", Attempt: 2, CreatedAt: at(2)},
		},
		Containers: []runtime.ContainerStatus{
			{ID: "d", CreatedAt: at(2)}, {ID: "a", CreatedAt: at(1), RestartCount: 9},
			{ID: "c", CreatedAt: at(2)}, {ID: "b", CreatedAt: at(2), RestartCount: 1},
		},
	}
	status.Sort()
	var got string
	for _, s := range status.Sandboxes {
		got += s.ID
	}
	for _, c := range status.Containers {
		got += c.ID
	}
	require.Equal(t, "dbca"+"abcd", got)
}

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}
