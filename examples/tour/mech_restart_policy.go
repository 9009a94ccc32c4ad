package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

func walkRestartPolicy(_ context.Context, p *page) error {
	p.intro(`Whether a container runs again is decided by its exit code and by the first of
		these that speaks: its restart rules, its own restart policy, the pod's.`)

	p.step("The pod's policy", "runtime.RestartAfterExit")
	t := &table{}
	t.row("policy", "exit 0", "exit 1")
	for _, pol := range []v1.RestartPolicy{v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever} {
		pod := newPod("p", policy(pol))
		c := &pod.Spec.Containers[0]
		t.row(pol, restarts(pod, c, 0), restarts(pod, c, 1))
	}
	p.out("%s", t)

	p.step("A rule for one exit code", "runtime.MatchingRule", "runtime.RestartAfterExit")
	never := v1.ContainerRestartPolicyNever
	pod := newPod("worker")
	c := &pod.Spec.Containers[0]
	c.RestartPolicy = &never
	c.RestartPolicyRules = []v1.ContainerRestartRule{{
		Action: v1.ContainerRestartRuleActionRestart,
		ExitCodes: &v1.ContainerRestartRuleOnExitCodes{
			Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42},
		},
	}}
	p.in("pod Always, container Never, rule: restart on exit 42")
	t = &table{}
	for _, code := range []int32{0, 1, 42} {
		t.row(fmt.Sprintf("exit %d", code), restarts(pod, c, code))
	}
	p.out("%s", t)
	p.why("The rule comes before the container's policy, and that before the pod's.")

	p.step("A job in a pass", "runtime.Plan")
	e := newEngine(newPod("job", policy(v1.RestartPolicyOnFailure), containers("a", "b")))
	e.carryOut(e.plan())
	e.exit("a", 0)
	e.exit("b", 1)
	e.pass(p)
	p.why("a has done its work. b has not.")

	p.step("Both are done", "runtime.Plan")
	e.exit("b", 0)
	e.pass(p)
	p.why("Nothing runs or will run: what is left, the sandbox, is stopped.")

	p.step("A pod that is being deleted", "runtime.ShouldRestart")
	gone := newPod("web")
	deleted := changed(gone, func(p *v1.Pod) { p.DeletionTimestamp = deletedAt(noon) })
	status := &runtime.PodStatus{Containers: []runtime.ContainerStatus{{ID: "c1", Name: "main", State: runtime.StateExited, ExitCode: 1}}}
	t = &table{}
	t.row("web", runtime.ShouldRestart(gone, &gone.Spec.Containers[0], status))
	t.row("web, deleted", runtime.ShouldRestart(deleted, &deleted.Spec.Containers[0], status))
	p.in("main exited 1, policy Always")
	p.out("%s", t)
	return nil
}

func restarts(pod *v1.Pod, c *v1.Container, code int32) string {
	if runtime.RestartAfterExit(pod, c, code) {
		return "runs again"
	}
	return "stays"
}
