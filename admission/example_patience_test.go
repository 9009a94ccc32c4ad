package admission_test

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
)

// An agent whose node comes over a network judges many pods in turn: the first one
// waits for a node that gives no answer, up to ten seconds, the others do not.
func ExamplePatience() {
	away := errors.New("connection refused")
	chain := &admission.Chain{
		Ledger: admission.NewLedger(),
		Nodes: admission.NodeFunc(func(context.Context, bool) (*v1.Node, error) {
			return nil, away
		}),
		Checks:   admission.KubeletChecks(admission.Kubelet{}),
		Patience: &admission.Patience{},
	}
	for _, name := range []string{"web", "job"} {
		d, err := chain.Admit(context.Background(), newPod(name, nil))
		fmt.Println(name+":", d.Outcome, d.Reason, err)
	}
	// For the health of the agent. This node refused at once, which is an answer.
	for _, s := range chain.Silent() {
		fmt.Println(s.Name, "gives no answer, and is asked again at", s.Until)
	}
	// Word that the node is back: it is asked for the next pod.
	chain.Patience.Forget()
	// Output:
	// web: retry InvalidNodeInfo <nil>
	// job: retry InvalidNodeInfo <nil>
}
