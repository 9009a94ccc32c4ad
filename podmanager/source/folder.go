package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kubeparts/kubeparts/podmanager"
)

// keepReading reads once, and again after each hint of a change and each period,
// until the context ends.
func keepReading(ctx context.Context, path string, noWatch bool, period time.Duration, logger *slog.Logger, read func()) {
	hints := newHints(path, noWatch, logger)
	defer hints.close()
	period = periodOf(period)
	timer := time.NewTimer(period)
	defer timer.Stop()
	for again := ctx.Err() == nil; again; again = hints.await(ctx, timer.C) {
		hints.renew()
		read()
		timer.Reset(period)
	}
}

// folder reads the manifests at a path, each of which holds some Ts, and
// remembers what it read.
type folder[T any] struct {
	path   string
	decode func(data []byte, path string) decoded[T]
	// name is the kind and names of a T, of which there can be one.
	name              func(T) string
	missingMeansEmpty bool

	files   map[string]*entry[T] // by path
	folders map[string]bool      // sub-folders that were named in a warning
	said    bool                 // a list was given
}

// decoded is what one manifest came to.
type decoded[T any] struct {
	items    []T
	errs     []*podmanager.ManifestError
	warnings []string
}

// reading is what all manifests come to; items are all of them if they changed.
type reading[T any] struct {
	changed  bool
	items    []T
	err      error
	warnings []string
}

// read looks at everything once. The report has a list only if something
// changed since the last one.
func (f *folder[T]) read() reading[T] {
	paths, folders, err := f.list()
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case missing && f.missingMeansEmpty:
		changed := len(f.files) > 0 || !f.said
		clear(f.files)
		return f.report(changed, fmt.Errorf("%s: %w", f.path, ErrMissing))
	case missing && len(f.files) > 0:
		return reading[T]{err: fmt.Errorf("%s: %w; what it held last stays in force", f.path, ErrMissing)}
	case missing:
		return reading[T]{err: fmt.Errorf("%s: %w", f.path, ErrMissing)}
	case err != nil:
		return reading[T]{err: fmt.Errorf("%s: %w", f.path, plain(err))}
	}
	changed := f.forget(paths) || !f.said
	for _, path := range paths {
		e := f.files[path]
		if e == nil {
			if f.files == nil {
				f.files = make(map[string]*entry[T])
			}
			e = new(entry[T])
			f.files[path] = e
		}
		if e.refresh(f.decode, path) {
			changed = true
		} else {
			e.warnings = nil // said before
		}
	}
	if e := f.files[f.path]; e != nil && e.err != nil && len(e.items) == 0 {
		return reading[T]{err: e.err} // a single file that never was good is no answer
	}
	report := f.report(changed, nil)
	report.warnings = append(report.warnings, f.nameFolders(folders)...)
	return report
}

// nameFolders warns of sub-folders, of each once while it is there.
func (f *folder[T]) nameFolders(folders []string) (warnings []string) {
	named := make(map[string]bool, len(folders))
	for _, path := range folders {
		named[path] = true
		if !f.folders[path] {
			warnings = append(warnings, path+": a folder; manifests in it are not read")
		}
	}
	f.folders = named
	return warnings
}

// list gives the paths of the manifests and of sub-folders, in the order of
// their names.
func (f *folder[T]) list() (paths, folders []string, err error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, nil, err
	}
	if !info.IsDir() {
		return []string{f.path}, nil, nil
	}
	names, err := os.ReadDir(f.path)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		path := filepath.Join(f.path, name.Name())
		switch {
		case temporary(name.Name()):
		case isFolder(name, path):
			folders = append(folders, path)
		default:
			paths = append(paths, path)
		}
	}
	return paths, folders, nil
}

// isFolder tells whether the name is a folder, or a link to one.
func isFolder(name fs.DirEntry, path string) bool {
	if name.Type()&fs.ModeSymlink == 0 {
		return name.IsDir()
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func temporary(name string) bool {
	return strings.HasPrefix(name, ".") ||
		strings.HasSuffix(name, "~") ||
		strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#") ||
		slices.Contains([]string{".swp", ".swx", ".tmp"}, filepath.Ext(name))
}

// forget drops the files that are gone, and tells whether there were any.
func (f *folder[T]) forget(paths []string) (gone bool) {
	there := make(map[string]bool, len(paths))
	for _, path := range paths {
		there[path] = true
	}
	for path := range f.files {
		if !there[path] {
			delete(f.files, path)
			gone = true
		}
	}
	return gone
}

// report says what all files come to. Of two that name one thing, the last in
// the order of names holds, as in the kubelet, and a warning says so.
func (f *folder[T]) report(changed bool, err error) reading[T] {
	paths := make([]string, 0, len(f.files))
	for path := range f.files {
		paths = append(paths, path)
	}
	slices.Sort(paths)

	report := reading[T]{changed: changed}
	errs := []error{err}
	holder := make(map[string]string) // name to path
	byName := make(map[string]T)
	var order []string
	for _, path := range paths {
		e := f.files[path]
		errs = append(errs, e.err)
		report.warnings = append(report.warnings, e.warnings...)
		for _, item := range e.items {
			name := f.name(item)
			if other, twice := holder[name]; !twice {
				order = append(order, name)
			} else if changed {
				report.warnings = append(report.warnings, fmt.Sprintf("%s: %s is in %s too; the one of %s holds",
					path, name, other, path))
			}
			holder[name], byName[name] = path, item
		}
	}
	report.err = errors.Join(errs...)
	if changed {
		f.said = true
		for _, name := range order {
			report.items = append(report.items, byName[name])
		}
	}
	return report
}
