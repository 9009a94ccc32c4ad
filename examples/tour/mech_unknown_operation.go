package main

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/syncloop"
)

func walkUnknownOperation(ctx context.Context, p *page) error {
	p.intro(`SET is a word of a source to the Mux: this is my whole list. A loop that gets it
		can't tell what changed. Neither can it with a word that nobody knows. Both are
		reported, and nothing else happens: a guess could stop every pod.`)

	p.step("They reach the loop", "syncloop.Step")
	f := newFive()
	for _, op := range []podmanager.Op{podmanager.OpSet, "FROB"} {
		f.config <- podmanager.Update{Source: podmanager.SourceAPI, Op: op, Pods: []*v1.Pod{newPod("web")}}
		p.in("%s", showWord(podmanager.SourceAPI, op, newPod("web")))
		again := syncloop.Step(ctx, f.channels(), naming(func(call string) { p.out("%s", call) }), nil)
		p.out("the loop goes on: %v", again)
	}
	p.why("The default handler logs it and calls Hooks.UnexpectedUpdate.")

	p.step("They reach the Mux", "podmanager.Mux.Merge")
	mux := podmanager.NewMux(podmanager.SourceAPI)
	for _, word := range []struct {
		source string
		op     podmanager.Op
	}{{podmanager.SourceAPI, "FROB"}, {"nobody", podmanager.OpSet}} {
		merged, err := mux.Merge(word.source, word.op, []*v1.Pod{newPod("web")}, noon)
		if err == nil {
			return errors.New("the Mux took a word that it can't know")
		}
		p.in("%s", showWord(word.source, word.op, newPod("web")))
		p.out("%s; error: %v", showMerged(merged), err)
	}
	p.out("pods of api: %d, heard: %v", mux.Len(podmanager.SourceAPI), mux.Seen(podmanager.SourceAPI))
	return nil
}
