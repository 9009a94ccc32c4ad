package main

import (
	"context"
	"time"

	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

func walkRejection(ctx context.Context, p *page) error {
	p.intro(`A pod that may not run here never will: its phase becomes Failed, with the
		reason for it. Whoever made it, a deployment for instance, makes another one,
		which the scheduler may send elsewhere.`)
	chain := newChain(newNode("pods", "110", "cpu", "2"))
	big := newPod("big", requests("cpu", "3"))

	p.step("The verdict", "admission.Chain.Admit")
	p.in("big: cpu 3; node: cpu 2")
	d, err := chain.Admit(ctx, big)
	if err != nil {
		return err
	}
	p.out("%s", showVerdict(d.Verdict))

	p.step("What is said of the pod", "podstatus.Reject")
	res := podstatus.Reject(podstatus.Input{Pod: big, Now: noon}, d.Reason, d.Message)
	t := &table{}
	t.row("phase", res.Status.Phase)
	t.row("reason", res.Status.Reason)
	t.row("message", res.Status.Message)
	p.out("%s", t)
	p.why("These words are the kubelet's. Dashboards, controllers and people read them.")

	p.step("Later there would be room", "podstatus.Compute")
	later := podstatus.Compute(podstatus.Input{
		Pod: big, Previous: &res.Status, Verdict: res.Verdict, Now: noon.Add(time.Hour),
	})
	p.in("an hour later, the node has 8 CPUs")
	p.out("phase %s, reason %s", later.Status.Phase, later.Status.Reason)
	p.why("A phase never leaves Failed. The loop does not ask for this pod again.")

	p.step("Why the ledger does not count it", "admission.Ledger.Has")
	p.out("big is in the ledger: %v", chain.Ledger.Has(big.UID))
	p.why(`Or it would keep out pods that fit, although it does not run
		(kubernetes/kubernetes#135296).`)
	return nil
}
