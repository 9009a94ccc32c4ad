// Package evictiontest has a scripted source of figures about a node.
package evictiontest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/kubeparts/kubeparts/eviction"
)

// Stats is an [eviction.StatsProvider] whose figures a test sets. They keep
// until they are set anew; each Observe stamps them with the present time. It
// is safe for concurrent use, and the zero value measures nothing. It knows the
// node alone, no pods.
type Stats struct {
	mu     sync.Mutex
	levels map[eviction.Signal]level
	err    error
}

type level struct{ available, capacity int64 }

// Set says how much of a signal is left, and of how much.
func (s *Stats) Set(signal eviction.Signal, available, capacity int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.levels == nil {
		s.levels = make(map[eviction.Signal]level)
	}
	s.levels[signal] = level{available, capacity}
}

// Unset makes a signal one that can't be measured.
func (s *Stats) Unset(signal eviction.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.levels, signal)
}

// Fail makes Observe return the error; nil ends that.
func (s *Stats) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// Observe implements [eviction.StatsProvider]. Observations are sorted by
// signal.
func (s *Stats) Observe(ctx context.Context) ([]eviction.Observation, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	now := time.Now()
	observed := make([]eviction.Observation, 0, len(s.levels))
	for signal, l := range s.levels {
		observed = append(observed, eviction.Observation{
			Signal: signal, Available: l.available, Capacity: l.capacity, Time: now,
		})
	}
	slices.SortFunc(observed, func(a, b eviction.Observation) int {
		if a.Signal < b.Signal {
			return -1
		}
		return 1
	})
	return observed, nil
}
