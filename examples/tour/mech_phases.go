package main

import (
	"context"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

func walkPhases(_ context.Context, p *page) error {
	p.intro(`The phase of a pod sums up its containers. Compute is pure: what is wanted, what
		is observed, what was said last and the time go in; a whole v1.PodStatus comes
		out.`)
	rows := func(pod *v1.Pod, cases ...string) {
		t := &table{}
		for _, c := range cases {
			res := podstatus.Compute(podstatus.Input{Pod: pod, Observed: seen(strings.Fields(c)...), Now: noon})
			if c == "" {
				c = "(nothing)"
			}
			t.row(c, res.Status.Phase)
		}
		p.out("%s", t)
	}

	p.step("Two containers, restart policy Never", "podstatus.Compute")
	rows(newPod("job", policy(v1.RestartPolicyNever), containers("a", "b")),
		"", "a:running", "a:running b:running", "a:exited:0 b:running", "a:exited:0 b:exited:0", "a:exited:0 b:exited:1")
	p.why("Pending while one of them has never run. The end of all decides between Succeeded and Failed.")

	p.step("The same with Always", "podstatus.Compute")
	rows(newPod("web", containers("a", "b")), "a:running b:running", "a:exited:1 b:exited:1")
	p.why("They will run again, so the pod has not ended.")

	p.step("An init container before main", "podstatus.Compute")
	rows(newPod("web", policy(v1.RestartPolicyNever), inits("setup"), containers("main")),
		"setup:running", "setup:exited:0", "main:running setup:exited:0", "setup:exited:1")
	p.why("A pod that is being initialized is Pending. A failure that is not repeated ends it.")

	p.step("How a container waits", "podstatus.Compute")
	res := podstatus.Compute(podstatus.Input{Pod: newPod("web", inits("setup"), containers("main")), Observed: seen("setup:running"), Now: noon})
	t := &table{}
	t.row("setup", showState(res.Status.InitContainerStatuses[0].State))
	t.row("main", showState(res.Status.ContainerStatuses[0].State))
	p.in("setup:running")
	p.out("%s", t)

	p.step("The class of service", "admission.QOS")
	t = &table{}
	t.row("no requests", admission.QOS(newPod("a")))
	t.row("cpu request", admission.QOS(newPod("b", requests("cpu", "1"))))
	full := newPod("c", func(p *v1.Pod) {
		p.Spec.Containers[0].Resources.Limits = resources("cpu", "1", "memory", "1Gi")
		p.Spec.Containers[0].Resources.Requests = resources("cpu", "1", "memory", "1Gi")
	})
	t.row("limits equal requests", admission.QOS(full))
	p.out("%s", t)
	return nil
}

func showState(s v1.ContainerState) string {
	switch {
	case s.Running != nil:
		return "running"
	case s.Terminated != nil:
		return "terminated " + s.Terminated.Reason
	}
	return "waiting " + s.Waiting.Reason
}
