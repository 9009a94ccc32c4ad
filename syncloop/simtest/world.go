package simtest

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/checkpoint"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop"
)

// world is a node and all around it, in a bubble. Its own goroutine is the only
// one that runs while it does: all others wait for their turn, or for time.
type world struct {
	cfg   Config
	plan  *plan
	draw  draw
	began time.Time

	turns   *turns
	agent   *agent
	runtime runtime.Runtime
	store   syncloop.Store
	open    func() *checkpoint.Folder // nil: nothing is kept but the store
	api     *api
	sources []*source
	made    int // mirrors

	node   *v1.Node
	ledger *admission.Ledger
	pool   *pool

	// watches: the agent has hints. notify takes them while it watches.
	watches bool
	notify  func(types.UID)
	hints   []hint
	marks   *marks
	listed  bool // by this agent
	started time.Time

	faults  faults
	killIn  int // the agent is killed after so many actions; 0 never
	upAgain time.Time

	moods map[moodOf]lasting

	pods   map[types.UID]*podState
	order  []*podState
	broken atomic.Pointer[Violation]
	trace  *trace
	stats  Stats
	calm   bool // faults have ended
	// admitted: the last step of the loop let a pod in. evicted is when a pod
	// was evicted last.
	admitted bool
	evicted  time.Time
	// shortUntil is how long memory is short.
	shortUntil time.Time

	// leaked is what was heard that holds a secret.
	mu     sync.Mutex
	leaked string
}

// hint is word of the runtime on its way to the agent.
type hint struct {
	uid types.UID
	at  time.Time
}

func newWorld(cfg Config, p *plan, t *trace) *world {
	w := &world{
		cfg: cfg, plan: p, draw: newDraw(p.seed, 2), began: time.Now(),
		turns: newTurns(), trace: t, pods: map[types.UID]*podState{}, marks: newMarks(),
		moods:   map[moodOf]lasting{},
		watches: p.watches,
	}
	w.runtime, w.store = cfg.Runtime(), cfg.Store()
	if cfg.Checkpoints != nil {
		w.open = cfg.Checkpoints()
	}
	w.marks.wake = w.turns.nudge
	w.api = &api{source: &source{name: podmanager.SourceAPI, deltas: true, changed: true}}
	w.sources = []*source{w.api.source, {name: podmanager.SourceFile, changed: true}, {name: podmanager.SourceHTTP, changed: true, copies: true}}
	w.node = &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", UID: "node"}}
	w.resize(p.cpu)
	return w
}

// resize gives the node so much to hand out.
func (w *world) resize(milliCPU int64) {
	w.node = w.node.DeepCopy()
	w.node.Status.Allocatable = v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(milliCPU, resource.DecimalSI),
		v1.ResourceMemory: resource.MustParse("64Gi"), v1.ResourcePods: resource.MustParse("110"),
	}
}

func (w *world) source(name string) *source {
	for _, s := range w.sources {
		if s.name == name {
			return s
		}
	}
	return nil
}

// now is the time since the beginning.
func (w *world) now() time.Duration { return time.Since(w.began) }

// start starts an agent on what the world holds.
func (w *world) start() {
	a := newAgent(w.turns)
	w.agent, w.listed, w.notify, w.started = a, false, nil, time.Now()
	sources := map[string]podmanager.PodSource{}
	for _, s := range w.sources {
		s.restart()
		s.out = make(chan podmanager.Report)
		sources[s.name] = listener{s, a}
	}
	wants := podmanager.Config{Sources: sources, Events: recorder{w}}
	w.restore(a, &wants)
	pods, err := podmanager.NewPodConfig(wants)
	if err != nil {
		panic(err) // the sources are our own
	}
	w.ledger = admission.NewLedger()
	cfg := syncloop.Config{
		PodConfig: pods, Runtime: w.newBorder(a), RuntimeName: "sim",
		Mirrors: mirrors{w, a},
		Admission: &admission.Chain{
			Ledger: w.ledger, Nodes: admission.NodeFunc(w.getNode),
			Checks: append([]admission.Check{{Name: "Mind", Handler: admission.AdmitFunc(w.judge)}}, w.cfg.Checks...),
		},
		Sink: sinking{w, a}, Store: storing{w, a}, Events: recorder{w}, Logger: slog.New(logs{w}),
		Probes: w.newProbes(a), HostIPs: []string{"192.0.2.1"}, Conductor: a,
		ResyncInterval: w.plan.pace.resync, HousekeepingInterval: w.plan.pace.housekeeping,
		RelistInterval: w.plan.pace.relist, MaxWorkers: w.plan.maxWorkers, SinkWriters: 1 + int(w.plan.seed%4),
	}
	if w.cfg.Pressure {
		cfg.Admission.Checks = append([]admission.Check{underPressure(a)}, cfg.Admission.Checks...)
	}
	if w.cfg.Preempt {
		w.preempt(&cfg)
	}
	cfg.Hooks.PodAdmitted = w.hookAdmitted
	if w.cfg.Change != nil {
		w.cfg.Change(&cfg)
	}
	loop, err := syncloop.New(cfg)
	if err != nil {
		w.fail(0, "no agent can be started: %v", err)
		return
	}
	w.hadAgent()
	a.run(loop)
	w.keepWatch(a)
}

func (w *world) getNode(context.Context, bool) (*v1.Node, error) {
	if w.faults.on(nodeUnreadable) {
		return nil, errInjected
	}
	return w.node, nil
}

// judge is a check that changes its mind.
func (w *world) judge(_ context.Context, req admission.Request) (admission.Verdict, error) {
	switch {
	case w.faults.on(admissionRejects):
		return admission.Rejected("Mood", "not today"), nil
	case w.faults.on(admissionWaits):
		return admission.RetryLater("Mood", "not now", 0), nil
	case w.faults.on(admissionErrs):
		return admission.Verdict{}, errInjected
	}
	return admission.Admitted(), nil
}

// live lets the plan happen, and then waits until the node has come to rest.
func (w *world) live() {
	if watcher, ok := w.runtime.(runtime.Watcher); ok {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() { _ = watcher.Watch(ctx, w.marks.add) }()
		synctest.Wait()
		w.marks.exact = true
	}
	w.start()
	for _, e := range w.plan.events {
		w.runUntil(e.at, func() bool {
			w.act(e.name)
			w.stats.Events++
			if e.fault {
				w.stats.Faults++
			}
			e.do(w)
			return true
		})
		if w.broken.Load() != nil {
			break
		}
	}
	if w.broken.Load() == nil {
		w.heal()
		w.rest()
	}
	w.end()
}

// rest waits until the node has come to rest, no longer than it may take.
func (w *world) rest() {
	bound := w.now() + w.plan.pace.bound()
	for wait := time.Minute; w.broken.Load() == nil; wait *= 3 {
		w.runUntil(min(w.now()+wait, bound), nil)
		if w.broken.Load() != nil {
			return
		}
		if w.checkConverged(); w.broken.Load() == nil {
			return
		}
		if w.now() < bound {
			w.broken.Store(nil)
		}
	}
}

// runUntil gives turns until the time has come, and all turns that are ready by
// then; with an event, that is one of the things to choose from once its time
// has come, and the end.
func (w *world) runUntil(at time.Duration, event func() bool) {
	for w.broken.Load() == nil {
		synctest.Wait()
		w.observe()
		if w.broken.Load() != nil {
			return
		}
		left := at - w.now()
		switch {
		case left <= 0 && event != nil && w.chooseEvent():
			event()
			return
		case w.choose():
		case left <= 0 && event == nil:
			return
		case left <= 0:
			event()
			return
		default:
			w.sleep(left)
		}
	}
}

// sleep lets time pass until something has come, at most so long.
func (w *world) sleep(most time.Duration) {
	if next := w.nextTime(); !next.IsZero() {
		most = min(most, time.Until(next))
	}
	select {
	case <-w.turns.wake:
		return
	default:
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.turns.wake:
	}
}

// nextTime is when something has its time that does not make itself known.
func (w *world) nextTime() (next time.Time) {
	now := time.Now()
	consider := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, t := range w.turns.all() {
		consider(t.fate.notBefore)
	}
	for _, h := range w.hints {
		consider(h.at)
	}
	for _, s := range w.sources {
		consider(s.silent)
	}
	consider(w.upAgain)
	for _, p := range w.order {
		if p.mustStop {
			consider(p.stopBy().Add(time.Nanosecond))
		}
	}
	return next
}

// choices are what may happen next.
type choices struct {
	turns    []*turn
	hints    []int
	sources  []*source
	channels []channel
}

func (c *choices) len() int { return len(c.turns) + len(c.hints) + len(c.sources) + len(c.channels) }

func (w *world) choices() (c choices) {
	now := time.Now()
	for _, t := range w.turns.all() {
		if !t.seen {
			t.seen = true
			t.fate = w.decide(t)
		}
		if t.ready(now) {
			c.turns = append(c.turns, t)
		}
	}
	if w.agent == nil || w.agent.stopping || w.agent.over() {
		return c
	}
	for i, h := range w.hints {
		if !h.at.After(now) {
			c.hints = append(c.hints, i)
		}
	}
	for _, s := range w.sources {
		if s.due(now) {
			c.sources = append(c.sources, s)
		}
	}
	c.channels = w.agent.readyChannels()
	return c
}

// chooseEvent tells whether the event of the plan is next.
func (w *world) chooseEvent() bool {
	c := w.choices()
	return w.draw.IntN(c.len()+1) == 0
}

// choose lets one of the things happen that may; false if there is none.
func (w *world) choose() bool {
	if w.agentDown() {
		return true
	}
	c := w.choices()
	n := c.len()
	if n == 0 {
		return false
	}
	w.countdown()
	if w.agent == nil || w.agent.killed() {
		return true
	}
	i := w.draw.IntN(n)
	switch {
	case i < len(c.turns):
		w.give(c.turns[i])
		return true
	case i < len(c.turns)+len(c.hints):
		w.hint(c.hints[i-len(c.turns)])
		return true
	}
	i -= len(c.turns) + len(c.hints)
	if i < len(c.sources) {
		w.deliver(c.sources[i])
		return true
	}
	ch := c.channels[i-len(c.sources)]
	w.agent.step(ch)
	synctest.Wait()
	if w.agent.found() {
		w.act("the loop takes", channelNames[ch])
	}
	w.checkLedger()
	w.checkProbes()
	return true
}

func (w *world) give(t *turn) {
	w.act(t.what, string(t.uid), t.fate.String())
	if !t.asks() && (t.fate.fails || !t.fate.notBefore.IsZero()) {
		w.hampered(t.uid)
	}
	w.turns.give(t)
}

// deliver has a source say its next word.
func (w *world) deliver(s *source) {
	r := s.next()
	w.act(s.name+" says", string(r.Op), names(r.Pods))
	w.told(s, r)
	s.out <- r
	w.agent.set(config, true)
}

// hint hands a hint over.
func (w *world) hint(i int) {
	h := w.hints[i]
	w.hints = slices.Delete(w.hints, i, i+1)
	if w.notify == nil {
		return
	}
	w.act("hint", string(h.uid))
	w.notify(h.uid)
	w.agent.set(events, true)
}

// act is an action: something that happens at one moment.
func (w *world) act(words ...string) {
	w.stats.Steps++
	w.trace.step(w.now(), words...)
}

func names(pods []*v1.Pod) string {
	var uids []string
	for _, p := range pods {
		uids = append(uids, string(p.UID))
	}
	return fmt.Sprint(uids)
}
