package durable

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Batched is a folder of records of which many that are written at once share a
// file, since a file for each takes a hundred times as long. One process has it at
// a time; all methods are safe for concurrent use. A change costs the same however
// many records there are.
//
// A [Batched.Commit] of many records makes one file batch-N of them; other records
// are files of their own. One of its own beats a batch, and of batches the newest.
// What is removed goes out of its batches first, so that nothing older comes back
// whatever crashes; what is out of date goes once it is the most of a batch.
type Batched struct {
	folder *Folder

	mu sync.Mutex
	// stale: a change failed, and what follows may not be what is on disk.
	stale bool
	// single are the records that have a file of their own.
	single map[string]bool
	// in are the places of a record in batches, the newest last.
	in map[string][]place
	// held counts the records in each batch, live those that are read from it.
	held, live map[uint64]int
	// sparse are batches in which something became out of date.
	sparse map[uint64]bool
	last   uint64
}

// place is where a record is in a batch.
type place struct {
	batch        uint64
	offset, size int64
}

// OpenBatched returns the folder at the path, which it makes when it is missing,
// and what was damaged in batches: such a file is set aside as it is, and the
// records that were whole are kept.
func OpenBatched(dir string, faults Faults) (*Batched, []*CorruptError, error) {
	folder, err := Open(dir, faults)
	if err != nil {
		return nil, nil, err
	}
	b := &Batched{folder: folder}
	damaged, err := b.load()
	if err != nil {
		return nil, damaged, err
	}
	return b, damaged, nil
}

// Path is the folder's path.
func (b *Batched) Path() string { return b.folder.Path() }

// Sweep is [Folder.Sweep].
func (b *Batched) Sweep() error { return b.folder.Sweep() }

// List returns the names of the records, sorted.
func (b *Batched) List() ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	names := slices.Collect(maps.Keys(b.single))
	for name := range b.in {
		if !b.single[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Read is [Folder.Read].
func (b *Batched) Read(name string) ([]byte, error) {
	at, batched := b.find(name)
	if !batched {
		data, err := b.folder.Read(name)
		var corrupt *CorruptError
		if errors.As(err, &corrupt) {
			b.lose(name)
		}
		return data, err
	}
	data, err := b.readPlace(name, at)
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", name, err)
	}
	return data, nil
}

// SetAside is [Folder.SetAside].
func (b *Batched) SetAside(name string, reason error) *CorruptError {
	if at, batched := b.find(name); batched {
		data, err := b.readPlace(name, at)
		if err == nil {
			err = b.folder.Write(name, data)
		}
		if err != nil {
			return &CorruptError{Folder: b.Path(), Name: name, Reason: reason}
		}
	}
	b.lose(name)
	return b.folder.SetAside(name, reason)
}

// lose forgets a record of its own that is to be read no longer, with what older
// batches hold of it.
func (b *Batched) lose(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.own(name)
	delete(b.single, name)
	b.stale = b.takeOut(name) != nil || b.stale
}

// find returns the place of a record that has no file of its own.
func (b *Batched) find(name string) (place, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.newest(name)
}

func (b *Batched) newest(name string) (place, bool) {
	all := b.in[name]
	if b.single[name] || len(all) == 0 {
		return place{}, false
	}
	return all[len(all)-1], true
}

func (b *Batched) readPlace(name string, at place) ([]byte, error) {
	if err := b.folder.faults.check(OpRead, name); err != nil {
		return nil, err
	}
	file, err := os.Open(filepath.Join(b.Path(), batchName(at.batch)))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw := make([]byte, maxFirstLine+at.size)
	n, err := file.ReadAt(raw, at.offset)
	found, content, _, bad := parseEntry(raw[:n])
	switch {
	case bad == nil && found == name:
		return content, nil
	case bad == nil || n > 0:
		return nil, errNoEntry
	}
	return nil, err
}

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

// Commit is [Folder.Commit], save that a crash or an error may leave some of the
// changes made. Each name is in it once.
func (b *Batched) Commit(changes ...Change) error {
	var written, removed []Change
	for _, c := range changes {
		if _, batch := batchNumber(c.Name); batch || strings.HasPrefix(c.Name, batchPrefix) {
			return fmt.Errorf("record %s: the name is that of a batch", c.Name)
		}
		if err := c.check(); err != nil {
			return err
		}
		if c.Remove {
			removed = append(removed, c)
		} else {
			written = append(written, c)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stale {
		damaged, err := b.load()
		if len(damaged) > 0 {
			err = damaged[0]
		}
		if err != nil {
			return err
		}
	}
	err := b.commit(written, removed)
	b.stale = b.stale || err != nil
	return err
}

func (b *Batched) commit(written, removed []Change) error {
	names := make([]string, len(removed))
	for i, c := range removed {
		names[i] = c.Name
	}
	if err := b.takeOut(names...); err != nil {
		return err
	}
	if len(written) >= batchFrom {
		for part := range chunks(written) {
			if err := b.writeBatch(part); err != nil {
				return err
			}
		}
		written = nil
	}
	removed = slices.DeleteFunc(removed, func(c Change) bool { return !b.single[c.Name] })
	if err := b.folder.Commit(slices.Concat(written, removed)...); err != nil {
		return err
	}
	for _, c := range written {
		b.own(c.Name)
	}
	for _, c := range removed {
		delete(b.single, c.Name)
	}
	return b.tidy()
}

// writeBatch writes records into a batch of their own.
func (b *Batched) writeBatch(changes []Change) error {
	entries := make([]entry, len(changes))
	var outdated []string
	for i, c := range changes {
		entries[i] = entry{name: c.Name, data: c.Data}
		if b.single[c.Name] {
			outdated = append(outdated, c.Name)
		}
	}
	n := b.last + 1
	if err := b.folder.Write(batchName(n), pack(entries)); err != nil {
		return err
	}
	b.last = n
	if err := b.folder.Remove(outdated...); err != nil {
		return err
	}
	for _, e := range entries {
		b.put(n, e, false)
	}
	return nil
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
