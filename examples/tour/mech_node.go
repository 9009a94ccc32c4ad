package main

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
)

func walkNode(ctx context.Context, p *page) error {
	p.intro(`A pod is judged against the node as it is now. Where that comes from is the
		host's affair: a cache, the API, a configuration file. It is a value that the
		host gives through a NodeGetter; nobody writes to it.`)
	node := newNode("pods", "110", "cpu", "2")
	chain := newChain(node)
	pod := newPod("web", requests("cpu", "3"))
	ask := func() error {
		d, err := chain.Check(ctx, pod)
		p.out("%s", showDecision(chain, d))
		return err
	}

	p.step("The node is small", "admission.NodeFunc.Node", "admission.Chain.Check")
	p.in("web: cpu 3; node: cpu 2")
	if err := ask(); err != nil {
		return err
	}

	p.step("The node has grown", "admission.Chain.Check")
	bigger := newNode("pods", "110", "cpu", "4")
	chain.Nodes = admission.NodeFunc(func(_ context.Context, fresh bool) (*v1.Node, error) { return bigger, nil })
	p.in("web: cpu 3; node: cpu 4")
	if err := ask(); err != nil {
		return err
	}
	p.why("The getter is asked for each decision, so that who comes now is let in. " +
		"A host that calls SyncLoop.NodeChanged has pods that wait asked for again at once.")

	p.step("The node can't be read", "admission.Chain.Check")
	chain.Nodes = admission.NodeFunc(func(context.Context, bool) (*v1.Node, error) {
		return nil, errors.New("no route to the API server")
	})
	p.in("web: cpu 3; node: error, no route to the API server")
	if err := ask(); err != nil {
		return err
	}
	p.why(`The pod is asked for again. The kubelet rejects it for good, with the same
		reason.`)
	return nil
}
