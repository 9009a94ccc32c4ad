package evictiontest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/eviction"
	"github.com/kubeparts/kubeparts/eviction/evictiontest"
	"github.com/kubeparts/kubeparts/internal/conformance"
)

func subject(*testing.T) evictiontest.Subject {
	var s evictiontest.Stats
	s.Set(eviction.MemoryAvailable, 5, 50)
	s.Set(eviction.NodeFsInodesFree, 5, 50)
	s.Set("gpu.available", 1, 2)
	s.SetPodMemory("a", 7)
	return evictiontest.Subject{Provider: &s, Pods: []types.UID{"a"}}
}

func TestStatsKeepsToTheRules(t *testing.T) {
	evictiontest.TestStatsProvider(t, subject)
	require.NoError(t, evictiontest.CheckStatsProvider(t.Context(), func() evictiontest.Subject { return subject(t) }))
}

// broken is a provider of which one thing is broken.
type broken struct {
	eviction.StatsProvider
	node func(context.Context, *eviction.NodeStats, error) (*eviction.NodeStats, error)
	pod  func(types.UID, *eviction.PodStats, error) (*eviction.PodStats, error)
}

func (b *broken) NodeStats(ctx context.Context) (*eviction.NodeStats, error) {
	n, err := b.StatsProvider.NodeStats(ctx)
	if b.node != nil {
		return b.node(ctx, n, err)
	}
	return n, err
}

func (b *broken) PodStats(ctx context.Context, uid types.UID) (*eviction.PodStats, error) {
	p, err := b.StatsProvider.PodStats(ctx, uid)
	if b.pod != nil {
		return b.pod(uid, p, err)
	}
	return p, err
}

func onNode(change func(*eviction.NodeStats)) *broken {
	return &broken{node: func(_ context.Context, n *eviction.NodeStats, err error) (*eviction.NodeStats, error) {
		if err == nil {
			change(n)
		}
		return n, err
	}}
}

func TestSuiteCatchesBrokenProviders(t *testing.T) {
	past, shared := metav1.Now(), &eviction.NodeStats{}
	for _, c := range []struct {
		rule   string
		broken *broken
	}{
		{"measures", onNode(func(n *eviction.NodeStats) { *n = eviction.NodeStats{} })},
		{"possible", onNode(func(n *eviction.NodeStats) { n.Memory.AvailableBytes = new(uint64(1 << 63)) })},
		{"possible", onNode(func(n *eviction.NodeStats) { n.Fs.InodesFree = new(uint64(51)) })},
		{"missing", onNode(func(n *eviction.NodeStats) { n.Fs.Inodes, n.Fs.InodesFree = new(uint64), new(uint64) })},
		{"missing", onNode(func(n *eviction.NodeStats) { n.Fs.CapacityBytes, n.Fs.AvailableBytes = new(uint64), new(uint64) })},
		{"times", onNode(func(n *eviction.NodeStats) { n.Memory.Time = metav1.Time{} })},
		{"times", onNode(func(n *eviction.NodeStats) {
			past = metav1.NewTime(past.Add(-time.Second))
			n.Memory.Time = past
		})},
		{"unknown", &broken{pod: func(uid types.UID, p *eviction.PodStats, err error) (*eviction.PodStats, error) {
			return &eviction.PodStats{PodRef: eviction.PodRef{UID: uid}}, nil
		}}},
		{"pods", &broken{pod: func(_ types.UID, p *eviction.PodStats, err error) (*eviction.PodStats, error) {
			if err == nil {
				p.PodRef.UID = "b"
			}
			return p, err
		}}},
		{"pods", &broken{pod: func(_ types.UID, p *eviction.PodStats, err error) (*eviction.PodStats, error) {
			if err == nil {
				p.Containers = make([]eviction.ContainerStats, 2)
			}
			return p, err
		}}},
		{"own", &broken{node: func(_ context.Context, n *eviction.NodeStats, err error) (*eviction.NodeStats, error) {
			if err == nil {
				*shared = *n
			}
			return shared, err
		}}},
		{"context", &broken{node: func(_ context.Context, n *eviction.NodeStats, err error) (*eviction.NodeStats, error) {
			return &eviction.NodeStats{}, nil
		}}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			open := func(context.Context) (evictiontest.Subject, func() error, error) {
				s := subject(t)
				c.broken.StatsProvider = s.Provider
				s.Provider = c.broken
				return s, nil, nil
			}
			// No other rule: that of many callers would find data races in some of these.
			only := func(rule string) bool { return rule == c.rule }
			err := evictiontest.Rules.Check(t.Context(), open, conformance.Options{Only: only})
			require.Equal(t, []string{c.rule}, conformance.Broken(err), "%v", err)
		})
	}
}
