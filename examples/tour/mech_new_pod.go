package main

import (
	"context"
	"fmt"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/manifest"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

func walkNewPod(ctx context.Context, p *page) error {
	p.intro(`A file appears, and some steps later its containers run. Each step is a function
		of values; this walk calls one after the other by hand and hands on what comes
		out. What calls them in a real agent is the loop, syncloop.SyncLoop.`)

	p.step("The manifest becomes a pod", "manifest.Decoder.Decode")
	decoder := manifest.Decoder{Source: podmanager.SourceFile, NodeName: "node-a"}
	decoded := decoder.Decode([]byte(webManifest), "/etc/manifests/web.yaml")
	if len(decoded.Errors) > 0 {
		return decoded.Errors[0]
	}
	p.in("%s", webManifest)
	p.out("pod %s of %s, uid %s", decoded.Pods[0].Name, decoded.Pods[0].Namespace, decoded.Pods[0].UID)

	p.step("The source's list becomes a change", "podmanager.Mux.Merge")
	mux := podmanager.NewMux(podmanager.SourceFile)
	merged, err := mux.Merge(podmanager.SourceFile, podmanager.OpSet, decoded.Pods, noon)
	if err != nil {
		return err
	}
	p.in("%s", showWord(podmanager.SourceFile, podmanager.OpSet, decoded.Pods...))
	p.out("%s", showMerged(merged))
	pod := merged.Updates[0].Pods[0]

	p.step("The loop takes one event", "syncloop.Step")
	f := newFive()
	f.config <- merged.Updates[0]
	syncloop.Step(ctx, f.channels(), naming(func(call string) { p.out("%s", call) }), nil)
	p.why("All that follows is what the default handler does with an addition.")

	p.step("The pod is stored", "podmanager.Manager.Put")
	manager := podmanager.NewManager()
	manager.Put(pod)
	p.out("pods that should run: %d", manager.Len())
	p.why("Before admission: what is not stored is wanted by nobody, and would be cleaned up.")

	p.step("May it run here?", "admission.Chain.Admit")
	chain := newChain(newNode("pods", "110", "cpu", "2"))
	decision, err := chain.Admit(ctx, pod)
	if err != nil {
		return err
	}
	p.in("cpu 500m wanted; node: cpu 2")
	p.out("%s\nledger: %s", showDecision(chain, decision), showLedger(chain.Ledger))

	p.step("Its life begins", "lifecycle.Rules.Step")
	l := newLife(p)
	l.UID = pod.UID
	l.event("Update, create, static", lifecycle.Update{Pod: pod, Create: true, Static: true})
	l.event("NameGranted", lifecycle.NameGranted{})
	p.why("No other static pod of this name is being stopped, so it gets the name. A worker is to sync it.")

	p.step("The worker plans", "runtime.Plan")
	e := newEngine(pod)
	e.pass(p)
	p.why("A runtime carries this out: podruntime over a Backend, or one of your own.")

	p.step("What is said of it", "podstatus.Compute")
	res := podstatus.Compute(podstatus.Input{Pod: pod, Observed: &e.status, RuntimeName: "process", Now: noon})
	p.in("%s", showContainers(&e.status))
	c := res.Status.ContainerStatuses[0]
	t := &table{}
	t.row("phase", res.Status.Phase)
	t.row("qosClass", res.Status.QOSClass)
	t.row("container", fmt.Sprintf("%s %s, ready %v, restarts %d", c.Name, c.ContainerID, c.Ready, c.RestartCount))
	p.out("%s", t)

	p.step("The worker comes back", "lifecycle.Rules.Step")
	l.done("Done, something was changed", lifecycle.Done{Again: true})
	p.why("A pass that changed something is followed by another.")

	p.step("The second pass", "runtime.Plan", "lifecycle.Rules.Step")
	e.pass(p)
	l.done("Done", lifecycle.Done{})
	p.out("look again at %s", clock(l.Due))
	p.why("Nothing was left to do. The pod runs, and nobody works for it any more.")
	return nil
}
