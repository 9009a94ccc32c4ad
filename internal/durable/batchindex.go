package durable

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// load reads what is on disk.
func (b *Batched) load() ([]*CorruptError, error) {
	names, err := b.folder.List()
	if err != nil {
		return nil, err
	}
	b.single, b.in, b.last = map[string]bool{}, map[string][]place{}, 0
	b.held, b.live, b.sparse = map[uint64]int{}, map[uint64]int{}, map[uint64]bool{}
	var numbers []uint64
	for _, name := range names {
		if n, ok := batchNumber(name); ok {
			numbers = append(numbers, n)
		} else {
			b.single[name] = true
		}
	}
	slices.Sort(numbers)
	var damaged []*CorruptError
	for _, n := range numbers {
		entries, corrupt, err := b.readBatch(n)
		if corrupt != nil {
			damaged = append(damaged, corrupt)
		}
		if err != nil {
			return damaged, err
		}
		b.last = n
		for _, e := range entries {
			b.put(n, e, b.single[e.name])
		}
	}
	b.stale = false
	return damaged, nil
}

// readBatch reads a batch. One that is damaged is set aside, and written anew with
// what is whole of it.
func (b *Batched) readBatch(n uint64) ([]entry, *CorruptError, error) {
	name := batchName(n)
	raw, err := b.folder.readFile(name)
	if err != nil {
		return nil, nil, fmt.Errorf("record %s: %w", name, err)
	}
	entries, reason := parseBatch(raw)
	if reason == nil {
		return entries, nil, nil
	}
	corrupt := &CorruptError{Folder: b.Path(), Name: name, Reason: fmt.Errorf("%w; %d records in it are whole", reason, len(entries))}
	aside := name + asideInfix + time.Now().UTC().Format(asideTime)
	if err := os.Link(filepath.Join(b.Path(), name), filepath.Join(b.Path(), aside)); err == nil {
		corrupt.Aside = aside
	}
	return entries, corrupt, b.rewrite(n, entries)
}

// rewrite makes a batch hold these records, whose places it sets, and removes it if
// there are none.
func (b *Batched) rewrite(n uint64, entries []entry) error {
	if len(entries) == 0 {
		return b.folder.Remove(batchName(n))
	}
	return b.folder.Write(batchName(n), pack(entries))
}

// put notes a record of a batch that is newer than all others. It is the one that
// is read, unless the record has a file of its own.
func (b *Batched) put(n uint64, e entry, single bool) {
	b.outdate(e.name)
	if !single {
		delete(b.single, e.name)
		b.live[n]++
	}
	b.held[n]++
	b.in[e.name] = append(b.in[e.name], place{n, e.offset, int64(len(e.data))})
}

// own notes that a record has a file of its own.
func (b *Batched) own(name string) {
	b.outdate(name)
	b.single[name] = true
}

// outdate notes that a record is not read any more from the batch that it is in.
func (b *Batched) outdate(name string) {
	if old, batched := b.newest(name); batched {
		b.live[old.batch]--
		b.sparse[old.batch] = true
	}
}

// takeOut removes records from all batches, the oldest first: nothing older than
// what was there last is ever seen.
func (b *Batched) takeOut(names ...string) error {
	batches := map[uint64]bool{}
	out := map[string]bool{}
	for _, name := range names {
		for _, at := range b.in[name] {
			batches[at.batch], out[name] = true, true
		}
	}
	for _, n := range slices.Sorted(maps.Keys(batches)) {
		if err := b.squeeze(n, out); err != nil {
			return err
		}
	}
	return nil
}

// squeeze takes the records out of a batch, and those that are out of date.
func (b *Batched) squeeze(n uint64, out map[string]bool) error {
	entries, corrupt, err := b.readBatch(n)
	switch {
	case err != nil:
		return err
	case corrupt != nil:
		b.stale = true
		return corrupt
	}
	var kept []entry
	for _, e := range entries {
		if at, batched := b.newest(e.name); batched && at.batch == n && !out[e.name] {
			kept = append(kept, e)
		}
	}
	if err := b.rewrite(n, kept); err != nil {
		return err
	}
	for _, e := range entries {
		b.in[e.name] = slices.DeleteFunc(b.in[e.name], func(at place) bool { return at.batch == n })
		if len(b.in[e.name]) == 0 {
			delete(b.in, e.name)
		}
	}
	b.count(n, len(kept))
	for _, e := range kept {
		b.in[e.name] = append(b.in[e.name], place{n, e.offset, int64(len(e.data))})
	}
	return nil
}

// count notes that all of so many records in a batch are read from it.
func (b *Batched) count(n uint64, records int) {
	b.held[n], b.live[n] = records, records
	if records == 0 {
		delete(b.held, n)
		delete(b.live, n)
	}
}

// tidy rewrites those of the sparse batches of which most is out of date.
func (b *Batched) tidy() error {
	for _, n := range slices.Sorted(maps.Keys(b.sparse)) {
		if 2*b.live[n] < b.held[n] {
			if err := b.squeeze(n, nil); err != nil {
				return err
			}
		}
	}
	clear(b.sparse)
	return nil
}
