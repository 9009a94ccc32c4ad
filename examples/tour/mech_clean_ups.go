package main

import (
	"context"
	"errors"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/podmanagertest"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
)

func walkCleanUps(ctx context.Context, p *page) (err error) {
	p.intro(`Each 2 seconds the kubelet goes over all pods and cleans up in five ways. Here
		most of it follows from the event itself: a pod that is removed is taken to its
		end by its own life. The housekeeping takes up what had to wait until a source
		was heard.`)
	n := newFakeNode()
	api := &podmanagertest.MirrorClient{}
	apart := &takenApart{uid: "uid-web"}
	n.engine.Invent(runtime.PodRef{UID: "uid-stray", Namespace: "default", Name: "stray"}, "main")
	err = n.start(ctx, func(c *syncloop.Config) {
		c.Sources = []string{podmanager.SourceFile, podmanager.SourceAPI}
		c.Mirrors = api
		c.Nodes = admission.FixedNode(newNode())
		c.Runtime = runtimetest.Intercept(c.Runtime, runtimetest.Funcs{Before: apart.note})
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.stop()) }()

	p.step("Workers of pods that are gone", "syncloop.SyncLoop.HandlePodRemoves")
	web := newPod("web")
	if err := n.run(ctx, web); err != nil {
		return err
	}
	p.in("%s\nREMOVE from file: web", n.listed(ctx))
	if err := n.send(ctx, podmanager.SourceFile, podmanager.OpRemove, web); err != nil {
		return err
	}
	if err := n.untilGone(ctx, web.UID); err != nil {
		return err
	}
	p.out("%s", n.listed(ctx))
	p.why("A worker is a goroutine only while its pod is busy. None is left to be stopped.")

	p.step("Pods that nobody wants", "syncloop.SyncLoop.HandlePodCleanups")
	if err := n.untilRounds(ctx, 3); err != nil {
		return err
	}
	p.in("stray runs, and no source named it; heard: file")
	p.out("%s", n.listed(ctx))
	p.why("The API has not spoken. It may want the pod: nobody can know yet.")
	if err := n.send(ctx, podmanager.SourceAPI, podmanager.OpAdd); err != nil {
		return err
	}
	if err := n.untilGone(ctx, "uid-stray"); err != nil {
		return err
	}
	p.in("heard: file, api")
	p.out("%s", n.listed(ctx))
	p.why("Only what this agent labelled as its own is listed: pods of others are safe.")

	p.step("Volumes of pods that have stopped", "runtimetest.Fake.RemoveVolumes")
	p.in("what the runtime was asked to do to end web")
	p.out("%s", apart)
	p.why(`Volumes go once nothing of the pod runs, and are a step of its life. A removal that
		fails is tried again by the same life.`)

	p.step("Orphaned mirrors", "podmanager.ReconcileMirror", "podmanager.Manager.OrphanedMirrors")
	fixed := newPod("fixed", static)
	if err := n.run(ctx, fixed); err != nil {
		return err
	}
	mirror := api.Mirror(podmanager.FullName(fixed))
	if mirror == nil {
		return errors.New("the static pod has no mirror")
	}
	if err := n.send(ctx, podmanager.SourceAPI, podmanager.OpAdd, mirror); err != nil {
		return err
	}
	p.in("static pod fixed runs; mirrors in the API: %d\nREMOVE from file: fixed", api.Len())
	if err := n.send(ctx, podmanager.SourceFile, podmanager.OpRemove, fixed); err != nil {
		return err
	}
	if err := n.until(ctx, func() bool { return api.Len() == 0 }); err != nil {
		return err
	}
	p.out("mirrors in the API: %d", api.Len())
	p.why("A mirror whose pod is still being stopped stays: users want to see that.")

	p.step("What the runtime keeps of pods that are gone", "runtimetest.Fake.RemovePod")
	if err := n.untilGone(ctx, fixed.UID); err != nil {
		return err
	}
	p.in("web, stray and fixed have come to their end")
	p.out("%s", n.listed(ctx))
	p.why("Dead containers, logs and folders; in the kubelet, cgroups.")
	return nil
}

// takenApart notes in which order a runtime is asked to take a pod apart. What is
// asked twice in a row counts once: a kill that overtook a sync is repeated.
type takenApart struct {
	uid   types.UID
	mu    sync.Mutex
	calls []string
}

func (a *takenApart) note(_ context.Context, c runtimetest.Call) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.UID == a.uid && slices.Contains([]string{"KillPod", "RemoveVolumes", "RemovePod"}, c.Method) {
		a.calls = append(a.calls, c.Method)
	}
	return nil
}

func (a *takenApart) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return joined(slices.Compact(slices.Clone(a.calls)))
}
