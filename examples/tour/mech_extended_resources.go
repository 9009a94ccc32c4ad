package main

import "context"

func walkExtendedResources(ctx context.Context, p *page) error {
	p.intro(`A pod may ask for a device by name, such as example.com/gpu. What a node does not
		list at all is not asked for: it may be counted by somebody else, and a static
		pod that names it may still run. What the node lists is counted like cpu and
		memory.`)
	pod := newPod("trainer", requests("cpu", "1", "example.com/gpu", "2"))

	p.step("The node does not know the device", "admission.NodeFit.Admit")
	p.in("trainer: cpu 1, example.com/gpu 2; node: cpu 2")
	d, err := newChain(newNode("pods", "110", "cpu", "2")).Check(ctx, pod)
	if err != nil {
		return err
	}
	p.out("%s", showVerdict(d.Verdict))

	p.step("It has one", "admission.NodeFit.Admit")
	p.in("trainer: cpu 1, example.com/gpu 2; node: cpu 2, example.com/gpu 1")
	if d, err = newChain(newNode("pods", "110", "cpu", "2", "example.com/gpu", "1")).Check(ctx, pod); err != nil {
		return err
	}
	p.out("%s", showVerdict(d.Verdict))

	p.step("It had some, and lost them", "admission.NodeFit.Admit")
	p.in("trainer: cpu 1, example.com/gpu 2; node: cpu 2, example.com/gpu 0")
	if d, err = newChain(newNode("pods", "110", "cpu", "2", "example.com/gpu", "0")).Check(ctx, pod); err != nil {
		return err
	}
	p.out("%s", showVerdict(d.Verdict))
	p.why("Zero is a figure, too. Only a name that is not there is passed over.")
	return nil
}
