package main

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

func walkConditions(_ context.Context, p *page) error {
	p.intro(`Conditions say what the phase does not: whether a pod serves, and since when. A
		date changes only when the condition does.`)
	in := podstatus.Input{
		Pod: newPod("web", inits("setup"), containers("server"), func(p *v1.Pod) {
			p.Spec.Containers[0].ReadinessProbe = &v1.Probe{}
			p.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "example.com/in-balancer"}}
		}),
		Readiness: podstatus.Probing{Workers: map[string]bool{"server": true}},
		Now:       noon,
	}
	compute := func(what string) {
		res := podstatus.Compute(in)
		t := &table{}
		for _, c := range res.Status.Conditions {
			t.row(c.Type, c.Status, clock(c.LastTransitionTime.Time), c.Reason)
		}
		p.in("%s, at %s", what, clock(in.Now))
		p.out("%s", t)
		in.Previous = &res.Status
		in.Now = in.Now.Add(10 * time.Second)
	}

	p.step("The init container runs", "podstatus.Compute")
	in.Observed = seen("setup:running")
	compute("setup:running")

	p.step("The server runs", "podstatus.Compute")
	in.Observed = seen("server:running", "setup:exited:0")
	compute("server:running setup:exited:0")
	p.why(`It has a readiness probe and no verdict: not ready. Initialized dates from now, the
		rest from before.`)

	p.step("Its readiness probe succeeds", "podstatus.Compute")
	in.Readiness.Results = map[string]runtime.Verdict{"server-0": runtime.VerdictSuccess}
	compute("readiness success")
	p.why(`All containers are ready. The pod is not: somebody else, who is named as a gate,
		has not agreed.`)

	p.step("The gate opens", "podstatus.Compute")
	api := in.Previous.DeepCopy()
	api.Conditions = append(api.Conditions, v1.PodCondition{
		Type: "example.com/in-balancer", Status: v1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(in.Now),
	})
	in.API = api
	compute("example.com/in-balancer True in the API")
	p.why("Conditions of others are kept as they are.")
	return nil
}
