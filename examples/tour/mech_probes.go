package main

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/probe/probetest"
)

func walkProbes(_ context.Context, p *page) error {
	p.intro(`A Tracker is one probe over time: what is known of the container and what attempts
		came to go in, a verdict and the time of the next attempt come out. This walk moves
		the time by hand. A Manager does the same for ten thousand, on one timer.`)
	every10 := probe.Settings{Period: 10 * time.Second}

	p.step("Before anything runs", "probe.PodContainers")
	pod := newPod("web", func(pod *v1.Pod) {
		pod.Spec.Containers[0].ReadinessProbe = &v1.Probe{}
		pod.Spec.InitContainers = []v1.Container{{Name: "prepare", ReadinessProbe: &v1.Probe{}}}
	})
	p.in("pod web: %s has a readiness probe, and so has the init container prepare", pod.Spec.Containers[0].Name)
	for _, c := range probe.PodContainers(pod, nil) {
		p.out("%s: %s", c.Name, c.Probes[0].Name)
	}
	p.why(`It is known although there is no status yet: nobody takes it for a container
		without probes, which is ready as soon as it runs. A plain init container is not
		probed.`)

	p.step("Startup: it holds the others back", "probe.Tracker.Look", "probe.Tracker.Record")
	startup := probetest.NewDriver(probe.Startup, every10)
	p.in("the instance c1 runs; the third attempt succeeds")
	startup.See(probe.State{ContainerID: "c1", Running: true, StartedAt: startup.Now})
	startup.Pass(20*time.Second, probe.Failure, probe.Failure, probe.Success)
	tell(p, startup)
	p.why("One success is enough, and the probe is over. Three failures would have it restarted.")

	p.step("Readiness: thresholds", "probe.Tracker.Record")
	readiness := probetest.NewDriver(probe.Readiness, every10)
	p.in("the instance c1 runs; one success, three failures, one success")
	readiness.See(readiness.Running("c1"))
	readiness.Pass(40*time.Second, probe.Success, probe.Failure, probe.Failure, probe.Failure, probe.Success)
	tell(p, readiness)
	p.why("The first two failures change nothing: the failure threshold is 3, that of success 1.")

	p.step("Liveness: one verdict for each instance", "probe.Tracker.Record")
	liveness := probetest.NewDriver(probe.Liveness, every10)
	p.in("the instance c1 fails for ever; after a minute c2 runs in its place")
	liveness.See(liveness.Running("c1"))
	liveness.Pass(time.Minute, probe.Failure)
	liveness.See(liveness.Running("c2"))
	liveness.Pass(10*time.Second, probe.Failure)
	tell(p, liveness)
	p.why(`After the verdict nobody asks c1 any more: the sync loop is about to kill it. c2
		begins with a success and its full threshold.`)

	p.step("An agent that starts anew", "probe.Tracker.Look")
	anew := probetest.NewDriver(probe.Readiness, every10)
	state := anew.Running("c2")
	state.Ready = true
	p.in("the last status called c2 ready; two attempts fail, then one succeeds")
	anew.See(state)
	anew.Pass(20*time.Second, probe.Failure, probe.Failure, probe.Success)
	tell(p, anew)
	p.why("Readiness outlives the agent, and does not flap (kubernetes/kubernetes#100277).")
	return nil
}

// tell writes what a driver noted.
func tell(p *page, d *probetest.Driver) {
	for _, line := range d.Transcript {
		p.out("%s", line)
	}
	p.out("the verdict is %s; it waits %s", d.Verdict(), d.Wait())
}
