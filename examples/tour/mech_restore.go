package main

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
)

func walkRestore(_ context.Context, p *page) error {
	p.intro(`At its start an agent may know pods from a checkpoint, before any source has
		spoken. They are handled as additions. But nothing may be taken for gone yet: a
		source counts as heard only when it has said its whole list itself.`)
	mux := podmanager.NewMux(podmanager.SourceFile, podmanager.SourceAPI)
	say := func(source string, op podmanager.Op, pods ...*v1.Pod) error {
		merged, err := mux.Merge(source, op, pods, noon)
		p.in("%s", showWord(source, op, pods...))
		p.out("%s", showMerged(merged))
		heard := &table{}
		heard.row("heard:", "file", mux.Seen(podmanager.SourceFile), "")
		heard.row("", "api", mux.Seen(podmanager.SourceAPI), "")
		heard.row("", "all", mux.AllSeen(), "")
		p.out("%s", heard)
		return err
	}
	web, db := newPod("web"), newPod("db")

	p.step("Pods out of a checkpoint", "podmanager.Mux.Merge", "podmanager.Mux.Seen", "podmanager.Mux.AllSeen")
	if err := say(podmanager.SourceAPI, podmanager.OpRestore, web, db); err != nil {
		return err
	}
	p.why("They may run. That api does not name a third pod means nothing yet.")

	p.step("The file source has no pods, and says so", "podmanager.Mux.Merge")
	if err := say(podmanager.SourceFile, podmanager.OpSet); err != nil {
		return err
	}
	p.why(`An empty list is an answer. The empty ADD tells the loop that the source is
		alive; it comes once, with the first list.`)

	p.step("The API speaks at last", "podmanager.Mux.Merge")
	if err := say(podmanager.SourceAPI, podmanager.OpSet, changed(web)); err != nil {
		return err
	}
	p.why(`web is known and unchanged. db was in the checkpoint only: now its absence
		counts.`)

	p.step("A late checkpoint", "podmanager.Mux.Merge")
	if err := say(podmanager.SourceAPI, podmanager.OpRestore, db); err != nil {
		return err
	}
	p.why("The source's own word is newer than any checkpoint.")
	return nil
}
