package main

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/syncloop"
)

func walkAgentRestart(ctx context.Context, p *page) (err error) {
	p.intro(`An agent may end, crash or be upgraded at any time. Pods don't notice: the next
		agent finds them in the runtime, matches them to what its sources say, and
		touches nothing that is still wanted.`)
	n := newFakeNode()
	defer func() { err = errors.Join(err, n.stop()) }()
	cpus := func(cpu string) func(*syncloop.Config) {
		return func(c *syncloop.Config) { c.Admission = newChain(newNode("pods", "110", "cpu", cpu)) }
	}
	web := newPod("web", requests("cpu", "2"))
	job := newPod("job", policy(v1.RestartPolicyNever))
	begin := func(change func(*syncloop.Config)) error {
		if err := n.start(ctx, change); err != nil {
			return err
		}
		if err := n.send(ctx, podmanager.SourceAPI, podmanager.OpAdd, web, job); err != nil {
			return err
		}
		return n.untilRounds(ctx, 1)
	}

	p.step("The first agent", "syncloop.New", "syncloop.SyncLoop.Run")
	if err := begin(cpus("2")); err != nil {
		return err
	}
	for _, pod := range []*v1.Pod{web, job} {
		if err := n.untilPhase(ctx, pod.UID, v1.PodRunning); err != nil {
			return err
		}
	}
	p.in("ADD from api: web, job; node: cpu 2, web takes 2")
	p.out("%s", n.listed(ctx))
	if err := n.stop(); err != nil {
		return err
	}

	p.step("It ends, and job ends while nobody looks", "syncloop.SyncLoop.Run")
	if err := n.engine.Exit(job.UID, "main", 0); err != nil {
		return err
	}
	p.out("%s", n.listed(ctx))
	record, _ := n.store.Record(web.UID)
	p.out("remembered of web: admitted %v, %s", record.Admitted, record.Status.Phase)
	p.why("The end of Run is not the end of the pods. To stop them is Shutdown.")

	p.step("The second agent, on a node that has shrunk", "syncloop.ReadmitKeep")
	if err := begin(cpus("1")); err != nil {
		return err
	}
	if err := n.untilPhase(ctx, job.UID, v1.PodSucceeded); err != nil {
		return err
	}
	p.in("ADD from api: web, job; node: cpu 1")
	p.out("%s", n.listed(ctx))
	p.out("web %s, job %s", n.sink.Status(web.UID).Phase, n.sink.Status(job.UID).Phase)
	p.why(`All pods come as ADD, as after a restart of the kubelet. web would not be let in
		any more; but it was once, and stays. The same container runs, with the same
		restart count. The exit code of job was not lost.`)
	if err := n.stop(); err != nil {
		return err
	}

	p.step("A third agent that checks again, as the kubelet does", "syncloop.ReadmitRecheck")
	err = begin(func(c *syncloop.Config) {
		cpus("1")(c)
		c.Readmit = syncloop.ReadmitRecheck
		c.Store = nil
	})
	if err != nil {
		return err
	}
	if err := n.untilPhase(ctx, web.UID, v1.PodFailed); err != nil {
		return err
	}
	if err := n.until(ctx, func() bool {
		status, err := n.engine.PodStatus(ctx, web.UID)
		return err == nil && !status.Running()
	}); err != nil {
		return err
	}
	p.in("ADD from api: web, job; node: cpu 1; nothing is remembered")
	status := n.sink.Status(web.UID)
	p.out("web %s", showPhase(&status))
	p.out("%s", n.listed(ctx))
	p.why("It is stopped with its own grace. The kubelet gives it a second.")
	return nil
}
