package admissiontest_test

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
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

// ports has one port, and forgets that it is taken when the same pod asks again.
type ports struct{ free int }

func (p *ports) Allocate(context.Context, *v1.Pod) error {
	if p.free == 0 {
		return errors.New("no port is left")
	}
	p.free--
	return nil
}

func (p *ports) Free(*v1.Pod) { p.free++ }

// What is wrong with an Allocator of one's own. In a test, [admissiontest.TestAllocator]
// does the same.
func ExampleCheckAllocator() {
	pod, node := admissiontest.NewPod("p").Pod, admissiontest.NewNode("node")
	err := admissiontest.CheckAllocator(context.Background(),
		func() admission.Allocator { return &ports{free: 2} },
		admissiontest.Case{Name: "two ports", Pod: pod, Node: node, Room: 2})
	fmt.Println(err)
	// Output:
	// case "two ports": keeps: a pod that has its things is not let in again
	// 	rule: a pod that has its things is let in again, also when nothing is left, and gets nothing twice
	// release-once: after the release of a pod that has nothing there is room for 1 more of them, and should be for 0
	// 	rule: releasing a pod again, or one that has nothing, gives nothing back
	// takes-back: after a resize that another Reserver undid there is room for 0 more of them, and should be for 1
	// 	rule: more that was reserved for a pod, and not committed, is given back when it is asked for less
}
