package main

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/probe/probetest"
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
	live := probetest.NewDriver(probe.Liveness, probe.Settings{FailureThreshold: 1})
	live.See(live.Running("c1"))
	live.Pass(0, probe.Failure)
	changed := make(chan struct{}, 1)
	changed <- struct{}{}
	handler := syncloop.HandlerFuncs{Probes: func() {
		p.in("liveness of container %s: %s", live.ContainerID(), live.Verdict())
		e.probes.Liveness = map[string]runtime.Verdict{live.ContainerID(): live.Verdict()}
	}}
	syncloop.Step(ctx, syncloop.Channels{Config: make(chan podmanager.Update), Probes: changed}, handler, nil)
	p.out("HandleProbeResults: look at pod %s", e.pod.UID)
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
