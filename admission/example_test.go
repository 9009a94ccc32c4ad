package admission_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
)

// One decision, and what the chain has to say about it.
func ExampleChain_Admit() {
	node := newNode(resources("pods", "110", "cpu", "2", "memory", "4Gi"))
	chain := &admission.Chain{
		Ledger: admission.NewLedger(),
		Nodes:  admission.FixedNode(node),
		Checks: admission.KubeletChecks(admission.Kubelet{}),
	}
	for _, pod := range []*v1.Pod{
		newPod("web", resources("cpu", "1500m"), 80),
		newPod("job", resources("cpu", "1")),
		newPod("web-2", nil, 80),
	} {
		d, err := chain.Admit(context.Background(), pod)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(pod.Name+":", d.Outcome)
		if d.Outcome != admission.Admit {
			fmt.Println("  "+d.Reason+":", d.Message)
		}
	}
	// Output:
	// web: admit
	// job: reject
	//   OutOfcpu: Node didn't have enough resource: cpu, requested: 1000, used: 1500, capacity: 2000
	// web-2: reject
	//   NodePorts: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports
}

// A fork answers "what if" and is thrown away.
func ExampleLedger_Fork() {
	ledger := admission.NewLedger()
	_ = ledger.Add(newPod("a", resources("cpu", "1")))

	what := ledger.Fork()
	what.Remove("a")
	_ = what.Add(newPod("b", resources("cpu", "3")))

	fmt.Println(what.Used().MilliCPU, ledger.Used().MilliCPU)
	// Output: 3000 1000
}

// A check of one's own is a function.
func ExampleAdmitFunc() {
	check := admission.AdmitFunc(func(_ context.Context, req admission.Request) (admission.Verdict, error) {
		if req.Pod.Spec.HostNetwork {
			return admission.Rejected("HostNetworkForbidden", "this node gives no pod its own network"), nil
		}
		return admission.Admitted(), nil
	})
	pod := newPod("web", nil)
	pod.Spec.HostNetwork = true
	v, err := check.Admit(context.Background(), admission.Request{Pod: pod, Ledger: admission.NewLedger()})
	fmt.Println(v.Outcome, v.Reason, err)
	// Output: reject HostNetworkForbidden <nil>
}

// A critical pod that lacks nothing but room takes the place of others. The plan
// can be shown before anything happens.
func ExampleChain_preempt() {
	chain := &admission.Chain{
		Ledger:  admission.NewLedger(),
		Nodes:   admission.FixedNode(newNode(resources("pods", "110", "cpu", "2"))),
		Checks:  admission.KubeletChecks(admission.Kubelet{}),
		Preempt: true,
	}
	_ = chain.Enter(newPod("web", resources("cpu", "1500m")))
	_ = chain.Enter(newPod("job", resources("cpu", "500m")))

	dns := newPod("dns", resources("cpu", "200m"))
	dns.Annotations = map[string]string{"kubernetes.io/config.source": "file"} // a static pod is critical
	d, err := chain.Check(context.Background(), dns)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Outcome, d.Reason)
	for _, v := range d.Plan.Victims {
		fmt.Println("would stop", v.Pod.Name, v.QOS)
	}
	// Output:
	// retry Preempting
	// would stop job Burstable
}

// The rule of the kubelets up to 1.15: an annotation, in kube-system only.
func ExampleIsLegacyCritical() {
	pod := newPod("dns", nil)
	pod.Namespace = "kube-system"
	pod.Annotations = map[string]string{"scheduler.alpha.kubernetes.io/critical-pod": ""}

	today := admission.Chain{}
	then := admission.Chain{Critical: admission.IsLegacyCritical}
	fmt.Println(today.Critical == nil, admission.IsCritical(pod), then.Critical(pod))
	// Output: true false true
}

// What is worked out of a pod once answers for any number of nodes.
func ExampleChain_CheckPrepared() {
	pod := admission.Prepare(newPod("web", resources("cpu", "3")))
	for _, cpu := range []string{"2", "4"} {
		chain := admission.Chain{
			Ledger: admission.NewLedger(),
			Nodes:  admission.FixedNode(newNode(resources("pods", "110", "cpu", cpu))),
			Checks: admission.NodeChecks(admission.NodeFit{}),
		}
		d, err := chain.CheckPrepared(context.Background(), pod)
		fmt.Println(cpu, d.Outcome, d.Reason, err)
	}
	// Output:
	// 2 reject OutOfcpu <nil>
	// 4 admit  <nil>
}
