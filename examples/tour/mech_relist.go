package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
)

func walkRelist(ctx context.Context, p *page) error {
	p.intro(`A runtime may tell when something changed. What it says is a hint, which may come
		late, twice or never. The loop reads the pod itself; and it lists all pods again
		and again, for the list is the truth.`)

	p.step("A hint", "syncloop.SyncLoop.HandleRuntimeEvent")
	hints := make(chan func(types.UID), 1)
	hinting := func(c *syncloop.Config) {
		c.Runtime = runtimetest.Intercept(c.Runtime, runtimetest.Funcs{
			Watch: func(ctx context.Context, _ runtime.Watcher, notify func(types.UID)) error {
				hints <- notify // hints are given by this walk alone
				<-ctx.Done()
				return nil
			},
		})
	}
	err := onNode(ctx, hinting, func(n *node) error {
		hint := <-hints
		p.in("%s\nmain exits 1; the runtime says: look at uid-web", n.listed(ctx))
		if err := n.engine.Exit("uid-web", "main", 1); err != nil {
			return err
		}
		hint("uid-web")
		if err := n.untilRestarts(ctx, "uid-web", 1); err != nil {
			return err
		}
		p.out("%s", n.listed(ctx))
		p.why("Only the UID was in the hint. That main had ended was read from the runtime.")
		return nil
	})
	if err != nil {
		return err
	}

	p.step("No hints at all", "runtimetest.Bare", "runtimetest.Fake.ListPods")
	listsOnly := func(c *syncloop.Config) {
		c.Runtime = runtimetest.Bare(c.Runtime)
		c.RelistInterval = time.Millisecond
	}
	err = onNode(ctx, listsOnly, func(n *node) error {
		p.in("%s\nmain exits 1; the runtime says nothing", n.listed(ctx))
		if err := n.engine.Exit("uid-web", "main", 1); err != nil {
			return err
		}
		if err := n.untilRestarts(ctx, "uid-web", 1); err != nil {
			return err
		}
		p.out("%s", n.listed(ctx))
		p.why(`The next list shows another revision of the pod. A pod whose revision is the same
			is not looked at, so that a list of an idle node costs next to nothing.`)
		return nil
	})
	if err != nil {
		return err
	}

	p.step("Hints that lie", "syncloop.SyncLoop.HandleRuntimeEvent")
	lying := func(c *syncloop.Config) {
		c.Runtime = runtimetest.Intercept(c.Runtime, runtimetest.Funcs{
			Watch: func(ctx context.Context, w runtime.Watcher, notify func(types.UID)) error {
				for range 100 {
					notify("uid-web")
					notify("uid-of-nobody")
				}
				return w.Watch(ctx, notify)
			},
		})
	}
	err = onNode(ctx, lying, func(n *node) error {
		p.in("a hundred hints at web, which did not change, and at a pod that is not there")
		if err := n.untilRounds(ctx, 3); err != nil {
			return err
		}
		p.out("%s", n.listed(ctx))
		p.why("A pod is in the queue of hints once, however many there are.")
		return nil
	})
	if err != nil {
		return err
	}

	p.step("A list that fails", "runtimetest.Intercept")
	var failing atomic.Bool
	broken := func(c *syncloop.Config) {
		c.RelistInterval = time.Millisecond
		c.Runtime = runtimetest.Intercept(c.Runtime, runtimetest.Funcs{
			ListPods: func(ctx context.Context, rt runtime.Runtime) ([]runtime.ListedPod, error) {
				if failing.Load() {
					return nil, runtimetest.ErrInjected
				}
				return rt.ListPods(ctx)
			},
		})
	}
	return onNode(ctx, broken, func(n *node) error {
		p.in("%s\nall lists fail from now on", n.listed(ctx))
		failing.Store(true)
		goal := n.lists.Load() + 2
		if err := n.until(ctx, func() bool { return n.lists.Load() >= goal }); err != nil {
			return err
		}
		p.out("%s", n.listed(ctx))
		p.why("An error is not an empty list. What is known of pods stays as it was.")
		return nil
	})
}

// onNode does something on a node that runs the pod web.
func onNode(ctx context.Context, change func(*syncloop.Config), what func(*node) error) (err error) {
	n := newFakeNode()
	if err := n.start(ctx, change); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.stop()) }()
	if err := n.run(ctx, newPod("web")); err != nil {
		return err
	}
	return what(n)
}
