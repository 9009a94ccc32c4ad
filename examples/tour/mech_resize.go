package main

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/admission/resize"
)

func walkResize(ctx context.Context, p *page) error {
	p.intro(`What a running pod asks for may change. It is run and counted by what it was
		granted, until the node has room for what it asks for now. Its containers are
		not restarted for it, unless their resize policy says so.`)
	node := newNode("pods", "110", "cpu", "4")
	chain := &admission.Chain{
		Ledger: admission.NewLedger(), Nodes: admission.FixedNode(node), OS: "linux",
		Checks: admission.KubeletChecks(admission.Kubelet{}),
	}
	pod, batch := newPod("web", requests("cpu", "1")), newPod("batch", requests("cpu", "2"))
	for _, running := range []*v1.Pod{pod, batch} {
		if _, err := chain.Admit(ctx, running); err != nil {
			return err
		}
	}
	granted := resize.Of(pod)
	var queue resize.Queue
	var pending *v1.PodCondition
	try := func(wants *v1.Pod) error {
		has, _ := granted.Apply(wants)
		next, ok := queue.Next()
		if !ok {
			p.out("nothing is to be tried; %d wait", queue.Len())
			return nil
		}
		v, err := resize.Grant(ctx, chain, resize.Support{}, has, wants)
		if err != nil {
			return err
		}
		p.out("%s %s", v.Outcome, v.Reason)
		switch v.Outcome {
		case resize.Fits:
			granted, pending = resize.Of(wants), nil
		case resize.Deferred:
			c, _ := resize.PendingCondition(v, wants, pending, noon)
			pending = &c
			queue.Block(next, v.Short)
			p.out("%s %s: %s", c.Type, c.Reason, c.Message)
		}
		p.out("ledger: cpu %dm", chain.Ledger.UsedOf(v1.ResourceCPU))
		return nil
	}
	ask := func(cpu string) *v1.Pod {
		wants := changed(pod, requests("cpu", cpu))
		has, differs := granted.Apply(wants)
		p.in("web asks for cpu %s, has %s", cpu, has.Spec.Containers[0].Resources.Requests.Cpu())
		if differs {
			queue.Push(resize.PendingOf(has, wants, time.Time{}))
		}
		return wants
	}

	p.step("There is room", "resize.Allocation.Apply", "resize.Grant", "admission.Chain.Resize")
	if err := try(ask("2")); err != nil {
		return err
	}
	p.why(`The checks are those of a new pod, without the pod itself in the ledger. Nothing
		is granted in part.`)

	p.step("There is none", "resize.PendingCondition", "resize.Queue.Block")
	wants := ask("3")
	if err := try(wants); err != nil {
		return err
	}
	p.why(`It keeps what it has. Too much for the node as a whole is deferred too, as in
		the kubelet v1.36: the node may grow.`)

	p.step("A bit becomes free, then enough", "resize.Queue.Freed", "resize.Queue.Next")
	queue.Freed(admission.Requests{MilliCPU: 100})
	p.in("100m freed elsewhere")
	if err := try(wants); err != nil {
		return err
	}
	room, _ := chain.Ledger.Held(admission.KeyOf(batch))
	chain.Remove(admission.KeyOf(batch))
	queue.Freed(room)
	p.in("batch has ended")
	if err := try(wants); err != nil {
		return err
	}
	p.why(`It is tried again only once as much became free as it lacked. The kubelet tries
		all that wait whenever a pod goes.`)

	p.step("This node can't", "resize.Support.Infeasible")
	v, err := resize.Judge(ctx, chain, resize.Support{Unsupported: true}, wants, changed(pod, requests("cpu", "1")))
	if err != nil {
		return err
	}
	p.in("web asks for cpu 1; the runtime is no runtime.Resizer")
	p.out("%s: %s", v.Outcome, v.Message)
	p.why("That is final, until its spec changes again.")
	return nil
}
