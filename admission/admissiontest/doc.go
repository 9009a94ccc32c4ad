// Package admissiontest helps to test decisions about admission: short builders
// for tables of pods and nodes, and suites of rules for anyone's
// [admission.AdmitHandler], [admission.Reserver] and [admission.Allocator].
//
//	chain := admissiontest.NewChain(admissiontest.NewNode("node", "cpu=2", "memory=4Gi"),
//		admissiontest.NewPod("web", "cpu=1500m").HostPorts(80).Pod)
//	d, err := chain.Check(ctx, admissiontest.NewPod("job", "cpu=1").Pod)
//
//	admissiontest.TestHandler(t, myHandler, admissiontest.Cases()...)
//	admissiontest.TestAllocator(t, newDevices, admissiontest.Case{
//		Pod: admissiontest.NewPod("p", "example.com/gpu=1").Pod, Node: node, Room: 4})
package admissiontest
