package main

import (
	"context"
	"errors"
	"time"

	"github.com/kubeparts/kubeparts/admission"
)

func walkRetry(ctx context.Context, p *page) error {
	p.intro(`The kubelet knows two outcomes: admit and reject. There is a third one here: not
		now. The pod stays Pending and is asked for again. Users of the kubelet have
		asked for it for years (kubernetes/kubernetes#128043).`)
	full := admission.AdmitFunc(func(_ context.Context, req admission.Request) (admission.Verdict, error) {
		if req.Ledger.Pods() >= 1 {
			return admission.RetryLater("NodeBusy", "another pod has not ended", 30*time.Second), nil
		}
		return admission.Admitted(), nil
	})
	chain := &admission.Chain{
		Ledger: admission.NewLedger(),
		Checks: []admission.Check{{Name: "OneAtATime", Handler: full}},
	}
	old, next := newPod("old"), newPod("next")
	ask := func(name string) error {
		pod := old
		if name == next.Name {
			pod = next
		}
		d, err := chain.Admit(ctx, pod)
		p.in("%s", name)
		p.out("%s", showVerdict(d.Verdict))
		if d.RetryAfter > 0 {
			p.out("ask again after %s", d.RetryAfter)
		}
		p.out("ledger: %d pods", chain.Ledger.Pods())
		return err
	}

	p.step("A check of our own: one pod at a time", "admission.AdmitFunc.Admit", "admission.Chain.Admit")
	if err := ask("old"); err != nil {
		return err
	}

	p.step("Another pod comes", "admission.RetryLater", "admission.Chain.Admit")
	if err := ask("next"); err != nil {
		return err
	}
	p.why(`Nothing is entered. The loop shows the pod as Pending, with the condition
		kubeparts.dev/Admitted False and this reason.`)

	p.step("The old pod has stopped", "admission.Ledger.Remove", "admission.Chain.Admit")
	chain.Ledger.Remove(old.UID)
	if err := ask("next"); err != nil {
		return err
	}
	p.why("The loop asks again when its time has come, and earlier when room becomes free.")

	p.step("A check that can't judge", "admission.Chain.Check")
	chain.Checks = append(chain.Checks, admission.Check{Name: "Quota", Handler: admission.AdmitFunc(
		func(context.Context, admission.Request) (admission.Verdict, error) {
			return admission.Verdict{}, errors.New("the quota server does not answer")
		})})
	chain.Ledger.Remove(next.UID)
	d, err := chain.Check(ctx, newPod("third"))
	if err != nil {
		return err
	}
	p.in("third; the check Quota returns a Go error")
	p.out("%s", showDecision(chain, d))
	p.why("An error is no rejection. Nobody found anything wrong with the pod.")
	return nil
}
