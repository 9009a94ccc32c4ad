package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
	"github.com/kubeparts/kubeparts/syncloop/synclooptest"
)

// node is a whole node in memory: a runtime that behaves, and an agent on it
// that may end and be followed by another. Walks wait for what happens on it,
// never for a time.
type node struct {
	*syncloop.SyncLoop
	engine  *runtimetest.Fake
	sink    *synclooptest.Sink
	store   *synclooptest.Store
	manager *podmanager.Manager
	// rounds counts rounds of housekeeping, lists those of the runtime's pods.
	rounds, lists atomic.Int64

	updates chan podmanager.Update
	// news is rung whenever the agent did something.
	news chan struct{}
	// end ends the agent, nil when there is none.
	end func() error
}

func newFakeNode() *node {
	return &node{
		engine: runtimetest.NewFake(runtimetest.FakeConfig{}),
		sink:   &synclooptest.Sink{},
		store:  &synclooptest.Store{},
		news:   make(chan struct{}, 1),
	}
}

// start starts an agent, a new one on what the last one left. Ticks come as fast
// as they can: what they lead to does not depend on when they come.
func (n *node) start(ctx context.Context, change func(*syncloop.Config)) error {
	n.updates, n.manager = make(chan podmanager.Update), podmanager.NewManager()
	cfg := syncloop.Config{
		Updates: n.updates, Manager: n.manager, Runtime: n.engine, Sink: n.sink, Store: n.store,
		HousekeepingInterval: time.Millisecond,
		Hooks: syncloop.Hooks{
			PodWork:      func(runtime.PodRef, lifecycle.Work, time.Duration, error) { n.ring() },
			StatusSent:   func(runtime.PodRef, uint64, time.Duration, error) { n.ring() },
			PodForgotten: func(runtime.PodRef) { n.ring() },
			Relisted:     func(int, int, time.Duration, error) { n.lists.Add(1); n.ring() },
			Housekeeping: func(time.Duration) { n.rounds.Add(1); n.ring() },
		},
	}
	if change != nil {
		change(&cfg)
	}
	loop, err := syncloop.New(cfg)
	if err != nil {
		return err
	}
	n.SyncLoop = loop
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(ctx) }()
	n.end = func() error {
		cancel()
		return <-ended
	}
	return nil
}

// stop ends the agent; the pods run on.
func (n *node) stop() error {
	if n.end == nil {
		return nil
	}
	end := n.end
	n.end = nil
	return end()
}

func (n *node) ring() {
	select {
	case n.news <- struct{}{}:
	default:
	}
}

// send gives the loop an update.
func (n *node) send(ctx context.Context, source string, op podmanager.Op, pods ...*v1.Pod) error {
	select {
	case n.updates <- podmanager.Update{Source: source, Op: op, Pods: pods}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run sends a pod of the file source and waits until it runs.
func (n *node) run(ctx context.Context, pod *v1.Pod) error {
	if err := n.send(ctx, podmanager.SourceFile, podmanager.OpAdd, pod); err != nil {
		return err
	}
	return n.untilPhase(ctx, pod.UID, v1.PodRunning)
}

// until waits for something to be so.
func (n *node) until(ctx context.Context, so func() bool) error {
	for !so() {
		select {
		case <-n.news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// untilPhase waits for a pod to be said to be in a phase.
func (n *node) untilPhase(ctx context.Context, uid types.UID, phase v1.PodPhase) error {
	return n.until(ctx, func() bool { return n.sink.Status(uid).Phase == phase })
}

// untilRestarts waits for the container of a pod to run with a restart count.
func (n *node) untilRestarts(ctx context.Context, uid types.UID, count int32) error {
	return n.until(ctx, func() bool {
		for _, c := range n.sink.Status(uid).ContainerStatuses {
			if c.RestartCount == count && c.State.Running != nil {
				return true
			}
		}
		return false
	})
}

// untilRounds waits until so many more rounds of housekeeping are over.
func (n *node) untilRounds(ctx context.Context, more int64) error {
	goal := n.rounds.Load() + more
	return n.until(ctx, func() bool { return n.rounds.Load() >= goal })
}

// untilGone waits until the runtime keeps nothing of a pod and the agent has
// forgotten it.
func (n *node) untilGone(ctx context.Context, uid types.UID) error {
	return n.until(ctx, func() bool {
		_, known := n.Pod(uid)
		return !known && !strings.Contains(n.listed(ctx), string(uid))
	})
}

// listed prints what the runtime has.
func (n *node) listed(ctx context.Context) string {
	pods, err := n.engine.ListPods(ctx)
	if err != nil {
		return err.Error()
	}
	if len(pods) == 0 {
		return "no pods"
	}
	t := &table{}
	for _, listed := range pods {
		status, err := n.engine.PodStatus(ctx, listed.UID)
		if err != nil {
			return err.Error()
		}
		for _, c := range status.Containers {
			t.row(listed.Name, c.ID, c.State, fmt.Sprintf("restarts %d", c.RestartCount))
		}
	}
	return t.String()
}
