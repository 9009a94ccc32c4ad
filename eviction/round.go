package eviction

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/internal/repeat"
	"github.com/kubeparts/kubeparts/runtime"
)

// round measures, decides and carries out. It has the turn.
func (m *Manager) round(ctx context.Context) (*Done, error) {
	m.pods.Set(m.cfg.Pods())
	maps.DeleteFunc(m.toldPods, func(uid types.UID, _ *repeat.Beat) bool {
		_, known := m.pods.places[uid]
		return !known
	})
	in, err := m.measure(ctx)
	if err != nil {
		return nil, err
	}
	done := &Done{Outcome: Evaluate(in)}
	m.state = done.State
	m.publish(done)
	if len(done.Over) > 0 {
		return done, m.evict(ctx, done, "", done.Over...)
	}
	if done.Short == "" {
		return done, nil
	}
	if done.Relieved = m.reclaim(ctx, &done.Outcome); done.Relieved || done.Victim == nil {
		return done, nil
	}
	return done, m.evict(ctx, done, done.Signal, *done.Victim)
}

// measure reads what the round looks at: the node, pods that have limits, and
// all pods when one must go. What can't be read in time is left out.
func (m *Manager) measure(ctx context.Context) (Input, error) {
	bounded, cancel := context.WithTimeout(ctx, m.cfg.StatsTimeout)
	defer cancel()
	node, observations, err := m.observe(bounded)
	if err != nil {
		return Input{}, err
	}
	now := time.Now()
	m.refresh(node, now)
	var none *Pods
	pods := none.All()
	if m.cfg.Policy.LocalStorageLimits {
		pods = m.pods.Limited()
	}
	if _, short := firstReclaimable(m.cfg.Policy, judge(m.cfg.Policy, observations, m.state, now).acting); short {
		pods = m.pods.All()
	}
	m.measurePods(bounded, pods)
	return Input{
		Policy: m.cfg.Policy, Observations: observations, Pods: m.pods, Spare: m.spare,
		State: m.state, Now: now,
	}, ctx.Err()
}

// measurePods reads the stats of pods. One whose stats can't be read is spared:
// an error is no reason to evict.
func (m *Manager) measurePods(ctx context.Context, pods iter.Seq[*v1.Pod]) {
	before := len(m.spare)
	m.pods.Unmeasure()
	clear(m.spare)
	for pod := range pods {
		stats, err := m.cfg.Stats.PodStats(ctx, pod.UID)
		switch {
		case err == nil && stats != nil:
			m.pods.Measure(pod.UID, stats)
		case err != nil && !errors.Is(err, runtime.ErrNotFound):
			m.spare[pod.UID] = fmt.Sprintf("its stats can't be read: %v", err)
			if before == 0 && len(m.spare) == 1 {
				m.cfg.Logger.Warn("pods are left out of eviction while their stats can't be read",
					"namespace", pod.Namespace, "pod", pod.Name, "err", err)
			}
		}
	}
}

// refresh tells the notifier the figures anew.
func (m *Manager) refresh(node *NodeStats, now time.Time) {
	r, ok := m.cfg.Notifier.(Refresher)
	if !ok || now.Sub(m.refreshed) < lookAgain && !m.refreshed.IsZero() {
		return
	}
	m.refreshed = now
	if err := r.Refresh(m.cfg.Policy.Thresholds, node); err != nil {
		m.cfg.Logger.Debug("the memory notifier keeps its limits", "err", err)
	}
}

// publish reports conditions, events about the node, and what is wrong with the
// observations.
func (m *Manager) publish(done *Done) {
	changed := false
	var before []Problem
	m.note(func(h *Health) {
		changed = !slices.Equal(h.Conditions, done.Conditions)
		h.Conditions, before = done.Conditions, h.Problems
	})
	if changed {
		m.cfg.Logger.Info("node pressure", "conditions", done.Conditions)
		if m.cfg.Hooks.Conditions != nil {
			m.cfg.Hooks.Conditions(slices.Clone(done.Conditions))
		}
	}
	for _, p := range done.Problems {
		if !slices.ContainsFunc(before, func(b Problem) bool { return b.Signal == p.Signal }) {
			m.cfg.Logger.Warn("an observation is not acted upon", "signal", p.Signal, "problem", p.Text)
		}
	}
	if done.Short == "" && len(done.State.Met) == 0 {
		clear(m.toldNode)
	}
	for _, e := range done.Events {
		if m.toldNode.due(e, time.Now()) {
			m.nodeEvent(e)
		}
	}
}

func (m *Manager) nodeEvent(e runtime.Event) {
	if m.cfg.Events != nil && m.cfg.Node != nil {
		m.cfg.Events.Eventf(m.cfg.Node, e.Type, e.Reason, "%s", e.Message)
	}
}

// told is what was told of each thing.
type told[K comparable] map[K]*repeat.Beat

var eventPace = repeat.Pace{First: 10 * time.Second, Last: 10 * time.Minute}

func (t told[K]) due(key K, now time.Time) bool {
	if t[key] == nil {
		t[key] = new(repeat.Beat)
	}
	return eventPace.Pass(t[key], now)
}

// reclaim frees what the node wastes, and tells whether that was enough.
func (m *Manager) reclaim(ctx context.Context, out *Outcome) bool {
	if len(out.Reclaim) == 0 {
		return false
	}
	for _, kind := range out.Reclaim {
		free := m.cfg.Reclaim[kind]
		if free == nil {
			continue
		}
		if err := free(ctx); err != nil {
			m.cfg.Logger.Warn("reclaim failed", "what", kind, "err", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, m.cfg.StatsTimeout)
	defer cancel()
	_, after, err := m.observe(ctx)
	if err != nil {
		m.cfg.Logger.Warn("what was reclaimed is not known", "err", err)
		return false
	}
	return out.Relieved(after)
}

// evict kills pods side by side, and says so before.
func (m *Manager) evict(ctx context.Context, done *Done, signal Signal, victims ...Victim) error {
	m.note(func(h *Health) { h.Evicting = victims })
	errs := make([]error, len(victims))
	var kills sync.WaitGroup
	for i, v := range victims {
		m.cfg.Logger.Info("pod is evicted", "namespace", v.Pod.Namespace, "pod", v.Pod.Name, "uid", v.Pod.UID, "message", v.Message)
		m.podEvent(v)
		kills.Go(func() {
			if err := m.cfg.Kill(ctx, v); err != nil {
				errs[i] = fmt.Errorf("evict pod %s/%s: %w", v.Pod.Namespace, v.Pod.Name, err)
			}
			if m.cfg.Hooks.Evicted != nil {
				m.cfg.Hooks.Evicted(v, signal, errs[i])
			}
		})
	}
	kills.Wait()
	uids := make([]types.UID, 0, len(victims))
	for i, v := range victims {
		if errs[i] == nil {
			uids = append(uids, v.Pod.UID)
		}
	}
	if len(uids) > 0 {
		done.evicted = uids
	}
	return errors.Join(errs...)
}

// podEvent tells a pod's users that it is evicted. When that fails and is tried
// again, they are told at a falling rate.
func (m *Manager) podEvent(v Victim) {
	if m.cfg.Events == nil || !m.toldPods.due(v.Pod.UID, time.Now()) {
		return
	}
	e := v.Event()
	if r, ok := m.cfg.Events.(annotatedRecorder); ok {
		r.AnnotatedEventf(v.Pod, v.Annotations, e.Type, e.Reason, "%s", e.Message)
		return
	}
	m.cfg.Events.Eventf(v.Pod, e.Type, e.Reason, "%s", e.Message)
}
