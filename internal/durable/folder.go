package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// MaxRecord is the size that a record may have, in bytes.
const MaxRecord = 16 << 20

// Folder is a folder of records. It keeps nothing of them, so several processes
// may read one; a record has one writer at a time, which is for the
// caller to see to. All methods are safe for concurrent use.
type Folder struct {
	dir    string
	faults Faults
	syncs  atomic.Int64
}

// Op is a step that [Faults] may let fail.
type Op string

// The steps of reading and writing.
const (
	OpRead   Op = "read"   // before a record is read
	OpWrite  Op = "write"  // after the temporary file was made, before its bytes
	OpSync   Op = "sync"   // before bytes are synced
	OpRename Op = "rename" // before a record takes its name
	OpRemove Op = "remove" // before a record is removed
)

// Faults lets steps fail in tests: a full disk, a read-only one. An error that
// it returns takes the place of the step on the named record. Nil never fails.
type Faults func(op Op, name string) error

func (f Faults) check(op Op, name string) error {
	if f == nil {
		return nil
	}
	return f(op, name)
}

// Change is one change of a [Folder.Commit]: the record of that name gets the
// data, or is removed.
type Change struct {
	Name   string
	Data   []byte
	Remove bool
}

func (c Change) check() error {
	if err := checkName(c.Name); err != nil {
		return err
	}
	if len(c.Data) > MaxRecord {
		return fmt.Errorf("record %s: %d bytes are too many", c.Name, len(c.Data))
	}
	return nil
}

// Open returns the folder at the path, which it makes when it is missing.
func Open(dir string, faults Faults) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return &Folder{dir: dir, faults: faults}, nil
}

// Path is the folder's path.
func (f *Folder) Path() string { return f.dir }

// Syncs is how often the disk was asked to sync so far.
func (f *Folder) Syncs() int64 { return f.syncs.Load() }

// Write puts one record on disk. When it returns nil, the record survives a
// crash of the machine; otherwise the old one is still there.
func (f *Folder) Write(name string, data []byte) error {
	return f.Commit(Change{Name: name, Data: data})
}

// Remove removes records. One that is not there is no error.
func (f *Folder) Remove(names ...string) error {
	changes := make([]Change, len(names))
	for i, name := range names {
		changes[i] = Change{Name: name, Remove: true}
	}
	return f.Commit(changes...)
}

// Commit makes all the changes and syncs once. When the space or the right to
// write is missing, nothing has changed. A crash while the changes take their
// names may leave some made and others not, but every record whole.
func (f *Folder) Commit(changes ...Change) error {
	if len(changes) == 0 {
		return nil
	}
	staged, err := f.stage(changes)
	if err == nil {
		err = f.publish(changes, staged)
	}
	for _, temp := range staged {
		if temp != "" {
			// After a success the name is gone already.
			_ = os.Remove(temp)
		}
	}
	return err
}

// stage writes the new records under temporary names and syncs them. It returns
// the names made, also with an error.
func (f *Folder) stage(changes []Change) ([]string, error) {
	staged := make([]string, len(changes))
	files := make([]*os.File, 0, len(changes))
	defer func() {
		for _, file := range files {
			_ = file.Close()
		}
	}()
	for i, c := range changes {
		if err := c.check(); err != nil {
			return staged, err
		}
		if c.Remove {
			continue
		}
		file, err := os.CreateTemp(f.dir, tempPrefix+"*")
		if err != nil {
			return staged, fmt.Errorf("record %s: %w", c.Name, err)
		}
		staged[i], files = file.Name(), append(files, file)
		if err := f.fill(file, c); err != nil {
			return staged, fmt.Errorf("record %s: %w", c.Name, err)
		}
	}
	n, err := syncFiles(files)
	f.syncs.Add(int64(n))
	return staged, err
}

func (f *Folder) fill(file *os.File, c Change) error {
	if err := f.faults.check(OpWrite, c.Name); err != nil {
		return err
	}
	if _, err := io.WriteString(file, header(c.Data)); err != nil {
		return err
	}
	if _, err := file.Write(c.Data); err != nil {
		return err
	}
	return f.faults.check(OpSync, c.Name)
}

// publish gives the staged records their names, removes what is to be removed
// and syncs the folder.
func (f *Folder) publish(changes []Change, staged []string) error {
	var errs []error
	for i, c := range changes {
		if err := f.publishOne(c, staged[i]); err != nil {
			errs = append(errs, fmt.Errorf("record %s: %w", c.Name, err))
		}
	}
	f.syncs.Add(1)
	if err := syncFolder(f.dir); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (f *Folder) publishOne(c Change, staged string) error {
	path := filepath.Join(f.dir, c.Name)
	if !c.Remove {
		if err := f.faults.check(OpRename, c.Name); err != nil {
			return err
		}
		return os.Rename(staged, path)
	}
	if err := f.faults.check(OpRemove, c.Name); err != nil {
		return err
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Read returns a record. The error wraps fs.ErrNotExist for one that is not
// there and is a [*CorruptError] for one that was damaged; that one is set
// aside.
func (f *Folder) Read(name string) ([]byte, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	raw, err := f.readFile(name)
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", name, err)
	}
	data, err := decode(raw)
	if err != nil {
		return nil, f.setAside(name, err)
	}
	return data, nil
}

// readFile reads no more of a file than a record can have.
func (f *Folder) readFile(name string) ([]byte, error) {
	if err := f.faults.check(OpRead, name); err != nil {
		return nil, err
	}
	path := filepath.Join(f.dir, name)
	// A FIFO or a device under a record's name must not hold up the reader, also
	// one that has just taken the record's place.
	if info, err := os.Lstat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, nil
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, nil
	}
	return io.ReadAll(io.LimitReader(file, int64(MaxRecord+maxHeader+1)))
}

// SetAside gives a record another name under which it is no longer read, and
// returns the error to report it with. It is for a record whose bytes are as
// written, but whose contents make no sense to the caller.
func (f *Folder) SetAside(name string, reason error) *CorruptError {
	return f.setAside(name, reason)
}

func (f *Folder) setAside(name string, reason error) *CorruptError {
	e := &CorruptError{Folder: f.dir, Name: name, Reason: reason}
	aside := name + asideInfix + time.Now().UTC().Format(asideTime)
	if err := os.Rename(filepath.Join(f.dir, name), filepath.Join(f.dir, aside)); err == nil {
		e.Aside = aside
	}
	return e
}

// List returns the names of the records, sorted.
func (f *Folder) List() ([]string, error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && checkName(e.Name()) == nil {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// ReadAll returns by their names all records whose name begins with the prefix.
// Damaged ones are set aside and returned apart; the error tells what could not
// be read at all.
func (f *Folder) ReadAll(prefix string) (map[string][]byte, []*CorruptError, error) {
	names, err := f.List()
	if err != nil {
		return nil, nil, err
	}
	records := make(map[string][]byte, len(names))
	var damaged []*CorruptError
	var errs []error
	for _, name := range names {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		data, err := f.Read(name)
		var corrupt *CorruptError
		switch {
		case err == nil:
			records[name] = data
		case errors.As(err, &corrupt):
			damaged = append(damaged, corrupt)
		case !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, err)
		}
	}
	return records, damaged, errors.Join(errs...)
}

// Sweep removes what a crash left of unfinished writes. It is for the only
// writer of the folder, before it writes.
func (f *Folder) Sweep() error {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tempPrefix) {
			errs = append(errs, os.Remove(filepath.Join(f.dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

const (
	tempPrefix = ".tmp-"
	asideInfix = ".corrupt-"
	asideTime  = "20060102-150405.000000000"
)

// checkName refuses what is no plain file name, and names that are the
// folder's own.
func checkName(name string) error {
	bad := name == "" || len(name) > 200 || name[0] == '.' || strings.Contains(name, asideInfix)
	for _, r := range name {
		ok := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r)
		bad = bad || !ok
	}
	if bad {
		return fmt.Errorf("%.80q can't name a record", name)
	}
	return nil
}
