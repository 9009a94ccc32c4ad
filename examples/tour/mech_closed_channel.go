package main

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/syncloop"
)

func walkClosedChannel(ctx context.Context, p *page) error {
	p.intro(`Step returns whether there is a next one. It says false in two cases: nobody can
		say any more what should run, or the context has ended. The pods run on; ending
		the loop is not stopping them.`)
	f := newFive()
	one := func(ctx context.Context) {
		called := "no handler was called"
		again := syncloop.Step(ctx, f.channels(), naming(func(call string) { called = call }), nil)
		p.out("%v; %s", again, called)
	}

	p.step("An update, and the end behind it", "syncloop.Step")
	f.config <- podmanager.Update{Source: podmanager.SourceAPI, Op: podmanager.OpAdd, Pods: []*v1.Pod{newPod("web")}}
	close(f.config)
	p.in("ADD from api: web, then the config channel is closed")
	one(ctx)
	one(ctx)
	one(ctx)
	p.why("What was sent before the end is dealt with. The end itself is no event.")

	p.step("The context ends", "syncloop.Step")
	f = newFive()
	f.due <- noon
	ended, cancel := context.WithCancel(ctx)
	cancel()
	p.in("a tick is waiting, but the context has ended")
	one(ended)
	return nil
}
