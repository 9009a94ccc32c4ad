// Package diskstore is the [syncloop.Store] on disk: what the loop must remember of
// a pod stands in the record that package checkpoint keeps of it.
//
//	folder, err := checkpoint.Open(checkpoint.Config{Dir: dir})
//	pods, err := podmanager.NewPodConfig(podmanager.Config{
//		Sources:     folder.Sources(sources),
//		Checkpoints: folder,
//	})
//	loop, err := syncloop.New(syncloop.Config{PodConfig: pods, Store: diskstore.New(folder), …})
//
// A host that wants no pods on disk gives the folder the policy None, or leaves
// Sources and Checkpoints out.
//
// What is remembered is the JSON of a [syncloop.Record]. Fields that are not known
// are passed over, and those that are missing are zero, so that an agent reads what
// an older or a newer one has written.
package diskstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/kubeparts/kubeparts/podmanager/checkpoint"
	"github.com/kubeparts/kubeparts/syncloop"
)

// Store is a [syncloop.Store] in a folder of checkpoints.
type Store struct{ folder *checkpoint.Folder }

var _ syncloop.Store = (*Store)(nil)

// New makes a store of a folder that was opened.
func New(folder *checkpoint.Folder) *Store { return &Store{folder} }

// Load implements [syncloop.Store]. What was damaged is among the Problems of the
// folder; the error names records that hold something else.
func (s *Store) Load(ctx context.Context) ([]syncloop.Record, error) {
	remembered := s.folder.Remembered()
	records := make([]syncloop.Record, 0, len(remembered))
	var errs []error
	for _, m := range remembered {
		if ctx.Err() != nil {
			return records, errors.Join(append(errs, context.Cause(ctx))...)
		}
		var r syncloop.Record
		err := json.Unmarshal(m.Data, &r)
		if err == nil && r.UID != m.UID {
			err = errors.New("it has another UID")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("what is remembered of pod %q: %w", m.UID, err))
			continue
		}
		records = append(records, r)
	}
	return records, errors.Join(errs...)
}

// Commit implements [syncloop.Store].
func (s *Store) Commit(ctx context.Context, b syncloop.Batch) error {
	keep, err := memories(b.Save)
	if err != nil {
		return err
	}
	return s.folder.Remember(ctx, keep, b.Delete...)
}

// memories is the JSON of records, made side by side: a burst has a thousand.
func memories(records []syncloop.Record) ([]checkpoint.Memory, error) {
	const share = 128
	keep, errs := make([]checkpoint.Memory, len(records)), make([]error, len(records))
	var making sync.WaitGroup
	for begin := 0; begin < len(records); begin += share {
		making.Go(func() {
			for i := begin; i < min(begin+share, len(records)); i++ {
				r := &records[i]
				data, err := json.Marshal(r)
				if err != nil {
					errs[i] = fmt.Errorf("record of pod %q: %w", r.UID, err)
				}
				keep[i] = checkpoint.Memory{UID: r.UID, Data: data}
			}
		})
	}
	making.Wait()
	return keep, errors.Join(errs...)
}
