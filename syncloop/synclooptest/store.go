package synclooptest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/syncloop"
)

// Store is a [syncloop.Store] in memory. The zero value is ready. It outlives
// an agent: a test of a restart gives the same Store to the next loop. It is
// safe for concurrent use.
type Store struct {
	// BeforeLoad and BeforeCommit, if set, are called before what their names
	// say; an error keeps it from happening. Set them before use.
	BeforeLoad   func(ctx context.Context) error
	BeforeCommit func(ctx context.Context, b syncloop.Batch) error

	mu      sync.Mutex
	records map[types.UID]syncloop.Record
	commits int
}

var _ syncloop.Store = (*Store)(nil)

// Load implements [syncloop.Store].
func (s *Store) Load(ctx context.Context) ([]syncloop.Record, error) {
	if s.BeforeLoad != nil {
		if err := s.BeforeLoad(ctx); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.records), func(a, b syncloop.Record) int {
		return cmp.Compare(a.UID, b.UID)
	}), nil
}

// Commit implements [syncloop.Store].
func (s *Store) Commit(ctx context.Context, b syncloop.Batch) error {
	if s.BeforeCommit != nil {
		if err := s.BeforeCommit(ctx, b); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commits++
	if s.records == nil {
		s.records = map[types.UID]syncloop.Record{}
	}
	for _, r := range b.Save {
		s.records[r.UID] = r
	}
	for _, uid := range b.Delete {
		delete(s.records, uid)
	}
	return nil
}

// Record returns what is remembered of a pod.
func (s *Store) Record(uid types.UID) (r syncloop.Record, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok = s.records[uid]
	return r, ok
}

// Len returns of how many pods something is remembered, and in how many commits
// that came about.
func (s *Store) Len() (records, commits int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.records), s.commits
}
