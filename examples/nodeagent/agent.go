package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

const (
	// settleCheck is how often the pods are looked at for having settled.
	settleCheck = 250 * time.Millisecond
	// redraw is how often the live table is drawn.
	redraw = 500 * time.Millisecond
	// progress is how often a stop looks which pods it still waits for; what it says of
	// them repeats at a falling rate.
	progress = time.Second
)

// agent is a running node agent: what main waits on and prints.
type agent struct {
	options
	node   *v1.Node
	events *eventLog
	house  *house
	ask    *control
	screen *screen
	stdout io.Writer
	stderr io.Writer

	// final is how the pods stood when the run settled or the first signal
	// came, and wrong what probes found then; nil before.
	final []*v1.Pod
	wrong map[types.UID]string
	// cleanUp is set when nothing is to be left behind.
	cleanUp bool
}

// runAgent runs the agent until it settles, a signal ends it, or a part of it
// fails.
func runAgent(o options) error {
	a := &agent{options: o, stdout: os.Stdout, stderr: os.Stderr}
	a.screen = newScreen(os.Stdout, o.output)
	a.events = newEventLog(a.stderr)
	if a.screen != nil {
		a.events = newEventLog(nil)
	}
	a.node = newNode(o.nodeName, o.nodeIP, o.capacity)
	house, err := build(o, a.node, a.events)
	if err != nil {
		return err
	}
	a.house = house
	defer house.close()

	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGUSR1)
	defer signal.Stop(signals)

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a.ask = &control{node: a.node, loop: house.loop, probes: house.probes, runtime: house.runtime, evictor: house.evictor, events: a.events}
	asked, err := serveControl(ctx, o.root, a.ask)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- house.run(ctx) }()

	err = a.wait(ctx, signals, ended)
	cancel()
	<-house.done
	<-asked
	if a.cleanUp {
		err = errors.Join(err, house.cleanUp())
	}
	return errors.Join(err, a.print())
}

// wait is the life of the agent between start and the last line.
func (a *agent) wait(ctx context.Context, signals <-chan os.Signal, ended <-chan error) error {
	begun := time.Now()
	settle, late := newSettler(a.settleTimeout), ""
	check := time.NewTicker(settleCheck)
	defer check.Stop()
	draw := time.NewTicker(redraw)
	defer draw.Stop()
	for {
		select {
		case s := <-signals:
			if s == syscall.SIGUSR1 {
				a.dump()
				continue
			}
			a.finish(a.pods())
			if s == syscall.SIGTERM && !a.stopOnTerm {
				a.say("stopped; the pods go on, and the next agent on %s takes them over", a.root)
				return nil
			}
			return a.stop(ctx, signals, syncloop.ShutdownOptions{})
		case <-check.C:
			heard := a.house.heard() || time.Since(begun) >= a.settleTimeout
			if !a.untilSettled || !heard {
				continue
			}
			if pods := a.pods(); settle.settled(pods, time.Now()) {
				a.finish(pods) // as they were judged: a look later they may differ
				return a.stop(ctx, signals, syncloop.ShutdownOptions{Remove: true})
			}
			if now := strings.Join(settle.late, " "); now != late {
				if late = now; late != "" {
					a.say("all have settled but %s: given up when not ready for %s", late, a.settleTimeout)
				}
			}
		case <-draw.C:
			a.draw()
		case err := <-ended:
			a.finish(a.pods())
			return fmt.Errorf("the agent ended by itself: %w", err)
		}
	}
}

// stop stops all pods and says how far it is. A signal meanwhile kills what
// still runs.
func (a *agent) stop(ctx context.Context, signals <-chan os.Signal, opts syncloop.ShutdownOptions) error {
	stopped := make(chan error, 2)
	shutdown := func(o syncloop.ShutdownOptions) { stopped <- a.house.loop.Shutdown(ctx, o) }
	go shutdown(opts)
	calls := 1
	tick := time.NewTicker(progress)
	defer tick.Stop()
	a.sayStopping()
	var errs []error
	for calls > 0 {
		select {
		case err := <-stopped:
			calls--
			errs = append(errs, err)
		case <-tick.C:
			a.sayStopping()
		case s := <-signals:
			if s == syscall.SIGUSR1 {
				a.dump()
			} else if !opts.Now {
				a.say("killing what still runs")
				opts.Now = true
				calls++
				go shutdown(opts)
			}
		}
	}
	a.cleanUp = opts.Remove
	return errors.Join(errs...)
}

// dump writes all that the agent knows to a file in its root.
func (a *agent) dump() {
	path, err := a.ask.writeDump(a.root, time.Now())
	if err != nil {
		a.events.add(v1.EventTypeWarning, "agent", "DumpFailed", err.Error())
		return
	}
	a.say("all that the agent knows was written to %s", path)
}

// finish keeps how the pods stand now.
func (a *agent) finish(pods []*v1.Pod) {
	a.final, a.wrong = pods, failing(a.house.loop, a.house.probes)
}

func (a *agent) pods() []*v1.Pod { return podsOf(a.house.loop) }

// podsOf are the pods of a loop with what is known of them now. One that is being
// stopped is marked for deletion, whoever stops it, so that it shows.
func podsOf(loop *syncloop.SyncLoop) []*v1.Pod {
	views := loop.Pods()
	pods := make([]*v1.Pod, 0, len(views))
	for _, v := range views {
		if v.Pod == nil {
			continue
		}
		pod := *v.Pod
		if v.Status != nil {
			pod.Status = *v.Status
		}
		if v.Stage == lifecycle.Terminating && pod.DeletionTimestamp == nil {
			pod.DeletionTimestamp = new(metav1.NewTime(v.Deadline))
		}
		pods = append(pods, &pod)
	}
	return pods
}

// print writes what the run came to on stdout.
func (a *agent) print() error {
	if a.final == nil {
		a.finish(a.pods())
	}
	if a.output == "json" {
		return writeJSON(a.stdout, a.house.evictor.nodeNow(), a.final)
	}
	a.screen.clear()
	now := time.Now()
	return errors.Join(writeTable(a.stdout, a.final, a.wrong, now), writePressure(a.stdout, a.house.evictor.nodeNow(), now))
}

// draw shows how things stand.
func (a *agent) draw() {
	if a.screen == nil {
		return
	}
	a.screen.draw(a.house.evictor.nodeNow(), a.pods(), failing(a.house.loop, a.house.probes), a.events.last(screenEvents, anyObject))
}

func (a *agent) sayStopping() {
	left := ""
	n := 0
	for _, v := range a.house.loop.Pods() {
		if v.Stage == lifecycle.Sync || v.Stage == lifecycle.Terminating {
			n++
			left += " " + v.Namespace + "/" + v.Name
		}
	}
	switch {
	case n == 1:
		a.say("stopping 1 pod:%s", left)
	case n > 1:
		a.say("stopping %d pods:%s", n, left)
	}
}

// say writes a line about the agent itself.
func (a *agent) say(format string, args ...any) {
	a.events.add(v1.EventTypeNormal, "agent", "Agent", fmt.Sprintf(format, args...))
	a.draw()
}
