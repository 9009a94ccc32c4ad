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

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/manifest"
)

// DefaultPeriod is how often a source is read when nothing says that it
// changed, as in the kubelet.
const DefaultPeriod = 20 * time.Second

// settle is how long after the first hint of a change a folder is read: a save
// in an editor is several changes.
const settle = 50 * time.Millisecond

// File is the source of static pods in a file or a folder. A folder is read
// without its sub-folders, which a warning names; names that begin with a dot are
// skipped, and those of editors' and downloads' temporary files (*~, #*#, *.swp,
// *.swx, *.tmp).
//
// A periodic read is the truth, and a watch on the file system a hint that makes
// it come early. A file is parsed again only when it changed.
type File struct {
	// Path of the file or folder; required. It is made absolute, and then is
	// part of the identity of the pods.
	Path string
	// Decoder turns a manifest into pods; its NodeName is required.
	Decoder manifest.Decoder
	// Period between two reads; default DefaultPeriod.
	Period time.Duration
	// NoWatch reads by Period alone.
	NoWatch bool
	// MissingMeansEmpty takes a path that does not exist for a folder without
	// manifests, as the kubelet does, so that all its pods go away. Without it
	// what was read last stays.
	MissingMeansEmpty bool
	// Logger is told what concerns the watch; nil is silent.
	Logger *slog.Logger
}

// Run implements [podmanager.PodSource].
func (f *File) Run(ctx context.Context, deliver func(podmanager.Report)) error {
	if f.Path == "" {
		return errors.New("file source: Path is empty")
	}
	path, err := filepath.Abs(f.Path) // it is part of the pods' identity
	if err != nil {
		return fmt.Errorf("file source: %s: %w", f.Path, err)
	}
	reader := newFileReader(f, path)
	hints := newHints(path, f.NoWatch, f.Logger)
	defer hints.close()
	period := f.Period
	if period <= 0 {
		period = DefaultPeriod
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event := <-hints.events():
			if !hints.concern(event.Name) {
				continue
			}
			hints.drainFor(ctx, settle)
		case <-hints.errors(): // what was missed may be anything
			hints.drainFor(ctx, settle)
		case <-timer.C:
		}
		hints.renew()
		deliver(reader.read())
		timer.Reset(period)
	}
}

// fileReader reads the path and remembers what it read.
type fileReader struct {
	path              string
	decoder           manifest.Decoder
	missingMeansEmpty bool

	files   map[string]*entry // by path
	folders map[string]bool   // sub-folders that were named in a warning
	said    bool              // a list was given
}

func newFileReader(f *File, path string) *fileReader {
	decoder := f.Decoder
	decoder.Source = podmanager.SourceFile
	return &fileReader{
		path:              path,
		decoder:           decoder,
		missingMeansEmpty: f.MissingMeansEmpty,
		files:             make(map[string]*entry),
	}
}

// read looks at everything once. The report has a list only if something
// changed since the last one.
func (r *fileReader) read() podmanager.Report {
	paths, folders, err := r.list()
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case missing && r.missingMeansEmpty:
		changed := len(r.files) > 0 || !r.said
		clear(r.files)
		return r.report(changed, fmt.Errorf("%s: %w", r.path, ErrMissing))
	case missing && len(r.files) > 0:
		return podmanager.Report{Err: fmt.Errorf("%s: %w; what it held last stays in force", r.path, ErrMissing)}
	case missing:
		return podmanager.Report{Err: fmt.Errorf("%s: %w", r.path, ErrMissing)}
	case err != nil:
		return podmanager.Report{Err: fmt.Errorf("%s: %w", r.path, plain(err))}
	}
	changed := r.forget(paths) || !r.said
	for _, path := range paths {
		e := r.files[path]
		if e == nil {
			e = new(entry)
			r.files[path] = e
		}
		if e.refresh(r.decoder, path) {
			changed = true
		} else {
			e.warnings = nil // said before
		}
	}
	if e := r.files[r.path]; e != nil && e.err != nil && len(e.pods) == 0 {
		return podmanager.Report{Err: e.err} // a single file that never was good is no answer
	}
	report := r.report(changed, nil)
	report.Warnings = append(report.Warnings, r.nameFolders(folders)...)
	return report
}

// nameFolders warns of sub-folders, of each once while it is there.
func (r *fileReader) nameFolders(folders []string) (warnings []string) {
	named := make(map[string]bool, len(folders))
	for _, path := range folders {
		named[path] = true
		if !r.folders[path] {
			warnings = append(warnings, path+": a folder; manifests in it are not read")
		}
	}
	r.folders = named
	return warnings
}

// list gives the paths of the manifests and of sub-folders, in the order of
// their names.
func (r *fileReader) list() (paths, folders []string, err error) {
	info, err := os.Stat(r.path)
	if err != nil {
		return nil, nil, err
	}
	if !info.IsDir() {
		return []string{r.path}, nil, nil
	}
	names, err := os.ReadDir(r.path)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		path := filepath.Join(r.path, name.Name())
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
func (r *fileReader) forget(paths []string) (gone bool) {
	there := make(map[string]bool, len(paths))
	for _, path := range paths {
		there[path] = true
	}
	for path := range r.files {
		if !there[path] {
			delete(r.files, path)
			gone = true
		}
	}
	return gone
}

// report says what all files come to. Of two that name one pod, the last in the
// order of names holds, as in the kubelet, and a warning says so.
func (r *fileReader) report(changed bool, err error) podmanager.Report {
	paths := make([]string, 0, len(r.files))
	for path := range r.files {
		paths = append(paths, path)
	}
	slices.Sort(paths)

	report := podmanager.Report{}
	errs := []error{err}
	holder := make(map[string]string) // full name to path
	byName := make(map[string]*v1.Pod)
	var order []string
	for _, path := range paths {
		e := r.files[path]
		errs = append(errs, e.err)
		report.Warnings = append(report.Warnings, e.warnings...)
		for _, pod := range e.pods {
			name := podmanager.FullName(pod)
			if other, twice := holder[name]; !twice {
				order = append(order, name)
			} else if changed {
				report.Warnings = append(report.Warnings, fmt.Sprintf("%s: pod %s/%s is in %s too; the one of %s holds",
					path, pod.Namespace, pod.Name, other, path))
			}
			holder[name], byName[name] = path, pod
		}
	}
	report.Err = errors.Join(errs...)
	if changed {
		r.said = true
		report.Op = podmanager.OpSet
		for _, name := range order {
			report.Pods = append(report.Pods, byName[name])
		}
	}
	return report
}
