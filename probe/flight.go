package probe

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// flight is one attempt that is being made.
type flight struct {
	e         *entry
	ctx       context.Context
	cancel    context.CancelFunc
	cancelled bool
	lane      lane
	kind      Kind
	key       Key
	target    Target
	timeout   time.Duration
	due       time.Time
	began     time.Time
}

// callOff ends an attempt whose outcome nobody wants any more.
func (f *flight) callOff() {
	f.cancelled = true
	f.cancel()
}

// startDue starts what is due and returns when it is to be called again.
func (m *Manager) startDue(now time.Time) (wake time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.due) > 0 && !m.due[0].tracker.next.After(now) {
		e := m.due[0]
		m.due.remove(e)
		e.queued = true
		m.lanes.push(e)
	}
	for f := m.next(now); f != nil; f = m.next(now) {
		m.flights.Go(func() { m.fly(f) })
	}
	m.wake = time.Time{}
	if len(m.due) > 0 {
		m.wake = m.tickAfter(m.due[0].tracker.next)
	}
	return m.wake
}

// next takes off with the next probe that waits for a place, if there is one.
func (m *Manager) next(now time.Time) *flight {
	if m.stopped() {
		return nil
	}
	for e := m.lanes.pop(); e != nil; e = m.lanes.pop() {
		pod := e.of.pod
		switch {
		case e.removed:
			m.release(pod)
		case e.tracker.Wait() != WaitNothing || e.flight != nil:
			e.queued = false
			m.place(e)
			m.release(pod)
		case pod.flying >= m.cfg.MaxInFlightPerPod:
			pod.held.push(e)
			m.waiting++
		default:
			return m.takeOff(e, now)
		}
	}
	return nil
}

// release lets one probe that was beyond the share of its pod wait for a place.
func (m *Manager) release(p *pod) {
	if held := p.held.pop(); held != nil {
		m.waiting--
		m.lanes.push(held)
	}
}

// stopped tells that Run is over, or has not begun.
func (m *Manager) stopped() bool { return m.ctx == nil || m.ctx.Err() != nil }

func (m *Manager) takeOff(e *entry, now time.Time) *flight {
	e.queued = false
	e.of.pod.flying++
	m.lanes.flying[e.lane]++
	ctx, cancel := context.WithCancel(m.ctx)
	e.flight = &flight{
		e: e, ctx: ctx, cancel: cancel, lane: e.lane, kind: e.probe.Kind,
		key: e.key(), target: e.target(), timeout: e.tracker.settings.Timeout,
		due: e.tracker.next, began: now,
	}
	return e.flight
}

// fly makes an attempt, and goes on with others while some wait for the place.
func (m *Manager) fly(f *flight) {
	for f != nil {
		attempt := m.try(f)
		f.cancel()
		f = m.land(f, attempt, time.Now())
	}
}

// try makes the attempt. A prober that panics has not asked the container.
func (m *Manager) try(f *flight) (a Attempt) {
	defer func() {
		if r := recover(); r != nil {
			a = Attempt{Err: fmt.Errorf("the prober panicked: %v", r)}
			m.log.Error("a prober panicked", "probe", f.key.String(), "panic", r, "stack", string(debug.Stack()))
		}
	}()
	return Try(f.ctx, m.cfg.Prober, f.target, f.timeout)
}

// land takes what an attempt came to, and returns what takes its place.
func (m *Manager) land(f *flight, a Attempt, now time.Time) *flight {
	m.mu.Lock()
	e, pod := f.e, f.e.of.pod
	e.flight = nil
	pod.flying--
	m.lanes.flying[f.lane]--
	took := now.Sub(f.began)
	e.lane = quick
	if took > slowAfter {
		e.lane = slow
	}
	cancelled := f.cancelled || m.stopped()
	var said said
	if !cancelled {
		said = m.record(e, a, now, took)
	}
	m.place(e)
	m.release(pod)
	next := m.next(now)
	m.wakeUp()
	m.mu.Unlock()

	m.tell(f, a, took, cancelled, said)
	return next
}

// said is what users and hooks are told of an attempt, outside of the lock.
type said struct {
	event     *event
	published *Published
}

// record puts an outcome into its tracker.
func (m *Manager) record(e *entry, a Attempt, now time.Time, took time.Duration) said {
	before := e.last
	e.last = &lastAttempt{at: now, took: took, result: a.Result, output: a.Output, err: a.Err}
	step := e.tracker.Record(now, a)
	var said said
	if step.Changed || e.tracker.kind == observe && differs(before, e.last) {
		m.publish(e)
		p := e.published()
		said.published = &p
	}
	if step.Event != nil {
		said.event = m.pace(e, step.Event, now)
	}
	if e.tracker.kind == startup && step.Changed {
		m.look(e.of, now)
	}
	return said
}

// differs tells whether an observation is news.
func differs(before, now *lastAttempt) bool {
	return before == nil || before.result != now.result || before.output != now.output || fmt.Sprint(before.err) != fmt.Sprint(now.err)
}

func (m *Manager) tell(f *flight, a Attempt, took time.Duration, cancelled bool, said said) {
	if h := m.cfg.Hooks.Attempt; h != nil {
		h(AttemptInfo{
			Key: f.key, Kind: f.kind, ContainerID: f.target.ContainerID, Attempt: a,
			Late: max(0, f.began.Sub(f.due)), Took: took, Cancelled: cancelled,
		})
	}
	if said.event != nil {
		m.cfg.Events.Eventf(said.event.object, said.event.Type, said.event.Reason, "%s", said.event.Message)
	}
	if h := m.cfg.Hooks.Published; h != nil && said.published != nil {
		h(*said.published)
	}
}
