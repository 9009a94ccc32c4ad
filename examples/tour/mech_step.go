package main

import (
	"context"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/syncloop"
)

// five are the channels of a step, each with room for a few events.
type five struct {
	config       chan podmanager.Update
	events       chan syncloop.RuntimeEvent
	due          chan time.Time
	housekeeping chan time.Time
	probes       chan struct{}
}

func newFive() five {
	return five{
		make(chan podmanager.Update, 8), make(chan syncloop.RuntimeEvent, 8),
		make(chan time.Time, 8), make(chan time.Time, 8), make(chan struct{}, 8),
	}
}

func (f five) channels() syncloop.Channels {
	return syncloop.Channels{
		Config: f.config, RuntimeEvents: f.events, SyncDue: f.due, Housekeeping: f.housekeeping, Probes: f.probes,
	}
}

// naming is a handler that tells which of its methods was called, and with what.
func naming(tell func(call string)) syncloop.HandlerFuncs {
	pods := func(method string) func(string, []*v1.Pod) {
		return func(source string, pods []*v1.Pod) {
			tell(method + "(" + source + ": " + strings.Join(names(pods), ", ") + ")")
		}
	}
	return syncloop.HandlerFuncs{
		Additions:    pods("HandlePodAdditions"),
		Updates:      pods("HandlePodUpdates"),
		Removes:      pods("HandlePodRemoves"),
		Reconcile:    pods("HandlePodReconcile"),
		Unexpected:   func(u podmanager.Update) { tell("HandleUnexpected(" + string(u.Op) + ")") },
		RuntimeEvent: func(e syncloop.RuntimeEvent) { tell("HandleRuntimeEvent(" + string(e.UID) + ")") },
		Syncs:        func() { tell("HandlePodSyncs()") },
		Cleanups:     func() { tell("HandlePodCleanups()") },
		Probes:       func() { tell("HandleProbeResults()") },
	}
}

func walkStep(ctx context.Context, p *page) error {
	p.intro(`The loop is one function called again and again. Step waits for one event on five
		channels and hands it to a handler. It keeps nothing between calls and needs no
		clock, so that a test calls it as often as it has events; this walk does.`)
	f := newFive()
	var monitor syncloop.Monitor
	handler := naming(func(call string) {
		p.out("%s", call)
		if _, busy := monitor.Last(); !busy {
			p.out("the monitor was not stamped")
		}
	})
	one := func() { syncloop.Step(ctx, f.channels(), handler, &monitor) }

	p.step("Config: what should run changes", "syncloop.Step")
	web := newPod("web")
	for _, op := range []podmanager.Op{
		podmanager.OpAdd, podmanager.OpRestore, podmanager.OpUpdate,
		podmanager.OpDelete, podmanager.OpRemove, podmanager.OpReconcile,
	} {
		p.in("%s", showWord(podmanager.SourceAPI, op, web))
		f.config <- podmanager.Update{Source: podmanager.SourceAPI, Op: op, Pods: []*v1.Pod{web}}
		one()
	}
	p.why("RESTORE is an addition, and DELETE an update: the pod is still there and must end.")

	p.step("Runtime events: what runs changes", "syncloop.Step")
	p.in("RuntimeEvent{%s}", web.UID)
	f.events <- syncloop.RuntimeEvent{UID: web.UID}
	one()
	p.why("It says which pod to look at, and no more.")

	p.step("Sync due: some pod's time has come", "syncloop.Step")
	p.in("a tick")
	f.due <- noon
	one()

	p.step("Housekeeping: time to clean up", "syncloop.Step")
	p.in("a tick")
	f.housekeeping <- noon
	one()

	p.step("Probes: verdicts changed", "syncloop.Step")
	p.in("a signal")
	f.probes <- struct{}{}
	one()
	p.why("The handler takes what changed. A probe that spoke twice meanwhile says its last word.")

	p.step("The monitor", "syncloop.Monitor.Last")
	_, busy := monitor.Last()
	p.out("busy: %v", busy)
	p.why(`Each step stamps the monitor before and after. Health reads it: a step that began
		long ago and has not ended is stuck in a handler.`)
	return nil
}
