package admission_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
)

// What if? A copy of the chain enters what it admits in a fork of its ledger, and the
// node knows nothing of it.
func ExampleChain_WhatIf() {
	node := newNode(resources("pods", "110", "cpu", "2"))
	chain := &admission.Chain{
		Ledger: admission.NewLedger(),
		Nodes:  admission.FixedNode(node),
		Checks: []admission.Check{{Name: "NodeFit", Handler: admission.NodeFit{}}},
	}
	_ = chain.Enter(newPod("old", resources("cpu", "1500m")))

	what := chain.WhatIf()
	what.Ledger.Remove("old")
	for _, pod := range []*v1.Pod{newPod("a", resources("cpu", "1")), newPod("b", resources("cpu", "1")), newPod("c", resources("cpu", "1"))} {
		d, err := what.Admit(context.Background(), pod)
		fmt.Println(pod.Name, d.Outcome, err)
	}
	fmt.Println("really there:", chain.Ledger.Pods())
	// Output:
	// a admit <nil>
	// b admit <nil>
	// c reject <nil>
	// really there: 1
}
