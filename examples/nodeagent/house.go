package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/checkpoint"
	"github.com/kubeparts/kubeparts/podmanager/manifest"
	"github.com/kubeparts/kubeparts/podmanager/source"
	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/runtime/podruntime"
	"github.com/kubeparts/kubeparts/runtime/process"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/diskstore"
)

// house is the parts of kubeparts, wired together:
//
//	sources ─▶ PodConfig ─▶ SyncLoop ─▶ podruntime ─▶ process
//	               │            │           └◀── Cache ◀── ConfigMaps, Secrets
//	               │            ├─▶ admission.Chain ◀─┐ keeps pods out
//	               │            ├◀─ Kill ── eviction.Manager ◀─ nodestats
//	               │            ├─▶ probe.Manager
//	               └────────────┴─▶ checkpoints on disk
type house struct {
	root    string
	backend *process.Backend
	disk    *checkpoint.Folder
	pods    *podmanager.PodConfig
	objects *objects // nil: pods may not refer to any
	runtime *podruntime.Runtime
	probes  *probe.Manager
	loop    *syncloop.SyncLoop
	evictor *evictor
	sink    *statusFile   // nil: nobody wants to know
	done    chan struct{} // closed when run has returned
}

// build wires the parts. It starts nothing, but takes hold of the root.
func build(o options, node *v1.Node, events *eventLog) (*house, error) {
	backend, err := process.New(process.Config{Root: filepath.Join(o.root, "process"), NodeIP: o.nodeIP})
	if errors.Is(err, process.ErrLocked) {
		return nil, fmt.Errorf("%w; this one needs a --root of its own", err)
	}
	if err != nil {
		return nil, fmt.Errorf("root %s: %w", o.root, err)
	}
	h := &house{root: o.root, backend: backend, done: make(chan struct{})}
	if err := h.wire(o, node, events); err != nil {
		return nil, errors.Join(err, backend.Close())
	}
	for _, problem := range append(backend.Problems(), h.disk.Problems()...) {
		events.add(v1.EventTypeWarning, "agent", "StateDamaged", problem.Error())
	}
	return h, nil
}

func (h *house) wire(o options, node *v1.Node, events *eventLog) error {
	o, err := o.withSamples()
	if err != nil {
		return err
	}
	sources, err := sourcesOf(o)
	if err != nil {
		return err
	}
	if h.objects, err = newObjects(o.objects, events); err != nil {
		return err
	}
	h.disk, err = checkpoint.Open(checkpoint.Config{Dir: checkpointsOf(o.root), Policy: o.checkpoint})
	if err != nil {
		return err
	}
	h.pods, err = podmanager.NewPodConfig(podmanager.Config{
		Sources:     h.disk.Sources(sources),
		Checkpoints: h.disk,
		Events:      events,
		OnProblem:   func(p podmanager.Problem) { reportProblem(events, p) },
	})
	if err != nil {
		return err
	}
	h.runtime, err = podruntime.New(podruntime.Config{
		Backend:     h.backend,
		Root:        o.root,
		NodeName:    o.nodeName,
		HostIPs:     []string{o.nodeIP},
		Allocatable: node.Status.Allocatable,
		Objects:     h.objects.orNone(),
		Events:      events,
	})
	if err != nil {
		return err
	}
	h.evictor = newEvictor(o, node, events)
	if h.probes, err = newProbes(h.runtime, events); err != nil {
		return err
	}
	var sink syncloop.StatusSink
	if o.statuses != "" {
		if h.sink, err = openStatusFile(o.statuses); err != nil {
			return err
		}
		sink = h.sink
	}
	h.loop, err = syncloop.New(syncloop.Config{
		PodConfig:   h.pods,
		Runtime:     h.runtime,
		RuntimeName: process.Name,
		Store:       diskstore.New(h.disk),
		Admission:   newChain(node, h.evictor),
		Probes:      h.probes,
		Sink:        sink,
		Events:      events,
		HostIPs:     []string{o.nodeIP},
		Parts:       append([]syncloop.Part{h.evictor.part()}, h.objects.parts()...),
		Hooks:       admissionEvents(events),
	})
	if err != nil {
		return err
	}
	return h.evictor.wire(o, h)
}

// newChain judges pods for a node whose pods share its network and are plain
// processes.
func newChain(node *v1.Node, evictor *evictor) *admission.Chain {
	self := process.Self()
	return &admission.Chain{
		Ledger:    admission.NewLedger(),
		HostPorts: process.HostPorts,
		Nodes:     admission.FixedNode(node),
		Checks: append([]admission.Check{
			{Name: "ProcessBackend", Handler: admission.AdmitFunc(func(_ context.Context, req admission.Request) (admission.Verdict, error) {
				if errs := process.Check(req.Pod, self); len(errs) > 0 {
					return admission.Rejected(process.ReasonUnsupported, errs.ToAggregate().Error()), nil
				}
				return admission.Admitted(), nil
			})},
		}, admission.KubeletChecks(admission.Kubelet{Eviction: evictor.handler()})...),
		Preempt:  true,
		Critical: evictor.isCritical,
	}
}

// sourcesOf are the sources of pods that the flags name.
func sourcesOf(o options) (map[string]podmanager.PodSource, error) {
	decoder := manifest.Decoder{NodeName: o.nodeName, AllowObjects: o.objects != ""}
	sources := make(map[string]podmanager.PodSource)
	if o.manifests != "" {
		abs, err := filepath.Abs(o.manifests) // a pod's identity depends on its path
		if err != nil {
			return nil, fmt.Errorf("--manifests %s: %w", o.manifests, err)
		}
		sources[podmanager.SourceFile] = &source.File{Path: abs, Decoder: decoder}
	}
	if o.manifestURL != "" {
		sources[podmanager.SourceHTTP] = &source.HTTP{URL: o.manifestURL, Decoder: decoder}
	}
	return sources, nil
}

// run runs the sources, the loop, probes and eviction until the context ends.
func (h *house) run(ctx context.Context) error {
	defer close(h.done)
	ctx, cancel := context.WithCancel(ctx)
	var parts sync.WaitGroup
	defer parts.Wait()
	defer cancel()
	parts.Go(func() { h.evictor.run(ctx) })
	h.objects.run(ctx, &parts)
	parts.Go(func() { _ = h.probes.Run(ctx) }) // it fails only if it ran before
	return h.loop.Run(ctx)
}

// heard tells whether every source has said what it wants, and the loop knows the
// pods: what it was handed before it has listed the runtime it takes in later.
func (h *house) heard() bool {
	wanted := 0
	for _, s := range h.pods.Status() {
		if !s.Seen {
			return false
		}
		wanted += s.Pods
	}
	return len(podsOf(h.loop)) >= wanted
}

// close gives the root back to the next agent.
func (h *house) close() {
	_ = h.backend.Close()
	if h.sink != nil {
		_ = h.sink.f.Close()
	}
}

// cleanUp removes what this agent put into its root besides pods, and the
// folders that are empty now.
func (h *house) cleanUp() error {
	err := errors.Join(
		os.RemoveAll(filepath.Join(h.root, "samples")),
		os.RemoveAll(filepath.Join(h.root, "sample-objects")),
		os.RemoveAll(filepath.Join(h.root, "bin")),
		os.RemoveAll(checkpointsOf(h.root)),
		os.RemoveAll(socketOf(h.root)),
	)
	for _, dir := range []string{"pods", "logs"} {
		_ = os.Remove(filepath.Join(h.root, dir)) // stays if there is something in it
	}
	return err
}

// checkpointsOf is where pods are kept on disk.
func checkpointsOf(root string) string { return filepath.Join(root, "checkpoints") }

// reportProblem prints one line for each thing that is wrong with a source,
// and so one for each refused manifest, or with the checkpoints.
func reportProblem(events *eventLog, p podmanager.Problem) {
	if p.Source == "" {
		events.add(v1.EventTypeWarning, "agent", "CheckpointFailed", p.Err.Error())
		return
	}
	object := "source/" + p.Source
	if p.Warning != "" {
		events.add(v1.EventTypeWarning, object, "ManifestWarning", p.Warning)
		return
	}
	reason := "SourceFailed"
	var bad *podmanager.ManifestError
	var retired *checkpoint.RetiredError
	switch {
	case errors.As(p.Err, &bad):
		reason = "ManifestRefused"
	case errors.As(p.Err, &retired):
		reason = "SourceRetired"
	}
	events.add(v1.EventTypeWarning, object, reason, p.Err.Error())
}
