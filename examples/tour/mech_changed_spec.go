package main

import (
	"context"

	"github.com/kubeparts/kubeparts/runtime"
)

func walkChangedSpec(_ context.Context, p *page) error {
	p.intro(`Each container instance carries a hash of what it was made from. When the spec
		gives another hash, the instance is not what is wanted any more.`)
	e := newEngine(newPod("web", containers("server", "logger"), grace(30)))
	e.carryOut(e.plan())
	e.pod = changed(e.pod)

	p.step("Another image", "runtime.ContainerHash")
	server := &e.pod.Spec.Containers[0]
	before := runtime.ContainerHash(server)
	server.Image = "server:2"
	t := &table{}
	t.row("server:1", before)
	t.row("server:2", runtime.ContainerHash(server))
	p.out("%s", t)
	p.why("The hash is the kubelet's, over name and image, so that either adopts what the other started.")

	p.step("What follows", "runtime.Plan")
	p.in("server: server:1 runs, server:2 is wanted; logger: runs as it is wanted")
	a := e.plan()
	p.out("%s", showActions(a))
	e.carryOut(a)
	p.why(`One pass stops the old instance and starts the new one. With the policy Never it
		would be started, too: it has not ended, it was replaced. Another image begins
		its back-off anew. logger is left alone.`)

	p.step("Other resources", "runtime.Plan")
	e.pod = changed(e.pod, requests("cpu", "2"))
	p.in("server asks for cpu 2 now")
	p.out("%s", showActions(e.plan()))
	p.why("They take no part in the hash: they may be changed in place.")
	return nil
}
