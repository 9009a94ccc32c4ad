package main

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

func walkSameName(_ context.Context, p *page) error {
	p.intro(`A manifest that changes gives a new pod of the same name: another UID. Its files,
		ports and mirror are those of the old one, so the two may never overlap. One of
		them holds the name; the others wait in the order in which they came.`)
	var queue lifecycle.Names
	name := podmanager.FullName(newPod("web"))
	lives := map[types.UID]*life{}
	begin := func(uid types.UID) {
		l := newLife(p)
		l.UID = uid
		lives[uid] = l
		pod := newPod("web", static)
		pod.UID = uid
		l.event("Update, create, static: "+string(uid), lifecycle.Update{Pod: pod, Create: true, Static: true})
		granted := queue.Acquire(name, uid)
		p.out("%s holds %s: %v", uid, name, granted)
		if granted {
			l.event("NameGranted", lifecycle.NameGranted{})
		}
	}

	p.step("The first version", "lifecycle.Rules.Step", "lifecycle.Names.Acquire")
	begin("uid-1")
	lives["uid-1"].done("Done: uid-1 runs", lifecycle.Done{})

	p.step("The file changes twice", "lifecycle.Rules.Step", "lifecycle.Names.Acquire")
	begin("uid-2")
	begin("uid-3")
	p.why("They are known and wait. Nothing of them is started.")

	p.step("The source drops the first two", "lifecycle.Rules.Step", "lifecycle.Names.Release")
	lives["uid-2"].event("Removed: uid-2", lifecycle.Removed{})
	queue.Release(name, "uid-2")
	first := lives["uid-1"]
	first.event("Removed: uid-1", lifecycle.Removed{})
	p.why("uid-2 never ran, so its end is at once. uid-1 must be stopped first.")

	p.step("The first one has ended", "lifecycle.Rules.Step", "lifecycle.Names.Release")
	first.done("Done: nothing runs", lifecycle.Done{})
	first.done("Done: volumes are gone", lifecycle.Done{})
	next, ok := queue.Release(name, "uid-1")
	p.out("next: %s, %v", next, ok)
	lives[next].event("NameGranted: "+string(next), lifecycle.NameGranted{})
	p.why("It is told at once, not at the next round of some timer.")
	return nil
}
