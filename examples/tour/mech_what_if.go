package main

import (
	"context"
)

func walkWhatIf(ctx context.Context, p *page) error {
	p.intro(`"Would it fit if that one were gone?" A fork of the ledger answers this: what
		happens in it stays there. It costs the same with ten pods as with a hundred
		thousand, for nothing is copied.`)
	chain := newChain(newNode("pods", "110", "cpu", "4"))
	for _, pod := range []string{"a", "b", "c"} {
		if _, err := chain.Admit(ctx, newPod(pod, requests("cpu", "1"))); err != nil {
			return err
		}
	}
	big := newPod("big", requests("cpu", "2"))

	p.step("Without effect, as things are", "admission.Chain.Check")
	d, err := chain.Check(ctx, big)
	if err != nil {
		return err
	}
	p.in("big: cpu 2; node: cpu 4; admitted: a, b, c with cpu 1 each")
	p.out("%s", showVerdict(d.Verdict))
	p.why("Check is the pure part of Admit: it enters nothing.")

	p.step("What if a were gone?", "admission.Chain.WhatIf", "admission.Ledger.Fork", "admission.Ledger.Remove", "admission.Chain.Check")
	whatIf := chain.WhatIf()
	fork := whatIf.Ledger
	fork.Remove("uid-a")
	if d, err = whatIf.Check(ctx, big); err != nil {
		return err
	}
	p.in("big, in a fork without a")
	p.out("%s", showVerdict(d.Verdict))
	t := &table{}
	t.row("fork", showLedger(fork))
	t.row("ledger", showLedger(chain.Ledger))
	p.out("%s", t)
	p.why("A chain is plain data: a copy with a fork of the ledger is another question, and reserves nothing.")

	p.step("Take it over, or drop it", "admission.Ledger.Add", "admission.Ledger.Commit")
	if err := fork.Add(big); err != nil {
		return err
	}
	fork.Commit()
	p.in("big is entered in the fork, and the fork is committed")
	p.out("ledger: %s", showLedger(chain.Ledger))
	p.why("To drop a fork is to forget it.")
	return nil
}
