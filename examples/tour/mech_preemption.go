package main

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
)

func priority(n int32) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.Priority = &n }
}

// limits gives the first container limits as large as its requests.
func limits(p *v1.Pod) {
	r := &p.Spec.Containers[0].Resources
	r.Limits = r.Requests
}

func walkPreemption(ctx context.Context, p *page) error {
	p.intro(`A critical pod that lacks nothing but room takes the place of others. First it is
		only planned who has to go; then they stop, while the critical pod waits.`)
	chain := newChain(newNode("pods", "110", "cpu", "3", "memory", "4Gi"))
	chain.Preempt = true
	for _, pod := range []*v1.Pod{
		newPod("paid", requests("cpu", "1", "memory", "1Gi"), limits),
		newPod("small", requests("cpu", "500m")),
		newPod("large", requests("cpu", "1500m")),
		newPod("idle"),
	} {
		if _, err := chain.Admit(ctx, pod); err != nil {
			return err
		}
	}
	critical := newPod("critical", static, requests("cpu", "1"))
	ask := func() error {
		d, err := chain.Admit(ctx, critical)
		if err != nil {
			return err
		}
		t := &table{}
		t.row("verdict", showVerdict(d.Verdict))
		if d.Plan != nil {
			for _, n := range d.Plan.Needs {
				t.row("must become free", n.Resource, n.Quantity)
			}
			for _, v := range d.Plan.Victims {
				t.row("has to go", v.Pod.Name, string(v.QOS))
			}
		}
		t.row("ledger", showLedger(chain.Ledger))
		p.out("%s", t)
		return nil
	}

	p.step("Who has to go?", "admission.Chain.Admit", "admission.Plan")
	p.in("critical: static, cpu 1; node: cpu 3, full with paid 1 (Guaranteed), small 500m, large 1500m, idle (BestEffort)")
	if err := ask(); err != nil {
		return err
	}
	p.why(`As few as it can be, of the lowest class that suffices: idle has nothing to give,
		small not enough, and paid is Guaranteed. The critical pod is entered already, so
		that nobody takes the room that large leaves.`)

	p.step("It is asked again while large stops", "admission.Chain.Admit")
	p.in("critical; large is leaving")
	if err := ask(); err != nil {
		return err
	}
	p.why("Nobody else is stopped. The loop meanwhile serves all other pods.")

	p.step("large does not stop", "admission.Ledger.SetStuck", "admission.Chain.Admit")
	p.in("critical; large was given one and a half times its grace")
	chain.Ledger.SetStuck("uid-large")
	if err := ask(); err != nil {
		return err
	}
	p.why(`Its room is not counted on any more, and another plan is made. The kubelet would
		start the critical pod beside it, on a node that is full.`)

	p.step("They have stopped", "admission.Chain.Remove", "admission.Chain.Admit")
	p.in("critical; large and paid are gone")
	chain.Remove("uid-large")
	chain.Remove("uid-paid")
	if err := ask(); err != nil {
		return err
	}
	p.why("It is judged once more, and let in. What its victims say: Failed, Preempting.")

	p.step("Who gives way to whom?", "admission.Preemptable")
	t := &table{}
	t.row("comes", "runs", "gives way")
	for _, c := range []struct {
		by, other string
		a, b      *v1.Pod
	}{
		{"a static pod", "any other", critical, newPod("web", priority(1000))},
		{"a static pod", "a static pod", critical, newPod("other", static)},
		{"priority 2000001000", "priority 2000000000", newPod("n", priority(2000001000)), newPod("c", priority(2000000000))},
		{"priority 1000", "priority 1", newPod("high", priority(1000)), newPod("low", priority(1))},
	} {
		t.row(c.by, c.other, admission.Preemptable(c.a, c.b))
	}
	p.out("%s", t)
	p.why(`Priority protects; it does not choose among those that are not protected. Nobody
		asks for the last line, for only critical pods preempt.`)
	return nil
}
