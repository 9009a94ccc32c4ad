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
	target    Target
	timeout   time.Duration
	due       time.Time
	asked     time.Time          // when the prober was called
	ctx       context.Context    // of the try that is being made
	cancel    context.CancelFunc // of that context
	cancelled bool
	overdue   bool // it has no place any more
	lane      lane
	index     int // in the manager's list
}

// callOff ends an attempt whose outcome nobody wants any more.
func (f *flight) callOff() {
	f.cancelled = true
	f.cancel()
}

// instantsEach is how many instant probes are worth a goroutine: to wake another
// processor up costs as much as twenty of them.
const instantsEach = 64

// tick starts what is due, and sees to the next tick. It is called on a goroutine
// of its own, which makes one of the attempts itself: to wake another one up costs
// more than most probes do.
func (m *Manager) tick() {
	now := time.Now()
	m.mu.Lock()
	if m.stopped() {
		m.mu.Unlock()
		return
	}
	left := m.lanes.queues[instant].len()
	m.queueDue(now)
	m.makeRoom(now)
	// Instant ones share goroutines; should one take its time after all,
	// those behind it start with the next tick.
	instants := m.lanes.queues[instant].len() - left
	share := max(1, min(m.procs, instants/instantsEach))
	own := m.next()
	for n := m.lanes.len() - max(0, instants-share); own != nil && n > 0; n-- {
		f := m.next()
		if f == nil {
			break
		}
		m.flights.Go(func() { m.fly(f) })
	}
	m.rest(now)
	m.flights.Add(1)
	m.mu.Unlock()
	defer m.flights.Done()
	m.fly(own)
}

// queueDue has all whose time has come wait for a place.
func (m *Manager) queueDue(now time.Time) {
	for e := m.due.first(); e != nil && !e.tracker.next.After(now); e = m.due.first() {
		m.due.remove(e)
		e.queued = true
		m.lanes.push(e)
	}
}

// makeRoom has those that fly for long give up their places, if many are taken.
func (m *Manager) makeRoom(now time.Time) {
	if m.lanes.placed() < m.cfg.MaxInFlight/4 {
		return
	}
	for _, f := range m.flying {
		m.lanes.outstay(f, now)
	}
}

// rest sets the timer to the next tick.
func (m *Manager) rest(now time.Time) {
	m.wake = time.Time{}
	if e := m.due.first(); e != nil {
		m.wake = m.tickAfter(e.tracker.next)
	}
	if soon := now.Add(max(m.cfg.Tick, time.Millisecond)); m.lanes.queues[instant].len() > 0 && (m.wake.IsZero() || soon.Before(m.wake)) {
		m.wake = soon
	}
	// Those that wait for a place get it when somebody has outstayed his.
	if soon := now.Add(patience); m.lanes.len() > 0 && (m.wake.IsZero() || soon.Before(m.wake)) {
		m.wake = soon
	}
	if !m.wake.IsZero() {
		m.arm()
	}
}

// next takes off with the next probe that waits for a place, if there is one.
func (m *Manager) next() *flight {
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
			if pod.held == nil {
				pod.held = new(queue)
			}
			pod.held.push(e)
			m.waiting++
		default:
			return m.takeOff(e)
		}
	}
	return nil
}

// release lets one probe that was beyond the share of its pod wait for a place.
func (m *Manager) release(p *pod) {
	if p.held == nil {
		return
	}
	if held := p.held.pop(); held != nil {
		m.waiting--
		m.lanes.push(held)
	}
}

// stopped tells that Run is over, or has not begun.
func (m *Manager) stopped() bool { return m.ctx == nil || m.ctx.Err() != nil }

func (m *Manager) takeOff(e *entry) *flight {
	e.queued = false
	e.of.pod.flying++
	m.lanes.flying[e.lane]++
	f := &flight{
		e: e, lane: e.lane, target: e.target(), timeout: e.tracker.settings.Timeout,
		due: e.tracker.next,
	}
	f.ctx, f.cancel = context.WithTimeout(m.ctx, f.timeout)
	f.index = len(m.flying)
	m.flying = append(m.flying, f)
	e.flight = f
	return f
}

// fly makes an attempt, and goes on with others while some wait for the place.
func (m *Manager) fly(f *flight) {
	for f != nil {
		f.asked = time.Now()
		attempt := m.attempt(f)
		f = m.land(f, attempt, time.Now())
	}
}

// attempt asks the container, three times while it can't be asked. It is [Try],
// of which each try can be called off.
func (m *Manager) attempt(f *flight) Attempt {
	a := m.ask(f)
	for n := 1; n < tries && a.Err != nil && m.again(f); n++ {
		a = m.ask(f)
	}
	a.Output = clip(a.Output)
	return a
}

// again begins another try, unless the attempt was called off.
func (m *Manager) again(f *flight) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f.cancelled || m.stopped() {
		return false
	}
	f.ctx, f.cancel = context.WithTimeout(m.ctx, f.timeout)
	return true
}

// ask asks once. A prober that panics has not asked the container.
func (m *Manager) ask(f *flight) (a Attempt) {
	defer f.cancel()
	defer func() {
		if r := recover(); r != nil {
			a = Attempt{Response: Response{Result: Unknown}, Err: fmt.Errorf("the prober panicked: %v", r)}
			m.log.Error("a prober panicked", "pod", f.target.Pod.String(), "container", f.target.Container, "probe", f.target.Probe,
				"panic", r, "stack", string(debug.Stack()))
		}
	}()
	if a = ask(f.ctx, m.cfg.Prober, f.target); a.Err != nil {
		_ = a.Err.Error() // what panics, as that of a nil pointer may, does it here
	}
	return a
}

// land takes what an attempt came to, and returns what takes its place.
func (m *Manager) land(f *flight, a Attempt, now time.Time) *flight {
	m.mu.Lock()
	e, pod := f.e, f.e.of.pod
	e.flight = nil
	pod.flying--
	m.lanes.land(f)
	m.unlist(f)
	took := now.Sub(f.asked)
	e.lane = laneFor(took, f.timeout)
	cancelled := f.cancelled || m.stopped()
	var said said
	if !cancelled {
		said = m.record(e, a, now)
	}
	m.place(e)
	m.release(pod)
	next := m.next()
	m.wakeUp()
	m.mu.Unlock()

	m.tell(f, a, took, cancelled, said)
	return next
}

// unlist takes a flight out of the list; the last one gets its index.
func (m *Manager) unlist(f *flight) {
	end := len(m.flying) - 1
	last := m.flying[end]
	m.flying[f.index], last.index = last, f.index
	m.flying[end] = nil
	m.flying = m.flying[:end]
}

// said is what users and hooks are told of an attempt, outside of the lock.
type said struct {
	event     *event
	published *Published
}

// record puts an outcome into its tracker.
func (m *Manager) record(e *entry, a Attempt, now time.Time) said {
	a.Err = keptError(a.Err)
	news := e.tracker.kind == observe && differs(e.last, a)
	if e.last == nil {
		e.last = new(lastAttempt)
	}
	*e.last = lastAttempt{at: now.UnixNano(), result: a.Result, output: kept(e.tracker.kind, a.Output), err: a.Err}
	step := e.tracker.Record(now, a)
	var said said
	if step.Changed || news {
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
func differs(before *lastAttempt, a Attempt) bool {
	return before == nil || before.result != a.Result || before.output != a.Output || fmt.Sprint(before.err) != fmt.Sprint(a.Err)
}

func (m *Manager) tell(f *flight, a Attempt, took time.Duration, cancelled bool, said said) {
	if h := m.cfg.Hooks.Attempt; h != nil {
		h(AttemptInfo{
			Key:  Key{Pod: f.target.Pod, Container: f.target.Container, Probe: f.target.Probe},
			Kind: f.e.tracker.kind.kind(), ContainerID: f.target.ContainerID, Attempt: a,
			Late: max(0, f.asked.Sub(f.due)), Took: took, Cancelled: cancelled,
		})
	}
	if said.event != nil {
		m.cfg.Events.Eventf(said.event.object, said.event.Type, said.event.Reason, "%s", said.event.Message)
	}
	if h := m.cfg.Hooks.Published; h != nil && said.published != nil {
		h(*said.published)
	}
}
