package synclooptest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/synclooptest"
)

// The Store in memory keeps the rules.
func TestStoreInMemoryKeepsTheRules(t *testing.T) {
	synclooptest.TestStore(t, func(*testing.T) synclooptest.OpenStore {
		store := &synclooptest.Store{}
		return func() (syncloop.Store, error) { return store, nil }
	})
}

// brokenStore changes what goes into a good store and what comes out.
type brokenStore struct {
	*synclooptest.Store
	load   func(ctx context.Context, s *synclooptest.Store) ([]syncloop.Record, error)
	commit func(ctx context.Context, s *synclooptest.Store, b syncloop.Batch) error
}

func (s brokenStore) Load(ctx context.Context) ([]syncloop.Record, error) {
	if s.load != nil {
		return s.load(ctx, s.Store)
	}
	return s.Store.Load(ctx)
}

func (s brokenStore) Commit(ctx context.Context, b syncloop.Batch) error {
	if s.commit != nil {
		return s.commit(ctx, s.Store, b)
	}
	return s.Store.Commit(ctx, b)
}

// Each deliberately broken store fails, and by the rule that it breaks.
func TestStoreSuiteFindsBrokenStores(t *testing.T) {
	for name, c := range map[string]struct {
		rule   string
		broken brokenStore
	}{
		"a new place is an error": {"empty", brokenStore{load: func(ctx context.Context, s *synclooptest.Store) ([]syncloop.Record, error) {
			if n, _ := s.Len(); n == 0 {
				return nil, errors.New("no such file")
			}
			return s.Load(ctx)
		}}},
		"numbers go through a float64": {"as-it-was", brokenStore{commit: func(ctx context.Context, s *synclooptest.Store, b syncloop.Batch) error {
			kept := slices.Clone(b.Save)
			for i := range kept {
				kept[i].Version = uint64(float64(kept[i].Version))
			}
			return s.Commit(ctx, syncloop.Batch{Save: kept, Delete: b.Delete})
		}}},
		"the verdict is not kept": {"as-it-was", brokenStore{load: func(ctx context.Context, s *synclooptest.Store) ([]syncloop.Record, error) {
			records, err := s.Load(ctx)
			for i := range records {
				records[i].Verdict = nil
			}
			return records, err
		}}},
		"a new record is laid over the old": {"replace", brokenStore{commit: func(ctx context.Context, s *synclooptest.Store, b syncloop.Batch) error {
			kept := slices.Clone(b.Save)
			for i, r := range kept {
				if old, ok := s.Record(r.UID); ok && r.Status == nil {
					kept[i].Status = old.Status
				}
			}
			return s.Commit(ctx, syncloop.Batch{Save: kept, Delete: b.Delete})
		}}},
		"nothing is ever deleted": {"delete", brokenStore{commit: func(ctx context.Context, s *synclooptest.Store, b syncloop.Batch) error {
			return s.Commit(ctx, syncloop.Batch{Save: b.Save})
		}}},
		"what is not there can't be deleted": {"delete", brokenStore{commit: func(ctx context.Context, s *synclooptest.Store, b syncloop.Batch) error {
			for _, uid := range b.Delete {
				if _, ok := s.Record(uid); !ok {
					return errors.New("no such record")
				}
			}
			return s.Commit(ctx, b)
		}}},
		"half a batch is a success": {"batch", brokenStore{commit: func(ctx context.Context, s *synclooptest.Store, b syncloop.Batch) error {
			if ctx.Err() != nil {
				b.Save = b.Save[:len(b.Save)/2]
			}
			return s.Commit(ctx, b)
		}}},
		"what it is given is written to": {"read-only", brokenStore{commit: func(ctx context.Context, s *synclooptest.Store, b syncloop.Batch) error {
			err := s.Commit(ctx, b)
			for i := range b.Save {
				b.Save[i].Namespace = ""
			}
			return err
		}}},
		"Load does not heed its context": {"context", brokenStore{load: func(ctx context.Context, s *synclooptest.Store) ([]syncloop.Record, error) {
			if ctx.Err() != nil {
				<-time.After(time.Hour)
			}
			return s.Load(ctx)
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := synclooptest.CheckStore(t.Context(), func() synclooptest.OpenStore {
					store := c.broken
					store.Store = &synclooptest.Store{}
					return func() (syncloop.Store, error) { return store, nil }
				})
				require.Contains(t, conformance.Broken(err), c.rule, "%v", err)
				<-time.After(2 * time.Hour) // what hung has ended by then
			})
		})
	}
}

// A store that keeps all in memory until it is closed, and never is, forgets.
func TestStoreSuiteFindsForgetfulStores(t *testing.T) {
	err := synclooptest.CheckStore(t.Context(), func() synclooptest.OpenStore {
		return func() (syncloop.Store, error) { return &synclooptest.Store{}, nil }
	})
	require.Contains(t, conformance.Broken(err), "durable")
	require.ErrorContains(t, err, `record "a" is not there`)

	err = synclooptest.CheckStore(t.Context(), func() synclooptest.OpenStore {
		return func() (syncloop.Store, error) { return nil, errors.New("no disk") }
	})
	require.ErrorContains(t, err, "no disk")

	err = synclooptest.CheckStore(t.Context(), func() synclooptest.OpenStore {
		return func() (syncloop.Store, error) { return nil, nil }
	})
	require.ErrorContains(t, err, "it panicked", "one rule is broken by that, and the next is checked")
}
