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

// Syncs is [Folder.Syncs].
func (b *Batched) Syncs() int64 { return b.folder.Syncs() }

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
