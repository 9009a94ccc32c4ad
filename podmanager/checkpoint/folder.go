package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/internal/durable"
	"github.com/kubeparts/kubeparts/podmanager"
)

// Config says where and what a [Folder] keeps.
type Config struct {
	// Dir is the folder's path. It is made when it is missing. One agent has it
	// at a time.
	Dir string
	// Policy says which pods are kept; [Annotated] by default.
	Policy Policy

	// faults lets the disk fail in tests.
	faults durable.Faults
}

// Folder is the checkpoints of one agent. Its methods are safe for concurrent
// use. The cost of a change is that of the pods that change, however many there
// are.
type Folder struct {
	policy Policy
	disk   *durable.Batched
	// restored are the pods that were on disk at the start, by source.
	restored map[string][]*v1.Pod
	problems []error

	// writer is held by whoever writes to the disk.
	writer chan struct{}

	mu      sync.Mutex // guards what follows, and is never held during I/O
	records map[types.UID]*record
	// dirty are the pods whose records on disk are out of date.
	dirty map[types.UID]struct{}
}

var _ podmanager.Checkpointer = (*Folder)(nil)

// Open reads all records of a folder. It starts nothing. What was damaged is in
// Problems; the error is for a folder that can't be used at all.
//
// Pods that the policy does not keep (any more) are not restored, and go from the
// disk with the next change.
func Open(cfg Config) (*Folder, error) {
	if err := cfg.Policy.Validate(); err != nil {
		return nil, err
	}
	disk, damaged, err := durable.OpenBatched(cfg.Dir, cfg.faults)
	if err != nil {
		return nil, fmt.Errorf("checkpoints: %w", err)
	}
	f := &Folder{
		policy:   cfg.Policy,
		disk:     disk,
		restored: map[string][]*v1.Pod{},
		writer:   make(chan struct{}, 1),
		records:  map[types.UID]*record{},
		dirty:    map[types.UID]struct{}{},
	}
	for _, d := range damaged {
		f.problems = append(f.problems, d)
	}
	if err := disk.Sweep(); err != nil {
		f.problems = append(f.problems, fmt.Errorf("checkpoints: %w", err))
	}
	if err := f.load(); err != nil {
		return nil, fmt.Errorf("checkpoints: %w", err)
	}
	return f, nil
}

// Problems returns what was wrong with records when they were read: damaged ones,
// which were set aside, and what could not be read at all.
func (f *Folder) Problems() []error { return slices.Clone(f.problems) }

// Checkpoint implements [podmanager.Checkpointer]. Of changes of the status alone
// only the pod's end is written: for the rest, what the loop says is newer.
func (f *Folder) Checkpoint(ctx context.Context, updates []podmanager.Update) error {
	f.mu.Lock()
	for _, u := range updates {
		for _, pod := range u.Pods {
			f.take(u, pod)
		}
	}
	f.mu.Unlock()
	return f.flush(ctx)
}

// take notes what an update says of a pod. The lock is held.
func (f *Folder) take(u podmanager.Update, pod *v1.Pod) {
	switch u.Op {
	case podmanager.OpAdd, podmanager.OpUpdate, podmanager.OpDelete:
		if f.policy.Keeps(pod) {
			f.change(pod.UID, func(r *record) { r.Source, r.Pod = u.Source, pod })
			return
		}
		f.drop(pod.UID)
	case podmanager.OpRemove:
		if r := f.records[pod.UID]; r != nil && r.Source == u.Source {
			f.drop(pod.UID)
		}
	case podmanager.OpReconcile, podmanager.OpRestore:
		// The newest object, for when it is written anyway; and at once when the
		// source has it that the pod came to its end, or it would run again.
		if r := f.records[pod.UID]; r != nil && r.Pod != nil && r.Source == u.Source {
			if ended(pod) && !ended(r.Pod) {
				f.dirty[pod.UID] = struct{}{}
			}
			r.Pod = pod
		}
	}
}

func ended(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// drop forgets a pod, and keeps what is remembered of it. The lock is held.
func (f *Folder) drop(uid types.UID) {
	if r := f.records[uid]; r != nil && r.Pod != nil {
		f.change(uid, func(r *record) { r.Source, r.Pod = "", nil })
	}
}

// change changes what is to be on disk of a pod. The lock is held.
func (f *Folder) change(uid types.UID, set func(*record)) {
	r := f.records[uid]
	if r == nil {
		r = &record{UID: uid}
		f.records[uid] = r
	}
	set(r)
	f.dirty[uid] = struct{}{}
}

// Memory is what somebody remembers of a pod.
type Memory struct {
	UID types.UID
	// Data is a JSON value.
	Data json.RawMessage
}

// Remembered returns what was given to Remember and not forgotten, in the order of
// UIDs. The data are read-only.
func (f *Folder) Remembered() []Memory {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []Memory
	for _, uid := range slices.Sorted(maps.Keys(f.records)) {
		if data := f.records[uid].Memory; data != nil {
			all = append(all, Memory{uid, data})
		}
	}
	return all
}

// Remember keeps something beside each pod, whether that is on disk or not, and
// forgets others. It takes ownership of the data. When it returns nil, it and all
// pods are on disk; otherwise it is as if it were, and will be written with a later
// call of any kind.
func (f *Folder) Remember(ctx context.Context, keep []Memory, forget ...types.UID) error {
	f.mu.Lock()
	for _, m := range keep {
		f.change(m.UID, func(r *record) { r.Memory = m.Data })
	}
	for _, uid := range forget {
		if r := f.records[uid]; r != nil && r.Memory != nil {
			f.change(uid, func(r *record) { r.Memory = nil })
		}
	}
	f.mu.Unlock()
	return f.flush(ctx)
}

// flush writes what is out of date on disk.
func (f *Folder) flush(ctx context.Context) error {
	select {
	case f.writer <- struct{}{}:
		defer func() { <-f.writer }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return f.commit(f.outOfDate())
}

// outOfDate returns the records that are to be written, as they are now.
func (f *Folder) outOfDate() []record {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.dirty) == 0 {
		return nil
	}
	out := make([]record, 0, len(f.dirty))
	for _, uid := range slices.Sorted(maps.Keys(f.dirty)) {
		r := f.records[uid]
		out = append(out, *r)
		if r.empty() {
			delete(f.records, uid)
		}
	}
	clear(f.dirty)
	return out
}

// commit writes records with one pass of syncing. Those that the disk did not take
// stay out of date; one that can't be a record is an error, and harms no other.
func (f *Folder) commit(records []record) error {
	changes, errs := changesOf(records)
	if len(changes) == 0 {
		return errors.Join(errs...)
	}
	if err := f.disk.Commit(changes...); err != nil {
		errs = append(errs, err)
		f.putBack(records)
		// Removals need no room, and may make some.
		removals := slices.DeleteFunc(changes, func(c durable.Change) bool { return !c.Remove })
		if len(removals) > 0 {
			_ = f.disk.Commit(removals...)
		}
	}
	return errors.Join(errs...)
}

// changesOf are the records as changes on disk, made side by side: a burst has a
// thousand of them. The errors are those of records that can't be written.
func changesOf(records []record) (changes []durable.Change, errs []error) {
	const share = 128
	changes, errs = make([]durable.Change, len(records)), make([]error, len(records))
	var making sync.WaitGroup
	for begin := 0; begin < len(records); begin += share {
		making.Go(func() {
			for i := begin; i < min(begin+share, len(records)); i++ {
				var err error
				if changes[i], err = records[i].change(); err != nil {
					changes[i], errs[i] = durable.Change{}, fmt.Errorf("record of pod %q: %w", records[i].UID, err)
				}
			}
		})
	}
	making.Wait()
	none := func(c durable.Change) bool { return c.Name == "" }
	return slices.DeleteFunc(changes, none), errs
}

// putBack notes again what could not be written. What came since is newer.
func (f *Folder) putBack(records []record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range records {
		uid := records[i].UID
		if f.records[uid] == nil {
			f.records[uid] = &record{UID: uid} // to be removed
		}
		f.dirty[uid] = struct{}{}
	}
}
