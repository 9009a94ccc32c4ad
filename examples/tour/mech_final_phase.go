package main

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

func walkFinalPhase(_ context.Context, p *page) error {
	p.intro(`Succeeded and Failed are final: controllers count on it, and replace the pod. Two
		things follow. Nothing may lead out of them; and nobody may see them while
		something still runs.`)
	job := newPod("job", policy(v1.RestartPolicyNever))

	p.step("A job has ended well", "podstatus.Compute")
	in := podstatus.Input{Pod: job, Observed: seen("main:exited:0"), Now: noon}
	res := podstatus.Compute(in)
	p.in("main:exited:0")
	p.out("%s", showPhase(&res.Status))

	p.step("The runtime claims that it runs", "podstatus.Compute")
	in.Previous, in.Observed = &res.Status, seen("main:running")
	again := podstatus.Compute(in)
	p.in("main:running")
	p.out("%s\nchanged: %v\nillegal: %v", showPhase(&again.Status), again.Changed, again.Illegal)
	p.why("What was said stays. The contradiction is reported.")

	p.step("The runtime has forgotten it", "podstatus.Compute")
	in.Observed = nil
	again = podstatus.Compute(in)
	p.in("nothing is there")
	p.out("%s", showPhase(&again.Status))

	p.step("A deadline passes", "podstatus.Deadline", "podstatus.Compute")
	seconds := int64(60)
	slow := newPod("slow", policy(v1.RestartPolicyNever), func(p *v1.Pod) { p.Spec.ActiveDeadlineSeconds = &seconds })
	began := podstatus.Compute(podstatus.Input{Pod: slow, Observed: seen("main:running"), Now: noon})
	at, _ := podstatus.Deadline(slow, &began.Status)
	late := podstatus.Input{Pod: slow, Previous: &began.Status, Observed: seen("main:running"), Now: at}
	verdict := podstatus.Compute(late)
	p.in("activeDeadlineSeconds 60, first status at %s, now %s", clock(noon), clock(at))
	p.out("%s", showPhase(&verdict.Status))
	p.why("It is a verdict on the pod, to be remembered: it holds until the pod is gone.")

	p.step("While it is being stopped it exits with 0", "podstatus.Compute")
	late.Previous, late.Verdict = &verdict.Status, verdict.Verdict
	late.Observed, late.Now = seen("main:exited:0"), at.Add(time.Second)
	stopped := podstatus.Compute(late)
	p.in("main:exited:0")
	p.out("%s", showPhase(&stopped.Status))
	p.why("The first verdict outweighs what containers do afterwards.")

	p.step("What others may see meanwhile", "podstatus.Merge")
	t := &table{}
	for _, mayRun := range []bool{true, false} {
		merged, held := podstatus.Merge(&began.Status, &stopped.Status, mayRun, late.Now)
		t.row("something may run: "+yesNo(mayRun), merged.Phase, "held back: "+yesNo(held))
	}
	p.in("in the API: %s; to be said: %s", began.Status.Phase, stopped.Status.Phase)
	p.out("%s", t)
	p.why("Whoever sees Failed may start a successor, which wants the same volumes and ports.")
	return nil
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
