package main

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/podmanagertest"
)

func walkSilentSource(ctx context.Context, p *page) error {
	p.intro(`Pods come from several sources: files, a URL, the API. Each is independent of the
		others, and what one said last stays until it says something else. Silence is no
		answer, and neither is an error.`)
	file, url := podmanagertest.NewSource(), podmanagertest.NewSource()
	problems := make(chan podmanager.Problem, 1)
	config, err := podmanager.NewPodConfig(podmanager.Config{
		Sources:   map[string]podmanager.PodSource{podmanager.SourceFile: file, podmanager.SourceHTTP: url},
		OnProblem: func(p podmanager.Problem) { problems <- p },
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- config.Run(ctx) }()
	say := func(source *podmanagertest.Source, name string, pods ...*v1.Pod) {
		p.in("%s", showWord(name, podmanager.OpSet, pods...))
		source.Set(pods...)
		u := <-config.Updates()
		p.out("%s", showWord(u.Source, u.Op, u.Pods...))
	}

	p.step("Two sources speak", "podmanager.NewPodConfig", "podmanager.PodConfig.Updates")
	say(file, podmanager.SourceFile, newPod("web"))
	say(url, podmanager.SourceHTTP, newPod("job"))
	p.why("PodConfig runs the sources and drives a Mux, which makes changes of their lists.")

	p.step("The URL does not answer any more", "podmanager.Config", "podmanager.PodConfig.Status")
	p.in("http: connection refused")
	url.Fail(errors.New("connection refused"))
	select {
	case <-problems:
	case <-ctx.Done():
		return ctx.Err()
	}
	p.out("%s", showSources(config))
	p.why(`A server that is down wants no pod stopped. The kubelet does the same here, but
		takes a folder that is missing and a body that is empty for an empty list.`)

	p.step("The file source goes on meanwhile", "podmanager.PodConfig.Updates")
	say(file, podmanager.SourceFile, newPod("web"), newPod("db"))

	p.step("The URL answers: no pods", "podmanager.PodConfig.Updates")
	url.Fail(nil)
	say(url, podmanager.SourceHTTP)
	p.out("%s", showSources(config))
	p.why("Now it is an answer.")
	cancel()
	return <-ended
}

func showSources(c *podmanager.PodConfig) string {
	t := &table{}
	t.row("source", "pods", "problem")
	for _, s := range c.Status() {
		problem := "none"
		if s.Err != nil {
			problem = fmt.Sprint(s.Err)
		}
		t.row(s.Name, s.Pods, problem)
	}
	return t.String()
}
