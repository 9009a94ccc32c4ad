package syncloop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission/resize"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

// SyncLoop brings what should run and what does run together: it is the handler
// of the loop's steps that most hosts want, with the loop around it. Its methods
// may be called from any goroutine, save the Handle ones, which the loop calls.
//
// One goroutine owns all state and deals with one event at a time. What may take
// long happens in workers, goroutines that live as long as their pod is busy;
// what they find out comes back as an event.
//
// A phase never leaves Succeeded or Failed, also over a restart of the agent with
// a [Store]. There is one exception: pods that Shutdown stopped start again with
// the next agent, for nothing of the stop is remembered.
type SyncLoop struct {
	cfg     Config
	manager *podmanager.Manager
	log     *slog.Logger
	rules   lifecycle.Rules
	monitor Monitor
	running atomic.Bool
	// nodeChanged is set while the loop has yet to hear of that.
	nodeChanged atomic.Bool
	over        chan struct{}

	inbox    *inbox
	dirty    *dirtySet
	views    views
	gate     eventGate
	sink     *sinkDriver
	store    *storeDriver
	relister relister
	workers  workers
	// clock counts moments: what was read at a later moment than something
	// happened knows of it. It is no time.
	clock atomic.Uint64

	// What follows belongs to the loop's goroutine.

	started time.Time
	pods    map[types.UID]*record
	names   lifecycle.Names
	timers  timers[types.UID]
	alarm   alarm
	version uint64
	idle    idleJobs

	heard map[string]bool
	// past holds what the store remembered of pods that no source has named
	// yet; strangers what the runtime holds of pods that have no record.
	past      map[types.UID]*Record
	strangers map[types.UID]runtime.ListedPod
	// unlisted are pods that were seen in the runtime since the last list.
	unlisted []types.UID
	// held are updates that came before the runtime was first listed.
	held   []podmanager.Update
	listed bool

	admitting admitting
	// judging is the pod that admission is asked about just now.
	judging atomic.Pointer[v1.Pod]
	// resizes are the pods that ask for other resources than they have.
	resizes resize.Queue
	// cleaning: mirrors are being deleted.
	cleaning bool
	stopping stopping
	// waiters wait for single pods to stop.
	waiters    map[lifecycle.Waiter]chan struct{}
	lastWaiter lifecycle.Waiter
}

// New makes a loop. It starts nothing; the error names the field that is wrong.
func New(cfg Config) (*SyncLoop, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	l := &SyncLoop{
		cfg:       cfg,
		manager:   cfg.Manager,
		log:       cfg.Logger,
		rules:     lifecycle.Rules{Resync: cfg.ResyncInterval, Backoff: cfg.RetryInterval},
		over:      make(chan struct{}),
		inbox:     newInbox(),
		dirty:     newDirtySet(),
		pods:      map[types.UID]*record{},
		heard:     map[string]bool{},
		past:      map[types.UID]*Record{},
		strangers: map[types.UID]runtime.ListedPod{},
	}
	l.alarm.ring = l.inbox.ring
	l.relister.soon = make(chan struct{}, 1)
	l.admitting.waiting = map[types.UID]*record{}
	l.workers.spawn = cfg.spawn
	l.workers.later = func() { l.timers.set(workersPass, time.Now().Add(burstTime)) }
	l.sink = newSinkDriver(cfg)
	l.store = newStoreDriver(cfg, l.sink)
	return l, nil
}

// ErrRan is returned by a second Run.
var ErrRan = errors.New("syncloop: Run was called before")

// Run runs the loop until its context ends or the updates are closed, and
// returns nil then, or what is wrong with the PodConfig. All pods are left
// running. When it returns, every goroutine that it started has ended. A loop
// runs once.
func (l *SyncLoop) Run(ctx context.Context) error {
	if l.running.Swap(true) {
		return ErrRan
	}
	defer close(l.over)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	l.started = time.Now()
	l.version = uint64(max(l.started.UnixNano(), 0))
	l.workers.start(ctx, l.cfg.MaxWorkers)
	l.sink.start(ctx)
	l.store.start(ctx)
	l.recall(ctx)

	var background sync.WaitGroup
	var sources error
	updates := l.cfg.Updates
	if c := l.cfg.PodConfig; c != nil {
		updates = c.Updates()
		background.Go(func() {
			if sources = c.Run(ctx); sources != nil {
				cancel()
			}
		})
	}
	events := make(chan RuntimeEvent)
	background.Go(func() { l.pump(ctx, events) })
	if w, ok := l.cfg.Runtime.(runtime.Watcher); ok {
		l.relister.watched.Store(true)
		background.Go(func() { l.watchLoop(ctx, w) })
	}
	background.Go(func() { l.relistLoop(ctx) })
	l.loop(ctx, updates, events)

	cancel()
	background.Wait()
	l.workers.wait()
	l.sink.stop()
	l.store.stop()
	return sources
}

// loop makes steps until there are no more.
func (l *SyncLoop) loop(ctx context.Context, updates <-chan podmanager.Update, events <-chan RuntimeEvent) {
	housekeeping := time.NewTicker(l.cfg.HousekeepingInterval)
	defer housekeeping.Stop()
	defer l.alarm.stop()
	channels := Channels{
		Config:        updates,
		RuntimeEvents: events,
		SyncDue:       l.inbox.wake,
		Housekeeping:  housekeeping.C,
	}
	if l.cfg.Probes != nil {
		channels.Probes = l.cfg.Probes.Changed()
	}
	step := Step
	if l.cfg.Conductor != nil {
		step = l.cfg.Conductor.Step
	}
	for step(ctx, channels, l, &l.monitor) {
		l.tryResizes()
		l.armAlarm()
	}
}

// recall reads what the store remembers.
func (l *SyncLoop) recall(ctx context.Context) {
	if l.cfg.Store == nil {
		return
	}
	began := time.Now()
	records, err := l.cfg.Store.Load(ctx)
	if err != nil {
		err = fmt.Errorf("load the store: %w", err)
		l.log.Error("what is remembered of pods could not be read whole", "err", err)
	}
	if h := l.cfg.Hooks.StoreLoaded; h != nil {
		h(len(records), time.Since(began), err)
	}
	for i := range records {
		r := &records[i]
		l.past[r.UID] = r
		l.version = max(l.version, r.Version)
	}
}

// Monitor returns the loop's monitor.
func (l *SyncLoop) Monitor() *Monitor { return &l.monitor }

// moment returns the next moment.
func (l *SyncLoop) moment() uint64 { return l.clock.Add(1) }

// armAlarm sees that the loop wakes when the next thing is due.
func (l *SyncLoop) armAlarm() {
	if at, ok := l.timers.next(); ok {
		l.alarm.setFor(at, time.Now())
	}
}
