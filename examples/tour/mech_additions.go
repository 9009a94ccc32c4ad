package main

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/syncloop"
)

func walkAdditions(ctx context.Context, p *page) (err error) {
	p.intro(`When many pods come at once, as after a restart, the oldest ask first. Each is
		stored before it is judged: what the pod manager does not have is nobody's pod.
		This is a whole node, with the default handler.`)
	created := func(hour int) func(*v1.Pod) {
		return func(p *v1.Pod) {
			p.CreationTimestamp = metav1.NewTime(time.Date(2030, time.January, 2, hour, 0, 0, 0, time.UTC))
		}
	}
	young := newPod("young", requests("cpu", "2"), created(11))
	old := newPod("old", requests("cpu", "2"), created(9))
	done := newPod("done", requests("cpu", "2"), created(8), func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded })
	fixed := newPod("fixed", requests("cpu", "1"), static)

	asked := &table{}
	asked.row("asked", "stored", "verdict")
	n := newFakeNode()
	err = n.start(ctx, func(c *syncloop.Config) {
		c.Admission = newChain(newNode("pods", "110", "cpu", "3"))
		c.Hooks.PodAdmitted = func(pod *v1.Pod, v admission.Verdict, _ time.Duration) {
			asked.row(pod.Name, n.manager.Pod(pod.UID) != nil, showVerdict(v))
		}
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.stop()) }()

	p.step("Four pods in one ADD", "syncloop.SyncLoop.HandlePodAdditions", "podmanager.Manager.Put", "admission.Chain.Admit")
	all := []*v1.Pod{young, old, done, fixed}
	in := &table{}
	in.row("node", "", "", "cpu 3")
	in.row("young", "created 11:00", "", "cpu 2")
	in.row("old", "created 09:00", "", "cpu 2")
	in.row("done", "created 08:00", "Succeeded", "cpu 2")
	in.row("fixed", "static", "", "cpu 1")
	p.in("%s", in)
	if err := n.send(ctx, podmanager.SourceAPI, podmanager.OpAdd, all...); err != nil {
		return err
	}
	for _, pod := range all {
		want := v1.PodRunning
		switch pod {
		case young:
			want = v1.PodFailed
		case done:
			want = v1.PodSucceeded
		}
		if err := n.untilPhase(ctx, pod.UID, want); err != nil {
			return err
		}
	}
	p.out("%s", asked)
	p.why(`A static pod has no time of creation, so it goes first. done has come to its end
		and takes nothing: nobody asks for it.`)

	p.step("What is said of them", "syncloop.StatusSink")
	t := &table{}
	for _, pod := range all {
		status := n.sink.Status(pod.UID)
		t.row(pod.Name, showPhase(&status))
	}
	p.out("%s", t)
	return nil
}
