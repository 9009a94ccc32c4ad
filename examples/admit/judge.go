package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/eviction"
)

// mostCopies bounds --until-full for pods that take nothing.
const mostCopies = 100_000

// world is the node with what runs on it, and who wants to join.
type world struct {
	chain      *admission.Chain
	node       *v1.Node
	finished   int
	elsewhere  int
	candidates []*v1.Pod
}

func readWorld(o options, r *reader, warn func(string)) (*world, error) {
	node, err := r.node(o.node)
	if err != nil {
		return nil, err
	}
	w := &world{node: node, chain: newChain(node)}
	running := make(map[string]bool) // by namespace and name
	if o.pods != "" {
		pods, err := r.pods(o.pods, nil)
		if err != nil {
			return nil, err
		}
		if err := w.enter(pods, running); err != nil {
			return nil, fmt.Errorf("%s: %w", o.pods, err)
		}
	}
	for _, file := range o.candidates {
		pods, err := r.pods(file, warn)
		if err != nil {
			return nil, err
		}
		if len(pods) == 0 {
			return nil, fmt.Errorf("%s: it holds no pod", file)
		}
		w.candidates = append(w.candidates, pods...)
	}
	if o.untilFull && len(w.candidates) != 1 {
		return nil, fmt.Errorf("--until-full takes one candidate, not %d", len(w.candidates))
	}
	return w, w.compare(running, warn)
}

// enter counts the pods that run on the node.
func (w *world) enter(pods []*v1.Pod, running map[string]bool) error {
	for _, pod := range pods {
		switch {
		case admission.Finished(pod):
			w.finished++
		case pod.Spec.NodeName != "" && pod.Spec.NodeName != w.node.Name:
			w.elsewhere++
		default:
			if err := w.chain.Enter(pod); err != nil {
				return err
			}
			running[nameOf(pod)] = true
		}
	}
	return nil
}

// compare looks for candidates that are given twice, or are there already.
func (w *world) compare(running map[string]bool, warn func(string)) error {
	seen := make(map[admission.Key]bool)
	for _, pod := range w.candidates {
		key := admission.KeyOf(pod)
		if seen[key] {
			return fmt.Errorf("candidate %s (%s) is given twice", nameOf(pod), key)
		}
		seen[key] = true
		if running[nameOf(pod)] && !w.chain.Ledger.HasPod(pod) {
			warn("candidate " + nameOf(pod) + ": a pod of that name runs already, with another UID, and both count")
		}
	}
	return nil
}

func nameOf(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

// newChain is the kubelet's chain for a node as far as the node tells of it.
func newChain(node *v1.Node) *admission.Chain {
	info := node.Status.NodeInfo
	// The names are the library's own, so there is no error.
	sysctls, _ := admission.NewSysctls(admission.SafeSysctls(info.KernelVersion)...)
	k := admission.Kubelet{
		Sysctls:  sysctls,
		Eviction: eviction.NewAdmitHandler(func() []v1.NodeConditionType { return pressures(node) }),
	}
	if len(node.Status.DeclaredFeatures) > 0 {
		if f, err := admission.NewDeclaredFeatures(info.KubeletVersion, node.Status.DeclaredFeatures...); err == nil {
			k.DeclaredFeatures = f
		}
	}
	os := info.OperatingSystem
	if os == "" {
		os = "linux"
	}
	return &admission.Chain{
		Ledger:  admission.NewLedger(),
		Nodes:   admission.FixedNode(node),
		Checks:  admission.KubeletChecks(k),
		OS:      os,
		Preempt: true,
	}
}

// pressures are the conditions of the node for which its kubelet keeps pods out.
func pressures(node *v1.Node) []v1.NodeConditionType {
	var types []v1.NodeConditionType
	for _, c := range node.Status.Conditions {
		switch c.Type {
		case v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure:
			if c.Status == v1.ConditionTrue {
				types = append(types, c.Type)
			}
		}
	}
	return types
}

func (w *world) judge(ctx context.Context, o options) (*report, error) {
	rep := &report{
		Node: w.node.Name, Running: w.chain.Ledger.Pods(),
		LeftOut: leftOut{Finished: w.finished, OtherNode: w.elsewhere},
	}
	if o.untilFull {
		full, err := w.untilFull(ctx, o.explain)
		rep.UntilFull, rep.Room = full, w.room()
		return rep, err
	}
	for _, pod := range w.candidates {
		a, err := w.ask(ctx, pod, o)
		if err != nil {
			return nil, fmt.Errorf("pod %s: %w", nameOf(pod), err)
		}
		rep.Pods = append(rep.Pods, a)
	}
	rep.Room = w.room()
	return rep, nil
}

// ask judges one candidate, and has it count for the next if it is admitted.
func (w *world) ask(ctx context.Context, pod *v1.Pod, o options) (answer, error) {
	a := answer{Pod: nameOf(pod)}
	chain := *w.chain
	if o.each {
		chain.Ledger = w.chain.Ledger.Fork()
	}
	judge := chain.Admit
	if chain.Ledger.HasPod(pod) {
		// It runs, and goes on as it is if it may not have what it asks for.
		judge, chain.Preempt = chain.Resize, false
	}
	if o.explain {
		e, err := chain.Explain(ctx, pod)
		if err != nil {
			return a, err
		}
		a.Explanation = &e
	}
	d, err := judge(ctx, pod)
	if err != nil {
		return a, err
	}
	a.Verdict, a.Reason, a.Message = d.Outcome, d.Reason, d.Message
	if d.Plan != nil {
		a.admitByPlan(d.Plan, chain.Ledger)
		return a, nil
	}
	for _, f := range d.Failures {
		if o := (obstacle{f.Reason, f.Message}); o != (obstacle{d.Reason, d.Message}) {
			a.Also = append(a.Also, o)
		}
	}
	return a, nil
}

// admitByPlan has those stopped who give way. A node says retry until they have; what
// is asked here is whether the pod will run.
func (a *answer) admitByPlan(plan *admission.Plan, ledger *admission.Ledger) {
	for _, v := range plan.Victims {
		a.Victims = append(a.Victims, victim{nameOf(v.Pod), v.QOS})
		ledger.RemovePod(v.Pod)
	}
	a.Verdict, a.Message = admission.Admit, count(len(a.Victims), "pod", "pods")+" would be stopped for it"
	if a.Explanation != nil {
		a.Explanation.Outcome, a.Explanation.Message = a.Verdict, a.Message
	}
}

// untilFull enters copies of the one candidate until one does not fit. Copies
// preempt nobody.
func (w *world) untilFull(ctx context.Context, explain bool) (*fullness, error) {
	chain := *w.chain
	chain.Preempt = false
	candidate := w.candidates[0]
	f := &fullness{Pod: nameOf(candidate)}
	for f.Copies < mostCopies {
		twin := *candidate
		twin.UID = types.UID(fmt.Sprintf("copy-%d", f.Copies+1))
		d, err := chain.Admit(ctx, &twin)
		if err != nil {
			return nil, err
		}
		if d.Outcome != admission.Admit {
			f.Reason, f.Message = d.Reason, d.Message
			if explain {
				e, err := chain.Explain(ctx, &twin)
				f.Explanation = &e
				return f, err
			}
			return f, nil
		}
		f.Copies++
	}
	f.Message = "there is room for more: counting stopped here"
	return f, nil
}
