package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/eviction"
	"github.com/kubeparts/kubeparts/eviction/nodestats"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// surroundings say where the agent looks at its node. The zero value is the
// machine that it runs on; tests have one of their own.
type surroundings struct {
	proc, cgroups string        // folders; nodestats has the defaults
	interval      time.Duration // between eviction rounds; zero is the kubelet's
}

// evictor keeps the node from running short: it evicts pods of this agent, keeps
// others out meanwhile, and knows the conditions of the node.
type evictor struct {
	node    *v1.Node
	pods    *syncloop.SyncLoop
	runtime interface {
		runtime.StatsProvider
		runtime.Cleaner
	}
	events  *eventLog
	protect func(*v1.Pod) string
	// manager is nil where a node can't be measured.
	manager *eviction.Manager

	mu         sync.Mutex
	conditions []v1.NodeCondition
}

// newEvictor returns an evictor for the admission chain. It works once wire has
// told it the other parts.
func newEvictor(o options, node *v1.Node, events *eventLog) *evictor {
	e := &evictor{node: node, events: events, protect: criticalPriority}
	if o.staticPodsStay {
		e.protect = admission.WhyCritical
	}
	e.conditions, _ = eviction.NodeConditions(nil, nil, time.Now())
	return e
}

// criticalPriority says why a pod is never evicted nor kept out. To a kubelet
// all static pods are critical, and all pods of this agent are static: by that
// rule nobody would ever go, nor give way.
func criticalPriority(pod *v1.Pod) string {
	if p := pod.Spec.Priority; p != nil && *p >= admission.CriticalPriority {
		return fmt.Sprintf("critical priority %d", *p)
	}
	return ""
}

// wire makes the manager.
func (e *evictor) wire(o options, h *house) error {
	e.pods, e.runtime = h.loop, h.runtime
	policy, err := o.eviction.Policy()
	if err != nil {
		return err
	}
	log := slog.New(eventHandler{events: e.events})
	reader, err := nodestats.New(nodestats.Config{
		RootDir: o.root, NodeName: o.nodeName, ProcDir: o.around.proc, CgroupDir: o.around.cgroups, Logger: log,
	})
	if errors.Is(err, runtime.ErrNotSupported) {
		e.events.add(v1.EventTypeWarning, "agent", "NoEviction", err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	if policy.Layout, err = reader.Layout(); err != nil {
		return err
	}
	e.manager, err = eviction.NewManager(eviction.Config{
		Policy:    policy,
		Stats:     eviction.Join(reader, e.runtime),
		Pods:      e.candidates,
		Kill:      e.kill,
		CleanedUp: e.cleanedUp,
		Reclaim:   map[eviction.Reclaim]func(context.Context) error{eviction.ReclaimContainers: e.removeDead},
		Protect:   e.protect,
		Notifier:  reader.Notifier(),
		Node:      &v1.ObjectReference{Kind: "Node", Name: o.nodeName},
		Events:    e.events,
		Hooks:     eviction.Hooks{Conditions: e.tellNode},
		Logger:    log,
		Interval:  o.around.interval,
	})
	return err
}

// run goes through eviction rounds until the context ends.
func (e *evictor) run(ctx context.Context) {
	if e.manager != nil {
		_ = e.manager.Run(ctx) // the end of the context
	}
}

// handler keeps pods out while the node is under pressure.
func (e *evictor) handler() *eviction.AdmitHandler {
	return &eviction.AdmitHandler{
		Conditions: func() []v1.NodeConditionType {
			if e.manager == nil {
				return nil
			}
			return e.manager.Conditions()
		},
		Critical: e.isCritical,
	}
}

// isCritical is the one rule of eviction and preemption.
func (e *evictor) isCritical(pod *v1.Pod) bool { return e.protect(pod) != "" }

// candidates are the pods of which something may run. Those that are being
// stopped are among them: one that takes its time is hurried, rather than
// another evicted in its place.
func (e *evictor) candidates() []*v1.Pod {
	var pods []*v1.Pod
	for _, v := range e.pods.Pods() {
		if v.Pod != nil && (v.Stage == lifecycle.Sync || v.Stage == lifecycle.Terminating) {
			pods = append(pods, v.Pod)
		}
	}
	return pods
}

// kill evicts a pod. One that is gone meanwhile is no failure.
func (e *evictor) kill(ctx context.Context, victim eviction.Victim) error {
	opts := syncloop.KillOptions{Evict: true, Verdict: &podstatus.Verdict{
		Reason: eviction.Reason, Message: victim.Message, Disruption: victim.Disruption,
	}}
	if victim.Override != nil {
		opts.Grace = victim.Grace()
	}
	err := e.pods.Kill(ctx, victim.Pod.UID, opts)
	if errors.Is(err, runtime.ErrNotFound) {
		return nil
	}
	return err
}

func (e *evictor) cleanedUp(uid types.UID) bool {
	v, ok := e.pods.Pod(uid)
	return !ok || v.Stage == lifecycle.Finished
}

// removeDead removes what finished pods left: dead containers and their logs.
// An evicted pod keeps its own, for people to see why.
func (e *evictor) removeDead(ctx context.Context) error {
	var errs []error
	for _, v := range e.pods.Pods() {
		if v.Stage == lifecycle.Finished && v.Work == "" && (v.Status == nil || v.Status.Reason != eviction.Reason) {
			errs = append(errs, e.runtime.RemovePod(ctx, v.UID))
		}
	}
	return errors.Join(errs...)
}

// tellNode notes new conditions of the node.
func (e *evictor) tellNode(reported []v1.NodeConditionType) {
	e.mu.Lock()
	conditions, events := eviction.NodeConditions(reported, e.conditions, time.Now())
	e.conditions = conditions
	e.mu.Unlock()
	for _, event := range events {
		e.events.add(event.Type, "node/"+e.node.Name, event.Reason, event.Message)
	}
}

// nodeNow is the node with its conditions as they are now.
func (e *evictor) nodeNow() *v1.Node {
	node := e.node.DeepCopy()
	var reported []v1.NodeConditionType
	if e.manager != nil {
		reported = e.manager.Conditions()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	node.Status.Conditions, _ = eviction.NodeConditions(reported, e.conditions, time.Now())
	return node
}
