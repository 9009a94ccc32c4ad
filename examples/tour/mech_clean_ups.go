package main

import (
	"context"
	"errors"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/podmanagertest"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
)

// calls records in which order the runtime was asked to take a pod apart.
type calls struct {
	mu    sync.Mutex
	lines []string
}

func (c *calls) record(uid types.UID) func(context.Context, runtimetest.Call) error {
	return func(_ context.Context, call runtimetest.Call) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch call.Method {
		case "KillPod", "RemoveVolumes", "RemovePod":
			if call.UID == uid {
				c.lines = append(c.lines, call.Method)
			}
		}
		return nil
	}
}

func (c *calls) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return joined(c.lines)
}

func walkCleanUps(ctx context.Context, p *page) (err error) {
	p.intro(`The kubelet goes over all pods each 2 seconds and cleans up in five ways. Here
		most of it follows from the event itself: a pod that is removed is taken to its
		end by its own life. The housekeeping takes up what had to wait until a source
		was heard.`)
	n := newFakeNode()
	api := &podmanagertest.MirrorClient{}
	apart := &calls{}
	n.engine.Invent(runtime.PodRef{UID: "uid-stray", Namespace: "default", Name: "stray"}, "main")
	err = n.start(ctx, func(c *syncloop.Config) {
		c.Sources = []string{podmanager.SourceFile, podmanager.SourceAPI}
		c.Mirrors = api
		c.Nodes = admission.NodeFunc(func(context.Context, bool) (*v1.Node, error) { return newNode(), nil })
		c.Runtime = runtimetest.Intercept(c.Runtime, runtimetest.Funcs{Before: apart.record("uid-web")})
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.end()) }()

	p.step("Workers of pods that are gone (1)", "syncloop.SyncLoop.HandlePodRemoves")
	web := newPod("web", static)
	n.send(podmanager.SourceFile, podmanager.OpAdd, web)
	if err := n.untilPhase(ctx, web.UID, v1.PodRunning); err != nil {
		return err
	}
	p.in("%s\nREMOVE from file: web", n.listed(ctx))
	n.send(podmanager.SourceFile, podmanager.OpRemove, web)
	if err := n.untilGone(ctx, web.UID); err != nil {
		return err
	}
	p.out("%s", n.listed(ctx))
	p.why("A worker is a goroutine only while its pod is busy. None is left to be stopped.")

	p.step("Volumes (3) and what the runtime keeps (5)", "runtimetest.Fake.RemoveVolumes", "runtimetest.Fake.RemovePod")
	p.in("the calls about web, in their order")
	p.out("%s", apart)
	p.why(`Volumes go when nothing of the pod runs; then its dead containers, logs and
		folders (cgroups, in the article on the kubelet). A removal that fails is
		tried again by the same life.`)

	p.step("Pods that nobody wants (2)", "syncloop.SyncLoop.HandlePodCleanups")
	if err := n.untilRounds(ctx, 3); err != nil {
		return err
	}
	p.in("stray runs, and no source named it; heard: file")
	p.out("%s", n.listed(ctx))
	p.why("The API has not spoken. It may want the pod: nobody can know yet.")
	n.send(podmanager.SourceAPI, podmanager.OpAdd)
	if err := n.untilGone(ctx, "uid-stray"); err != nil {
		return err
	}
	p.in("heard: file, api")
	p.out("%s", n.listed(ctx))

	p.step("Orphaned mirrors (4)", "podmanager.ReconcileMirror", "podmanager.Manager.OrphanedMirrors", "syncloop.SyncLoop.HandlePodCleanups")
	mirrored := newPod("mirrored", static)
	n.send(podmanager.SourceFile, podmanager.OpAdd, mirrored)
	if err := n.untilPhase(ctx, mirrored.UID, v1.PodRunning); err != nil {
		return err
	}
	mirror := api.Mirror(podmanager.FullName(mirrored))
	n.send(podmanager.SourceAPI, podmanager.OpAdd, mirror)
	p.in("static pod mirrored runs; mirrors in the API: %d\nREMOVE from file: mirrored", api.Len())
	n.send(podmanager.SourceFile, podmanager.OpRemove, mirrored)
	i:=0
	if err := n.until(ctx, func() bool { i++; if i==300 { println(api.Len(), n.rounds.Load(), len(n.manager.OrphanedMirrors()), mirror==nil, n.manager.Mirror(mirror.UID)==mirror, len(n.Pods())); for _,v:=range n.Pods(){println(v.Name, string(v.Stage), string(v.Work))} }; return api.Len() == 0 }); err != nil {
		return err
	}
	p.out("mirrors in the API: %d", api.Len())
	p.why("A mirror whose pod is still being stopped stays: users want to see that.")
	return nil
}
