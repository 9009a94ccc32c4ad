package main

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/syncloop"
)

func walkShutdown(ctx context.Context, p *page) (err error) {
	p.intro(`To end the agent is one thing, to stop its pods another. A node that goes down
		stops them with their grace; one whose agent is upgraded leaves them alone.`)
	n := newFakeNode()
	defer func() { err = errors.Join(err, n.stop()) }()
	said := func(uids ...types.UID) {
		t := &table{}
		for _, uid := range uids {
			status := n.sink.Status(uid)
			t.row(uid, showPhase(&status))
		}
		p.out("%s", t)
	}
	web, late := newPod("web"), newPod("late")
	if err := n.start(ctx, nil); err != nil {
		return err
	}
	if err := n.run(ctx, web); err != nil {
		return err
	}

	p.step("All pods are to stop", "syncloop.SyncLoop.Shutdown")
	p.in("%s", n.listed(ctx))
	if err := n.Shutdown(ctx, syncloop.ShutdownOptions{}); err != nil {
		return err
	}
	p.out("%s", n.listed(ctx))
	said(web.UID)
	p.why("It returns once nothing runs, and store and sink have their last words.")

	p.step("A pod comes while the node goes down", "syncloop.SyncLoop.HandlePodAdditions")
	p.in("%s", showWord(podmanager.SourceFile, podmanager.OpAdd, late))
	if err := n.send(ctx, podmanager.SourceFile, podmanager.OpAdd, late); err != nil {
		return err
	}
	if err := n.untilPhase(ctx, late.UID, v1.PodFailed); err != nil {
		return err
	}
	said(late.UID)

	p.step("The next agent", "syncloop.New", "syncloop.SyncLoop.Run")
	if err := n.stop(); err != nil {
		return err
	}
	if err := n.start(ctx, nil); err != nil {
		return err
	}
	p.in("%s", showWord(podmanager.SourceFile, podmanager.OpAdd, web, late))
	if err := n.send(ctx, podmanager.SourceFile, podmanager.OpAdd, web, late); err != nil {
		return err
	}
	if err := n.untilRestarts(ctx, web.UID, 1); err != nil {
		return err
	}
	if err := n.untilPhase(ctx, late.UID, v1.PodRunning); err != nil {
		return err
	}
	p.out("%s", n.listed(ctx))
	said(web.UID, late.UID)
	p.why("A shutdown is no verdict on a pod. What the sources want runs again.")
	return nil
}
