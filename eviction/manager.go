package eviction

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// Manager drives [Evaluate]: it measures, decides and carries out, round after
// round. Rounds never overlap. Its methods are safe for concurrent use.
type Manager struct {
	cfg  Config
	pods *Pods
	// turn holds a token while no round is under way; what follows it is of the
	// round that took it.
	turn      chan struct{}
	state     State
	spare     map[types.UID]string
	toldNode  told[runtime.Event]
	toldPods  told[types.UID]
	refreshed time.Time
	complaint string
	// early holds a token when a round is asked for before its time.
	early chan struct{}

	mu     sync.Mutex
	health Health
}

// NewManager returns a manager that does nothing yet: Run or Round make it work.
func NewManager(cfg Config) (*Manager, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	m := &Manager{
		cfg: cfg, pods: NewPods(cfg.Protect),
		turn: make(chan struct{}, 1), early: make(chan struct{}, 1),
		spare:    map[types.UID]string{},
		toldNode: told[runtime.Event]{}, toldPods: told[types.UID]{},
	}
	var given []Threshold
	m.cfg.Policy.Thresholds, given = ContainerFsThresholds(cfg.Policy.Thresholds, cfg.Policy.Layout)
	for _, t := range given {
		m.cfg.Logger.Warn("thresholds of the containers' file system are derived, the given one is not used", "signal", t.Signal)
	}
	m.turn <- struct{}{}
	return m, nil
}

// Conditions are the reported ones, for an [AdmitHandler].
func (m *Manager) Conditions() []v1.NodeConditionType { return m.Health().Conditions }

// Wake asks for a round now rather than at its time. It does not block; several
// before the round begins are one.
func (m *Manager) Wake() {
	select {
	case m.early <- struct{}{}:
	default:
	}
}

// lookAgain is how long after an early round the next one begins. The kernel tells
// when a limit is crossed, which may be a moment before the figures show it, and
// does not tell again. It is also the least time between two early rounds.
const lookAgain = time.Second

// Run goes through a round each interval, at once after an eviction, and early
// when the notifier says so, until its context ends. It returns when everything
// that it started has ended.
func (m *Manager) Run(ctx context.Context) error {
	var watch sync.WaitGroup
	defer watch.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if m.cfg.Notifier != nil {
		watch.Go(func() { m.watch(ctx) })
	}
	if len(m.cfg.Policy.Thresholds) == 0 && !m.cfg.Policy.LocalStorageLimits {
		<-ctx.Done()
		return ctx.Err()
	}
	timer := time.NewTimer(m.cfg.Interval)
	defer timer.Stop()
	early, wait := m.early, m.cfg.Interval
	for ctx.Err() == nil {
		if m.step(ctx) {
			early, wait = m.early, m.cfg.Interval
			continue
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-early:
			early, wait = nil, min(lookAgain, m.cfg.Interval)
		case <-timer.C:
			early, wait = m.early, m.cfg.Interval
		}
	}
	return ctx.Err()
}

// watch wakes the manager when the notifier does, and says once that it does not.
func (m *Manager) watch(ctx context.Context) {
	err := m.cfg.Notifier.Watch(ctx, m.Wake)
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		err = errors.New("the notifier ended")
	}
	m.cfg.Logger.Info("memory is polled, nobody wakes the eviction manager early", "interval", m.cfg.Interval, "reason", err)
	m.note(func(h *Health) { h.Polling = err })
}

// step is one round of Run; it tells whether the next one begins at once.
func (m *Manager) step(ctx context.Context) bool {
	out, err := m.Round(ctx)
	if err != nil || out.evicted == nil {
		return false
	}
	m.awaitCleanUp(ctx, out.evicted)
	return ctx.Err() == nil
}

// awaitCleanUp waits until all that the evicted pods had is given back.
func (m *Manager) awaitCleanUp(ctx context.Context, uids []types.UID) {
	if m.cfg.CleanedUp == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, m.cfg.CleanUpTimeout)
	defer cancel()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if uids = slices.DeleteFunc(uids, m.cfg.CleanedUp); len(uids) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			m.cfg.Logger.Warn("evicted pods are not cleaned up in time", "pods", uids)
			return
		case <-tick.C:
		}
	}
}

// Round goes through one round: it measures, decides, and carries out what was
// decided. It waits for a round that is under way. An error means that nothing
// was decided, or that an eviction failed; it is tried again in a later round.
func (m *Manager) Round(ctx context.Context) (*Done, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-m.turn:
	}
	defer func() { m.turn <- struct{}{} }()
	m.note(func(h *Health) { h.RoundSince = time.Now() })
	done, err := m.round(ctx)
	m.conclude(done, err)
	return done, err
}

// Done is what a round decided, and what became of it. Its Ranking is good until
// the next round begins.
type Done struct {
	Outcome
	// Relieved is set when reclaim was enough, so that Victim stayed.
	Relieved bool
	evicted  []types.UID
}

// conclude notes how a round went, and says once what is wrong.
func (m *Manager) conclude(done *Done, err error) {
	complaint := ""
	if err != nil {
		complaint = err.Error()
	}
	if complaint != m.complaint && complaint != "" {
		m.cfg.Logger.Warn("eviction round", "err", err)
	} else if complaint != m.complaint {
		m.cfg.Logger.Info("eviction rounds go through again")
	}
	m.complaint = complaint
	m.note(func(h *Health) {
		h.RoundSince, h.Evicting = time.Time{}, nil
		if done == nil {
			h.Err, h.Failures = err, h.Failures+1
			return
		}
		h.LastRound, h.Err, h.Failures, h.KillErr = time.Now(), nil, 0, err
		h.Stuck, h.Problems, h.Observations, h.Met = done.Stuck, done.Problems, done.State.Observations, done.State.Met
	})
	if done != nil && m.cfg.Hooks.Round != nil {
		m.cfg.Hooks.Round(&done.Outcome)
	}
}

// errStats is wrapped by the error of a round in which the node could not be
// measured.
var errStats = errors.New("stats are not available")

// observe measures the node.
func (m *Manager) observe(ctx context.Context) (*NodeStats, []Observation, error) {
	node, err := m.cfg.Stats.NodeStats(ctx)
	if err == nil && node == nil {
		err = errors.New("the provider gave none")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: node: %w", errStats, err)
	}
	observations := Observe(node)
	if o, ok := m.cfg.Stats.(Observer); ok {
		more, err := o.Observe(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: observer: %w", errStats, err)
		}
		observations = append(observations, more...)
	}
	return node, observations, nil
}
