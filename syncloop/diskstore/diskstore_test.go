package diskstore_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/podmanager/checkpoint"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/diskstore"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
	"github.com/kubeparts/kubeparts/syncloop/simtest"
	"github.com/kubeparts/kubeparts/syncloop/synclooptest"
)

var (
	from  = flag.Uint64("from", 1, "the first seed of the simulations")
	seeds = flag.Uint64("seeds", 8, "how many seeds they take")
)

// open opens the store of a folder, as each agent does.
func open(dir string, policy checkpoint.Policy) (syncloop.Store, error) {
	folder, err := checkpoint.Open(checkpoint.Config{Dir: dir, Policy: policy})
	if err != nil {
		return nil, err
	}
	return diskstore.New(folder), errors.Join(folder.Problems()...)
}

func TestStoreKeepsTheRules(t *testing.T) {
	for _, policy := range []checkpoint.Policy{checkpoint.All, checkpoint.None} {
		t.Run(string(policy), func(t *testing.T) {
			synclooptest.TestStore(t, func(t *testing.T) synclooptest.OpenStore {
				dir := t.TempDir()
				return func() (syncloop.Store, error) { return open(dir, policy) }
			})
		})
	}
}

// A record that an older or a newer agent wrote is read as far as it is known.
func TestRecordsOfOtherVersions(t *testing.T) {
	for name, c := range map[string]struct {
		memory string
		want   syncloop.Record
		err    string
	}{
		"the first release": {
			memory: `{"UID":"a","Namespace":"default","Name":"web","Source":"http","Admitted":true,"Takes":null,` +
				`"Verdict":{"Reason":"Evicted","Message":"low on memory"},"TerminatingSince":"2026-11-21T14:00:00Z","Grace":30000000000,"Version":7}`,
			want: syncloop.Record{
				UID: "a", Namespace: "default", Name: "web", Source: "http", Admitted: true, Version: 7,
				Verdict:          &podstatus.Verdict{Reason: "Evicted", Message: "low on memory"},
				TerminatingSince: time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC), Grace: 30 * time.Second,
			},
		},
		"a later one":         {memory: `{"UID":"a","Later":{"x":[1]}}`, want: syncloop.Record{UID: "a"}},
		"of another pod":      {memory: `{"UID":"b"}`, err: `what is remembered of pod "a": it has another UID`},
		"something else":      {memory: `[1]`, err: `what is remembered of pod "a"`},
		"a verdict that is 1": {memory: `{"UID":"a","Verdict":1}`, err: `what is remembered of pod "a"`},
	} {
		t.Run(name, func(t *testing.T) {
			folder, err := checkpoint.Open(checkpoint.Config{Dir: t.TempDir()})
			require.NoError(t, err)
			other := checkpoint.Memory{UID: "other", Data: []byte(`{"UID":"other"}`)}
			require.NoError(t, folder.Remember(t.Context(), []checkpoint.Memory{{UID: "a", Data: []byte(c.memory)}, other}))
			records, err := diskstore.New(folder).Load(t.Context())
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				require.Equal(t, []syncloop.Record{{UID: "other"}}, records, "the others are not concerned")
				return
			}
			require.NoError(t, err)
			require.Equal(t, []syncloop.Record{c.want, {UID: "other"}}, records)
		})
	}
}

// withCheckpoints is a node with all that a plan may have, whose pods are on disk, too.
func withCheckpoints(t *testing.T) simtest.Config {
	root := t.TempDir()
	return simtest.Config{Hooks: true, Probes: true, Resizes: true, Pressure: true, Preempt: true, Checkpoints: func() func() *checkpoint.Folder {
		dir, err := os.MkdirTemp(root, "node")
		if err != nil {
			panic(err)
		}
		return func() *checkpoint.Folder {
			folder, err := checkpoint.Open(checkpoint.Config{Dir: dir, Policy: checkpoint.All})
			if err != nil {
				panic(err)
			}
			return folder
		}
	}}
}

// Pods on disk come back before any source has spoken.
func TestSimulatedRestores(t *testing.T) {
	simtest.Run(t, withCheckpoints(t), *from, *seeds)
}

// What seeds found about that.
func TestSimulatedRestoresThatFoundSomething(t *testing.T) {
	for name, seed := range map[string]uint64{
		"the first word knows what the source told meanwhile":     2300227,
		"what could not be written down, until the source speaks": 2400422,
	} {
		t.Run(name, func(t *testing.T) {
			failure, _ := simtest.Check(t, withCheckpoints(t), seed)
			require.Nil(t, failure)
		})
	}
}

// reopened is a store that is opened anew by each agent.
type reopened struct {
	dir string
	syncloop.Store
}

// Load opens the folder as it is on disk.
func (s *reopened) Load(ctx context.Context) ([]syncloop.Record, error) {
	store, err := open(s.dir, checkpoint.None)
	if err != nil {
		return nil, err
	}
	s.Store = store
	return store.Load(ctx)
}

// A whole node lives on this store, with agents that are killed at any moment.
func TestSimulatedRestarts(t *testing.T) {
	root := t.TempDir()
	simtest.Run(t, simtest.Config{Store: func() syncloop.Store {
		dir, err := os.MkdirTemp(root, "node")
		if err != nil {
			panic(err)
		}
		return &reopened{dir: filepath.Join(dir, "checkpoints")}
	}}, *from, *seeds)
}
