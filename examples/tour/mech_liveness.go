package main

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop"
)

func walkLiveness(ctx context.Context, p *page) error {
	p.intro(`A prober publishes a verdict on one container instance. The loop has the pod
		looked at, and Plan decides what the verdict means.`)
	e := newEngine(newPod("web", grace(30), func(p *v1.Pod) {
		seconds := int64(5)
		p.Spec.Containers[0].LivenessProbe = &v1.Probe{TerminationGracePeriodSeconds: &seconds}
	}))
	for range 2 {
		e.carryOut(e.plan())
	}

	p.step("The verdict comes in", "syncloop.Step")
	results := make(chan syncloop.ProbeResult, 1)
	results <- syncloop.ProbeResult{UID: e.pod.UID, Kind: syncloop.Liveness, ContainerID: "c1", Verdict: runtime.VerdictFailure}
	handler := syncloop.HandlerFuncs{Probe: func(r syncloop.ProbeResult) {
		p.in("%s of container %s: %s", r.Kind, r.ContainerID, r.Verdict)
		e.probes.Liveness = map[string]runtime.Verdict{r.ContainerID: r.Verdict}
	}}
	syncloop.Step(ctx, syncloop.Channels{Config: make(chan podmanager.Update), Probes: results}, handler, nil)
	p.out("HandleProbeResult: look at pod %s", e.pod.UID)
	p.why("A failed liveness is a reason to sync the pod. A success changes nothing.")

	p.step("What follows", "runtime.Plan")
	e.pass(p)
	p.why("The probe has a grace of its own, 5 seconds; the pod's is 30.")

	p.step("The verdict is about one instance", "runtime.Plan")
	e.pass(p)
	p.why("The new instance has another ID. What was said of the old one does not concern it.")

	p.step("With the policy Never", "runtime.Plan")
	job := newEngine(newPod("job", policy(v1.RestartPolicyNever), grace(30)))
	job.carryOut(job.plan())
	job.probes.Liveness = map[string]runtime.Verdict{"c1": runtime.VerdictFailure}
	job.pass(p)
	p.why("It is killed all the same, and stays dead: so nothing is left that keeps the pod alive.")
	return nil
}
