package admissiontest_test

import (
	"context"
	"fmt"

	"github.com/kubeparts/kubeparts/admission/admissiontest"
)

// A decision in a test of one's own, in three lines.
func ExampleNewChain() {
	node := admissiontest.NewNode("node", "cpu=2", "memory=4Gi")
	chain := admissiontest.NewChain(node, admissiontest.NewPod("web", "cpu=1500m").HostPorts(80).Pod)
	d, err := chain.Check(context.Background(), admissiontest.NewPod("job", "cpu=1").Pod)
	fmt.Println(d.Outcome, d.Reason, err)
	// Output: reject OutOfcpu <nil>
}
