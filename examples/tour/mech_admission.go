package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
)

// newChain is a chain that judges by room and host ports.
func newChain(node *v1.Node) *admission.Chain {
	return &admission.Chain{
		Ledger: admission.NewLedger(),
		Nodes:  admission.FixedNode(node),
		Checks: []admission.Check{
			{Name: "NodeFit", Handler: admission.NodeFit{}},
			{Name: "NodePorts", Handler: admission.NodePorts{}},
		},
	}
}

func hostPort(port int32) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: port, HostPort: port, Protocol: v1.ProtocolTCP}}
	}
}

func walkAdmission(ctx context.Context, p *page) error {
	p.intro(`The scheduler has chosen this node, but what it knew may be out of date: other
		pods came, the node changed, and static pods never met a scheduler. So the node
		checks again. A chain asks its checks in order; the ledger knows what the
		admitted pods take.`)
	chain := newChain(newNode("pods", "110", "cpu", "2", "memory", "4Gi"))

	p.step("There is room", "admission.Chain.Admit")
	p.in("web: cpu 1500m, host port 80; node: cpu 2, memory 4Gi, pods 110")
	d, err := chain.Admit(ctx, newPod("web", requests("cpu", "1500m"), hostPort(80)))
	if err != nil {
		return err
	}
	p.out("%s", showDecision(chain, d))
	p.out("ledger: %s", showLedger(chain.Ledger))
	p.why("All checks admit, so the pod is entered in the ledger.")

	p.step("Two checks refuse", "admission.Chain.Admit")
	p.in("late: cpu 1, memory 8Gi, host port 80")
	late := newPod("late", requests("cpu", "1", "memory", "8Gi"), hostPort(80))
	if d, err = chain.Admit(ctx, late); err != nil {
		return err
	}
	p.out("%s", showDecision(chain, d))
	p.out("ledger: %s", showLedger(chain.Ledger))
	p.why(`The first refusal decides, in the kubelet's order. The other checks are asked all
		the same, so that a person sees everything that stands in the way. A pod that is
		refused takes nothing.`)

	p.step("All that the node is short of", "admission.Shortages")
	node, err := chain.Nodes.Node(ctx, false)
	if err != nil {
		return err
	}
	t := &table{}
	t.row("resource", "requested", "used", "capacity")
	for _, s := range admission.Shortages(late, node.Status.Allocatable, chain.Ledger) {
		t.row(s.Resource, s.Requested, s.Used, s.Capacity)
	}
	p.in("late: cpu 1, memory 8Gi")
	p.out("%s", t)
	p.why("Reason and message name the first; a scheduler or an autoscaler may want them all.")
	return nil
}

// showDecision lists all checks of a chain, with what those said that refused; a
// node that can't be read stands for the checks that need it.
func showDecision(chain *admission.Chain, d admission.Decision) string {
	t := &table{}
	if d.Reason == admission.ReasonInvalidNodeInfo {
		t.row(d.Failures[0].Name, showVerdict(d.Verdict))
	} else {
		showChecks(t, chain, d)
	}
	t.row("verdict", string(d.Outcome)+" "+d.Reason)
	return t.String()
}

func showChecks(t *table, chain *admission.Chain, d admission.Decision) {
	for _, c := range chain.Checks {
		v := admission.Admitted()
		for _, f := range d.Failures {
			if f.Name == c.Name {
				v = f.Verdict
			}
		}
		t.row(c.Name, showVerdict(v))
	}
}

func showVerdict(v admission.Verdict) string {
	text := string(v.Outcome)
	if v.Reason != "" {
		text += " " + v.Reason + ": " + v.Message
	}
	return text
}

// showLedger prints what the pods in a ledger take.
func showLedger(l *admission.Ledger) string {
	used := l.Used()
	return fmt.Sprintf("pods %d, cpu %dm, memory %d bytes", l.Pods(), used.MilliCPU, used.Memory)
}
