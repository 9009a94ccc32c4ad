package main

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
)

func walkDuplicates(_ context.Context, p *page) error {
	p.intro(`Within a source a full name (name_namespace) stands for one pod, and so does a
		UID. Over all sources a UID stands for one pod. What does not fit is refused
		with an event; the rest of the list is not harmed.`)
	mux := podmanager.NewMux(podmanager.SourceFile, podmanager.SourceHTTP)
	say := func(source string, pods ...*v1.Pod) error {
		merged, err := mux.Merge(source, podmanager.OpSet, pods, noon)
		p.in("%s", showWord(source, podmanager.OpSet, pods...))
		p.out("%s", showMerged(merged))
		return err
	}

	p.step("Two files with one name", "podmanager.Mux.Merge")
	web := newPod("web")
	if err := say(podmanager.SourceFile, web, newPod("web", uid("uid-other"))); err != nil {
		return err
	}
	p.why("The first of a list counts, as in the kubelet.")

	p.step("Another source with the same UID", "podmanager.Mux.Merge")
	twin := newPod("twin", uid(web.UID))
	if err := say(podmanager.SourceHTTP, twin); err != nil {
		return err
	}
	p.why("Two pods of one UID would share containers, volumes and status.")

	p.step("The file goes", "podmanager.Mux.Merge")
	if err := say(podmanager.SourceFile); err != nil {
		return err
	}
	p.why("The UID is free. The pod that was refused is added by itself.")
	return nil
}
