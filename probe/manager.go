package probe

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	goruntime "runtime"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// Config is what a [Manager] is made of. Prober is required.
type Config struct {
	// Prober makes the attempts, as a rule [Probers].
	Prober Prober
	// MaxInFlight bounds how many attempts are made at a time; 256 by
	// default. An attempt occupies its place for as long as it lasts, up to
	// its timeout: R attempts a second of which a share H hangs for a timeout
	// of T need R×H×T places, and three times that where a timeout is an
	// error, which is tried again. 256 are enough for 1,000 a second of which
	// a quarter hangs for a second each. An attempt whose timeout is longer
	// flies on without a place after a second; that are sixteen times as many
	// at most, more than the containers of a kubelet's 110 pods.
	MaxInFlight int
	// MaxInFlightPerPod is the share of one pod; an eighth of MaxInFlight by
	// default.
	MaxInFlightPerPod int
	// Tick is how far attempts are put off so that they begin together, for
	// to wake up costs more than to probe; 25 ms by default, less than none
	// means not at all. A period of forty ticks or more that is a multiple of
	// four keeps time: its attempts are due at every fourth tick only, when
	// those of others are.
	Tick time.Duration
	// Events tells users of failures, at a falling rate; nil tells nobody.
	Events runtime.EventRecorder
	// Hooks are told of attempts.
	Hooks Hooks
	// Logger is told what goes wrong inside; nil is silent.
	Logger *slog.Logger
}

// ErrRan is returned by a Run after the first.
var ErrRan = errors.New("probe: the manager has run already")

// Manager probes a set of containers, each as its settings say. One heap of due
// times and one timer serve all of them; a goroutine lives only while an attempt
// is in flight. A probe that waits for something else than its time (for the
// container, for its startup probe, for the next instance) costs nothing but its
// memory. To add, update or remove a pod takes O(log n) in the number of probes.
//
// The host says what it knows of containers with [Manager.Set], and takes the
// verdicts that changed: a value on Changed, then Take. Nobody waits for the host:
// verdicts that it has not taken yet are replaced by newer ones. What follows from
// what the host said itself is not told: that an instance begins with the verdict
// Success for liveness, Failure for readiness and Unknown otherwise, and that one
// which does not run has failed.
//
// A Manager is safe for concurrent use. Set and Remove work before Run and after
// its end, too.
type Manager struct {
	cfg     Config
	log     *slog.Logger
	changed chan struct{}
	procs   int // goroutines that instant probes share

	mu      sync.Mutex
	ctx     context.Context // of Run; nil while it does not run
	timer   *time.Timer     // of the next tick; there is one while ctx is
	ran     bool
	pods    map[types.UID]*pod
	probes  int
	due     dueHeap
	wake    time.Time // when the timer goes off; zero for never
	lanes   lanes
	flying  []*flight
	waiting int // those kept back by the share of their pod
	dirty   []*entry
	flights sync.WaitGroup
}

// NewManager returns a manager; nothing is probed before Run.
func NewManager(cfg Config) (*Manager, error) {
	if cfg.Prober == nil {
		return nil, errors.New("probe: Config.Prober is missing")
	}
	if cfg.MaxInFlight <= 0 {
		cfg.MaxInFlight = 256
	}
	if cfg.MaxInFlightPerPod <= 0 {
		cfg.MaxInFlightPerPod = max(1, cfg.MaxInFlight/8)
	}
	if cfg.Tick == 0 {
		cfg.Tick = 25 * time.Millisecond
	}
	m := &Manager{
		cfg: cfg, log: cfg.Logger,
		changed: make(chan struct{}, 1),
		procs:   goruntime.GOMAXPROCS(0), due: dueHeap{epoch: time.Now()},
		pods: map[types.UID]*pod{}, lanes: newLanes(cfg.MaxInFlight),
	}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	return m, nil
}

// Run probes until the context ends; then it calls off what is in flight, waits
// for it and returns nil. It runs once.
func (m *Manager) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m.mu.Lock()
	if m.ran {
		m.mu.Unlock()
		return ErrRan
	}
	m.ran, m.ctx = true, ctx
	m.wake, m.timer = time.Now(), time.AfterFunc(time.Nanosecond, m.tick)
	m.mu.Unlock()

	<-ctx.Done()
	m.mu.Lock()
	m.timer.Stop()
	m.ctx = nil // no flight begins from here on
	m.mu.Unlock()
	m.flights.Wait()
	return nil
}

// Set says which containers of a pod are to be probed, and what is known of each. It
// replaces what was said of the pod before: what is not in it any more is not probed
// any more, and what is in flight for that is called off. Probes that stay keep what
// they found out, also when their settings change; the new ones hold at once. Without
// containers the pod is forgotten. Nothing that it is given is written to, and it must
// stay as it is.
func (m *Manager) Set(ref runtime.PodRef, containers ...Container) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.pods[ref.UID]
	if p == nil {
		if len(containers) == 0 {
			return
		}
		p = &pod{ref: ref}
		m.pods[ref.UID] = p
	}
	p.ref = ref
	old := p.containers
	p.containers = make([]*container, 0, len(containers))
	for i := range containers {
		c := find(p.containers, containers[i].Name)
		if c == nil {
			if c = find(old, containers[i].Name); c == nil {
				c = &container{pod: p, name: containers[i].Name}
			}
			p.containers = append(p.containers, c)
		}
		m.setContainer(c, &containers[i], now)
	}
	for _, c := range old {
		if find(p.containers, c.name) != c {
			m.removeEntries(c.entries)
		}
	}
	if len(p.containers) == 0 {
		delete(m.pods, ref.UID)
	}
	m.wakeUp()
}

// Remove forgets a pod; it is Set without containers.
func (m *Manager) Remove(uid types.UID) { m.Set(runtime.PodRef{UID: uid}) }

func (m *Manager) setContainer(c *container, said *Container, now time.Time) {
	c.init, c.ip, c.state, c.spec = said.Init, said.IP, said.State, nil
	if len(said.Ports)+len(said.Env) > 0 {
		c.spec = &spec{ports: said.Ports, env: said.Env}
	}
	old := c.entries
	c.entries = make([]*entry, 0, len(said.Probes))
	for i := range said.Probes {
		probe := &said.Probes[i]
		e := findProbe(c.entries, probe.Name)
		if e == nil {
			if e = findProbe(old, probe.Name); e == nil || e.tracker.kind != codeOf(probe.Kind) {
				e = newEntry(c, probe)
				m.probes++
			}
			c.entries = append(c.entries, e)
		}
		e.action = probe.Action
		e.tracker.SetSettings(probe.Settings)
		m.place(e)
	}
	for _, e := range old {
		if findProbe(c.entries, e.name) != e {
			m.removeEntry(e)
		}
	}
	m.look(c, now)
}

// look tells the probes of a container what is known of it.
func (m *Manager) look(c *container, now time.Time) {
	for _, e := range c.entries {
		before := e.tracker.ContainerID()
		step := e.tracker.Look(now, c.stateFor(e))
		if e.flight != nil && (before != e.tracker.ContainerID() || e.tracker.Wait() != WaitNothing) {
			e.flight.callOff()
		}
		if before != e.tracker.ContainerID() {
			e.last = nil
			m.forget(e) // what was not taken is of the instance before
		}
		if step.Changed {
			m.publish(e)
		}
		m.place(e)
	}
}

// place puts a probe where it waits for its time, unless that has come.
func (m *Manager) place(e *entry) {
	if e.removed || e.flight != nil || e.queued {
		m.due.remove(e)
		return
	}
	m.keepTime(e)
	m.due.put(e)
}

// beat is how many ticks apart the attempts of different probes are: so that many
// begin together, each at its time, and the agent sleeps in between.
const beat = 4

// keepTime moves the attempts of a probe to the next beat, once: whole beats make
// its period. The first one of a new instance is made when it is due.
func (m *Manager) keepTime(e *entry) {
	t, beat := &e.tracker, beat*m.cfg.Tick
	if beat <= 0 || t.fresh || t.settings.Period < 10*beat || t.settings.Period%beat != 0 {
		return
	}
	if past := t.next.Sub(m.due.epoch) % beat; past > 0 {
		t.next = t.next.Add(beat - past)
	}
}

func (m *Manager) removeEntries(entries []*entry) {
	for _, e := range entries {
		m.removeEntry(e)
	}
}

func (m *Manager) removeEntry(e *entry) {
	e.removed = true
	m.probes--
	m.forget(e)
	m.due.remove(e)
	if e.flight != nil {
		e.flight.callOff()
	}
}

// wakeUp puts the next tick forward if something is due before it.
func (m *Manager) wakeUp() {
	first := m.due.first()
	if first == nil || m.ctx == nil {
		return
	}
	if wake := m.tickAfter(first.tracker.next); m.wake.IsZero() || wake.Before(m.wake) {
		m.wake = wake
		m.arm()
	}
}

// arm has the next tick come when it is to. It never comes at once: two timers in a
// bubble of testing/synctest that do can crash the race detector (golang/go#78156).
func (m *Manager) arm() { m.timer.Reset(max(time.Until(m.wake), time.Nanosecond)) }

// tickAfter is the first tick that is not before a time.
func (m *Manager) tickAfter(t time.Time) time.Time {
	if m.cfg.Tick < 0 {
		return t
	}
	if past := t.Sub(m.due.epoch) % m.cfg.Tick; past > 0 {
		return t.Add(m.cfg.Tick - past)
	}
	return t
}

// Stats tell how the work goes.
type Stats struct {
	Pods, Probes int
	// InFlight are being made; Waiting are due and wait for a place.
	InFlight, Waiting int
	// Late is how long the one that waits longest is overdue, of those that
	// wait for more than the share of their own pod.
	Late time.Duration
}

// Stats returns how the work goes, without looking at each probe.
func (m *Manager) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := Stats{
		Pods: len(m.pods), Probes: m.probes,
		InFlight: m.lanes.inFlight(),
		Waiting:  m.lanes.len() + m.waiting,
	}
	if oldest := m.lanes.oldest(); !oldest.IsZero() {
		s.Late = max(0, time.Since(oldest))
	}
	return s
}

// spreadOf is the place of a probe in its period, the same in every run.
func spreadOf(uid types.UID, container, probe string) float64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s\x00%s", uid, container, probe)
	// The low bits of FNV are the well mixed ones.
	return float64(h.Sum64()&(1<<24-1)) / (1 << 24)
}
