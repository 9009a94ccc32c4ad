package main

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
)

func walkOperations(_ context.Context, p *page) error {
	p.intro(`A source may say no more than "this is my whole list" (SET). The Mux compares it
		with the list before and says what changed. It is pure: the list goes in, changes
		come out, the time is an argument.`)
	mux := podmanager.NewMux(podmanager.SourceAPI)
	say := func(pods ...*v1.Pod) error {
		merged, err := mux.Merge(podmanager.SourceAPI, podmanager.OpSet, pods, noon)
		p.in("%s", showWord(podmanager.SourceAPI, podmanager.OpSet, pods...))
		p.out("%s", showMerged(merged))
		return err
	}

	p.step("The first list", "podmanager.NewMux", "podmanager.Mux.Merge")
	web, db := newPod("web"), newPod("db")
	if err := say(web, db); err != nil {
		return err
	}
	p.why("Neither UID was known.")

	p.step("The same list again", "podmanager.Mux.Merge")
	if err := say(changed(web), changed(db)); err != nil {
		return err
	}
	p.why(`Fresh copies, equal content. An equal object or resourceVersion is not even
		compared.`)

	p.step("A label of web changes", "podmanager.Mux.Merge")
	web = changed(web, func(p *v1.Pod) { p.Labels = map[string]string{"tier": "front"} })
	if err := say(web, db); err != nil {
		return err
	}
	p.why("Spec, labels, annotations and deletion are what a pod runs by.")

	p.step("Only the status of web changes", "podmanager.Mux.Merge")
	web = changed(web, func(p *v1.Pod) { p.Status.Phase = v1.PodRunning })
	if err := say(web, db); err != nil {
		return err
	}
	p.why("Somebody wrote a status. Nothing is to be run differently; it may have to be said anew.")

	p.step("web is marked for deletion, db is gone, cache is new", "podmanager.Mux.Merge")
	web = changed(web, func(p *v1.Pod) { p.DeletionTimestamp = deletedAt(noon) })
	if err := say(web, newPod("cache")); err != nil {
		return err
	}
	p.why(`What goes comes first, so that a new pod finds the room of an old one. DELETE is
		a graceful deletion: the pod is still there, and must end. The loop handles it
		as an UPDATE.`)

	p.step("cache comes back under another UID", "podmanager.Mux.Merge")
	if err := say(web, newPod("cache", uid("uid-cache-2"))); err != nil {
		return err
	}
	p.why("A pod is its UID. A known name with a new UID is another pod.")
	return nil
}
