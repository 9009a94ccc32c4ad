package simtest

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
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
	cfg  Config
	plan *plan
	draw draw
	// losing decides what of the store can't be read, beside all else.
	losing draw
	began  time.Time

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
		cfg: cfg, plan: p, draw: newDraw(p.seed, 2), losing: newDraw(p.seed, 6), began: time.Now(),
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
