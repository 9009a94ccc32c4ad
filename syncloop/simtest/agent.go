package simtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/eviction"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/syncloop"
)

// agent is one life of the agent: from its start until it is stopped or killed.
// It conducts its loop.
type agent struct {
	turns *turns
	loop  *syncloop.SyncLoop
	stop  context.CancelFunc
	// stopping: stop was called.
	stopping bool
	// dead is closed when the agent is killed: nothing that it does has an
	// effect from then on. ended is closed when Run has returned.
	dead, ended chan struct{}
	err         error
	// amnesia: it could not read all that the store holds.
	amnesia bool
	shut    shutdown

	// One of them probes: events of the plan do, or a manager.
	probing *probing
	prober  *probe.Manager
	manager atomic.Pointer[eviction.Manager] // nil while memory is not watched
	// evicting is the pod that its manager is evicting. short: memory was short
	// when it was measured last.
	evicting types.UID
	short    bool

	mu sync.Mutex
	// ready tells for each channel of the loop whether something may be in it.
	ready [channels]bool
	// pick takes the channel that the next step is to read from.
	pick chan channel
	// idle: the loop found nothing in the channel that was picked. update is what it
	// found in that of the config.
	idle   bool
	update string
}

// channel is one of the channels that a step of the loop reads from.
type channel int

const (
	config channel = iota
	events
	due
	housekeeping
	probes
	channels
)

var channelNames = [channels]string{"config", "runtime events", "sync due", "housekeeping", "probes"}

var (
	errKilled   = errors.New("the agent was killed")
	errInjected = errors.New("injected")
)

func newAgent(t *turns) *agent {
	return &agent{turns: t, dead: make(chan struct{}), ended: make(chan struct{}), pick: make(chan channel)}
}

// run runs the loop until it is stopped.
func (a *agent) run(loop *syncloop.SyncLoop) {
	ctx, cancel := context.WithCancel(context.Background())
	a.loop, a.stop = loop, cancel
	if a.prober != nil {
		go func() { _ = a.prober.Run(ctx) }()
	}
	go func() {
		a.err = loop.Run(ctx)
		cancel()
		close(a.ended)
		a.turns.nudge()
	}()
}

// kill ends the agent as a power cut does: what waits for its turn never happens.
func (a *agent) kill() {
	if a.killed() {
		return
	}
	close(a.dead)
	a.turns.clear()
	a.stop()
}

func (a *agent) over() bool   { return isClosed(a.ended) }
func (a *agent) killed() bool { return isClosed(a.dead) }

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// await returns true when the turn was given, and false when the agent was
// killed instead.
func (a *agent) await(t *turn) bool {
	select {
	case <-t.open:
		return true
	case <-a.dead:
		return false
	}
}

// call makes a call at the border of the agent, when it is its turn.
func (a *agent) call(ctx context.Context, what string, uid types.UID, do func() error) error {
	if a.killed() {
		return errKilled
	}
	t := a.turns.add(ctx, what, uid)
	switch {
	case !a.await(t):
		return errKilled
	case ctx.Err() != nil:
		return ctx.Err()
	case t.fate.fails && !t.fate.late:
		return fmt.Errorf("%s: %w", what, errInjected)
	}
	began := time.Now()
	err := do()
	if a.killed() {
		return errKilled
	}
	// What took time returns beside others that do, and so waits for its turn.
	if t.fate.pauses || ctx.Err() != nil || time.Now().After(began) {
		if !a.await(a.turns.add(ctx, what+" returns", uid)) {
			return errKilled
		}
	}
	if err == nil && t.fate.fails {
		err = fmt.Errorf("%s seems to fail: %w", what, errInjected)
	}
	return err
}

// Go implements [syncloop.Conductor].
func (a *agent) Go(what string, f func()) {
	if a.killed() {
		go f()
		return
	}
	t := a.turns.add(context.Background(), "begin "+what, "")
	go func() {
		a.await(t)
		f()
	}()
}

// Step implements [syncloop.Conductor].
func (a *agent) Step(ctx context.Context, ch syncloop.Channels, h syncloop.SyncHandler, m *syncloop.Monitor) bool {
	for {
		c, ok := a.next(ctx, ch)
		if !ok {
			return false
		}
		if one, ok := a.take(c, ch); ok {
			return syncloop.Step(ctx, one, h, m)
		}
		a.set(c, false)
		a.mu.Lock()
		a.idle = true
		a.mu.Unlock()
	}
}

// next waits for the world to pick a channel. The two channels that time fills
// are emptied meanwhile: that something was in them is all that they say.
func (a *agent) next(ctx context.Context, ch syncloop.Channels) (channel, bool) {
	for {
		select {
		case <-ctx.Done():
			return 0, false
		case c := <-a.pick:
			return c, true
		case <-ch.SyncDue:
			a.set(due, true)
		case <-ch.Housekeeping:
			a.set(housekeeping, true)
		}
		a.turns.nudge()
	}
}

// take reads from the channel, and returns channels that hold just that.
func (a *agent) take(c channel, ch syncloop.Channels) (one syncloop.Channels, ok bool) {
	switch c {
	case config:
		select {
		case u, open := <-ch.Config:
			single := make(chan podmanager.Update, 1)
			if open {
				a.note(fmt.Sprintf("%s %s of %s", u.Op, names(u.Pods), u.Source))
				single <- u
			} else {
				close(single)
			}
			return syncloop.Channels{Config: single}, true
		default:
			return one, false
		}
	case events:
		select {
		case e := <-ch.RuntimeEvents:
			return syncloop.Channels{RuntimeEvents: filled(e)}, true
		default:
			return one, false
		}
	case probes:
		select {
		case <-ch.Probes:
			return syncloop.Channels{Probes: filled(struct{}{})}, true
		default:
			return one, false
		}
	case due:
		a.set(due, false)
		return syncloop.Channels{SyncDue: filled(time.Now())}, true
	default:
		a.set(housekeeping, false)
		return syncloop.Channels{Housekeeping: filled(time.Now())}, true
	}
}

func filled[T any](v T) <-chan T {
	c := make(chan T, 1)
	c <- v
	return c
}

// set notes whether something may be in a channel.
func (a *agent) set(c channel, ready bool) {
	a.mu.Lock()
	a.ready[c] = ready
	a.mu.Unlock()
}

// step lets the loop read from a channel.
func (a *agent) step(c channel) {
	a.mu.Lock()
	a.idle, a.update = false, ""
	a.mu.Unlock()
	select {
	case a.pick <- c:
	case <-a.ended:
	}
}

// note keeps which update the loop found.
func (a *agent) note(update string) {
	a.mu.Lock()
	a.update = update
	a.mu.Unlock()
}

// found tells whether the last step found something, and which update.
func (a *agent) found() (update string, found bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.update, !a.idle
}

// readyChannels are the channels that something may be in.
func (a *agent) readyChannels() (ready []channel) {
	a.set(probes, a.probesWait())
	a.mu.Lock()
	defer a.mu.Unlock()
	for c := range channels {
		if a.ready[c] {
			ready = append(ready, c)
		}
	}
	return ready
}
