package main

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/podmanagertest"
)

func walkMirrors(ctx context.Context, p *page) error {
	p.intro(`A static pod comes from a file; the API does not know it. So that users see it,
		the agent makes a mirror of it there. The two belong together by full name, and
		a hash tells which version of the static pod the mirror shows.`)
	manager := podmanager.NewManager()
	api := &podmanagertest.MirrorClient{}
	node := newNode()
	web := newPod("web", uid("uid-file"), static)
	manager.Put(web)

	p.step("A static pod without mirror", "podmanager.PlanMirror", "podmanager.ReconcileMirror")
	p.in("pod web of source file, mirror: none")
	p.out("%s", showMirrorPlan(podmanager.PlanMirror(web, nil)))
	if err := podmanager.ReconcileMirror(ctx, api, web, nil, node); err != nil {
		return err
	}
	mirror := api.Mirror(podmanager.FullName(web))
	t := &table{}
	t.row("", "pod", "mirror in the API")
	t.row("uid", web.UID, mirror.UID)
	t.row("config.hash", web.Annotations[podmanager.AnnotationHash], mirror.Annotations[podmanager.AnnotationHash])
	t.row("config.mirror", "", mirror.Annotations[podmanager.AnnotationMirror])
	t.row("owner", "", mirror.OwnerReferences[0].Kind+" "+mirror.OwnerReferences[0].Name)
	p.out("%s", t)
	p.why("The annotation config.mirror makes it a mirror, whatever its value.")

	p.step("Two UIDs, one pod", "podmanager.Manager.Put", "podmanager.Manager.TranslateUID")
	manager.Put(mirror)
	p.in("%s", mirror.UID)
	p.out("%s", manager.TranslateUID(mirror.UID))
	p.why(`Users ask for the UID that they see. The runtime knows the static pod's. The
		manager keeps the two apart: web is one pod of it, and the mirror is none.`)

	p.step("The file changes", "podmanager.IsMirrorOf", "podmanager.PlanMirror")
	newer := newPod("web", uid("uid-file-2"), static)
	p.in("pod web with %s, mirror of %s", newer.Annotations[podmanager.AnnotationHash], mirror.Annotations[podmanager.AnnotationMirror])
	p.out("mirror of this version: %v", podmanager.IsMirrorOf(mirror, newer))
	p.out("%s", showMirrorPlan(podmanager.PlanMirror(newer, mirror)))
	p.why("A mirror is never changed, only replaced.")

	p.step("Somebody deletes the mirror", "podmanager.PlanMirror")
	deleted := changed(mirror, func(p *v1.Pod) { p.DeletionTimestamp = deletedAt(noon) })
	p.in("pod web, mirror marked for deletion")
	p.out("%s", showMirrorPlan(podmanager.PlanMirror(web, deleted)))
	p.why("The pod runs on: its file is what counts. It only gets a new picture.")

	p.step("The file goes", "podmanager.Manager.Remove", "podmanager.Manager.OrphanedMirrors")
	manager.Remove(web.UID)
	p.in("pod web is removed, its mirror is still there")
	p.out("orphaned: %v", manager.OrphanedMirrors())
	p.why("The housekeeping deletes it once all sources were heard: see clean-ups.")
	return nil
}

func showMirrorPlan(plan podmanager.MirrorPlan) string {
	switch {
	case plan.Delete && plan.Create:
		return "delete the mirror, then create one"
	case plan.Create:
		return "create a mirror"
	}
	return "nothing"
}
