package main

import (
	"context"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

func walkStopOrder(_ context.Context, p *page) error {
	p.intro(`When a pod stops, its containers are asked to end at the same time. A sidecar is
		asked after those that rely on it.`)
	pod := newPod("web", grace(30), sidecar("proxy"), sidecar("logger"), containers("server", "worker"))
	status := &runtime.PodStatus{}
	for _, name := range []string{"server", "worker", "logger", "proxy"} {
		status.Containers = append(status.Containers, runtime.ContainerStatus{ID: name + "-0", Name: name, State: runtime.StateRunning})
	}

	p.step("All run", "runtime.StopOrder")
	p.in("sidecars proxy, logger; containers server, worker; all running")
	p.out("%s", showStops(runtime.StopOrder(pod, status, 0)))
	p.why("Sidecars go in the reverse of their order in the spec.")

	p.step("worker has ended", "runtime.StopOrder")
	status.Containers[1].State = runtime.StateExited
	p.out("%s", showStops(runtime.StopOrder(pod, status, 0)))
	p.why("What does not run is not waited for.")

	p.step("No time left", "runtime.StopOrder")
	p.in("grace 500ms")
	p.out("%s", showStops(runtime.StopOrder(pod, status, 500*time.Millisecond)))
	p.why("Below a second nobody waits for anybody.")

	p.step("How long each gets", "runtime.Grace")
	t := &table{}
	t.row("pod 30s", runtime.Grace(pod, nil, runtime.KillOther))
	hurried := changed(pod, func(p *v1.Pod) { five := int64(5); p.DeletionGracePeriodSeconds = &five })
	t.row("pod 30s, deleted with 5s", runtime.Grace(hurried, nil, runtime.KillOther))
	t.row("pod that says nothing", runtime.Grace(newPod("bare"), nil, runtime.KillOther))
	p.out("%s", t)
	return nil
}

func showStops(stops []runtime.Stop) string {
	t := &table{}
	for _, s := range stops {
		after := "at once"
		if len(s.After) > 0 {
			after = "after " + strings.Join(s.After, ", ")
		}
		t.row("stop "+s.ID, "grace "+s.Grace.String(), after)
	}
	return t.String()
}
