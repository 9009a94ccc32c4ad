package resize_test

import (
	"context"
	"fmt"

	"github.com/kubeparts/kubeparts/admission/admissiontest"
	"github.com/kubeparts/kubeparts/admission/resize"
)

// A pod wants more than its node has. It waits, and gets it when another one goes.
func Example() {
	ctx := context.Background()
	pod := admissiontest.NewPod("web", "cpu=1").Pod
	batch := admissiontest.NewPod("batch", "cpu=2").Pod
	chain := admissiontest.NewChain(admissiontest.NewNode("n", "cpu=4"), pod, batch)

	wants := pod.DeepCopy()
	wants.Spec.Containers[0].Resources.Requests = admissiontest.Resources("cpu=3")
	has, _ := resize.Of(pod).Apply(wants)

	var queue resize.Queue
	queue.Push(resize.PendingOf(has, wants, wants.CreationTimestamp.Time))
	try := func() {
		for p, ok := queue.Next(); ok; p, ok = queue.Next() {
			v, _ := resize.Grant(ctx, chain, resize.Support{}, has, wants)
			fmt.Println(v.Outcome, v.Message)
			if v.Outcome == resize.Deferred {
				queue.Block(p, v.Short)
			}
		}
	}
	try()
	try() // nothing became free: it is not asked again
	freed, _ := chain.Ledger.Held("batch")
	chain.Remove("batch")
	queue.Freed(freed)
	try()
	// Output:
	// Deferred Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000
	// Fits
}
