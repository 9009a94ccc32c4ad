package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	goruntime "runtime"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/internal/durable"
)

// load reads all records, on all processors.
func (f *Folder) load() error {
	names, err := f.disk.List()
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !isRecord(name) })
	found := make([]*record, len(names))
	problems := make([]error, len(names))
	var group sync.WaitGroup
	readers := goruntime.GOMAXPROCS(0)
	for first := range readers {
		group.Go(func() {
			for i := first; i < len(names); i += readers {
				found[i], problems[i] = f.read(names[i])
			}
		})
	}
	group.Wait()
	for i, r := range found {
		if problems[i] != nil {
			f.problems = append(f.problems, problems[i])
		}
		if r != nil {
			f.records[r.UID] = r
			f.restore(r)
		}
	}
	for _, pods := range f.restored {
		slices.SortFunc(pods, func(a, b *v1.Pod) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
		})
	}
	return nil
}

// restore has the pod of a record restored, or dropped if it is not to be kept.
func (f *Folder) restore(r *record) {
	switch {
	case r.Pod == nil:
	case f.policy.Keeps(r.Pod):
		f.restored[r.Source] = append(f.restored[r.Source], r.Pod)
	default:
		f.drop(r.UID)
	}
}

// read reads one record. A damaged one is set aside; the error says so.
func (f *Folder) read(name string) (*record, error) {
	data, err := f.disk.Read(name)
	var corrupt *durable.CorruptError
	switch {
	case errors.As(err, &corrupt):
		return nil, corrupt
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("checkpoints: %w", err)
	}
	r, err := decode(name, data)
	if err != nil {
		return nil, f.disk.SetAside(name, err)
	}
	return r, nil
}
