package main

import (
	"context"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/syncloop"
)

func walkReadyChannels(ctx context.Context, p *page) error {
	p.intro(`When several channels are ready, Go takes any of them. So does the kubelet, and so
		does Step: nobody may count on an order, or on one channel going before another.`)

	p.step("All five are ready, five steps", "syncloop.Step")
	f := newFive()
	f.config <- podmanager.Update{Source: podmanager.SourceAPI, Op: podmanager.OpAdd, Pods: []*v1.Pod{newPod("web")}}
	f.events <- syncloop.RuntimeEvent{UID: "uid-web"}
	f.due <- noon
	f.housekeeping <- noon
	f.probes <- struct{}{}
	var calls []string
	handler := naming(func(call string) {
		method, _, _ := strings.Cut(call, "(")
		calls = append(calls, method)
	})
	for range 5 {
		syncloop.Step(ctx, f.channels(), handler, nil)
	}
	slices.Sort(calls)
	p.in("one event on each channel")
	p.out("%s", joined(calls))
	p.why(`Each event was dealt with once. They are sorted here, for their order differs from
		run to run.`)

	p.intro(`So an event about web may come before the ADD of web, or after its REMOVE. Nothing
		is lost by that, because an event carries no state: it says which pod to look at,
		and what is found then counts.`)
	return nil
}
