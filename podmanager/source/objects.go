package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/manifest"
)

// Objects is a folder of ConfigMaps and Secrets, one manifest a file, which is
// read as [File] reads pods: a manifest that turns bad leaves its last good
// version in force, and a folder that is missing all of them.
//
// ConfigMaps and Secrets are the sources of the two kinds; they need Run, before
// whose first look they have no answer. Give them to a podmanager.Cache.
type Objects struct {
	// Path of the folder, or of one file; required.
	Path string
	// Period between two reads; default DefaultPeriod. A watch on the file system
	// makes them come early.
	Period time.Duration
	// NoWatch reads by Period alone.
	NoWatch bool
	// OnProblem is told of each error and each warning when it appears, and not
	// again while it lasts; it must not block. Nil is allowed.
	OnProblem func(podmanager.Problem)
	// Logger is told what concerns the watch; nil is silent.
	Logger *slog.Logger

	once  sync.Once
	mu    sync.Mutex
	state *objectState
	read  time.Time // when the folder was last read without an error
	told  map[string]bool
}

// ObjectsStatus is how a folder of objects does.
type ObjectsStatus struct {
	// Objects is how many there are, ConfigMaps and Secrets.
	Objects int
	// LastGood is when it was last read and nothing was wrong; zero for never.
	LastGood time.Time
	// Err is what is wrong with it now, nil for nothing: the folder can't be read,
	// or manifests in it are refused.
	Err error
}

// Status tells how the folder does. It may be called at any time.
func (o *Objects) Status() ObjectsStatus {
	state := o.now()
	o.mu.Lock()
	s := ObjectsStatus{LastGood: o.read, Err: state.err}
	o.mu.Unlock()
	for _, group := range state.groups {
		s.Objects += len(group)
	}
	return s
}

// objectState is what the folder held at a time; it is not written to.
type objectState struct {
	heard  bool // there is an answer at all
	groups map[podmanager.ObjectRef]map[string]podmanager.Object
	err    error
	next   chan struct{} // closed when there is another state
}

// groupOf names the objects of one kind and namespace.
func groupOf(kind podmanager.ObjectKind, namespace string) podmanager.ObjectRef {
	return podmanager.ObjectRef{Kind: kind, Namespace: namespace}
}

// ConfigMaps returns the source of the folder's ConfigMaps. It can be watched by
// namespace.
func (o *Objects) ConfigMaps() podmanager.ObjectSource {
	return &objectsOfKind{o, podmanager.KindConfigMap}
}

// Secrets returns the source of the folder's Secrets. It can be watched by
// namespace.
func (o *Objects) Secrets() podmanager.ObjectSource {
	return &objectsOfKind{o, podmanager.KindSecret}
}

// Run reads the folder until the context ends. It runs once at a time.
func (o *Objects) Run(ctx context.Context) error {
	if o.Path == "" {
		return errors.New("objects source: Path is empty")
	}
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return fmt.Errorf("objects source: %s: %w", o.Path, err)
	}
	reader := &folder[podmanager.Object]{
		path:   path,
		decode: decodeObject,
		name:   func(object podmanager.Object) string { return object.Ref().String() },
	}
	keepReading(ctx, path, o.NoWatch, o.Period, o.Logger, func() { o.take(reader.read()) })
	return nil
}

func decodeObject(data []byte, path string) decoded[podmanager.Object] {
	result := manifest.DecodeObject(data, path)
	if result.Error != nil {
		return decoded[podmanager.Object]{errs: []*podmanager.ManifestError{result.Error}, warnings: result.Warnings}
	}
	return decoded[podmanager.Object]{items: []podmanager.Object{result.Object}, warnings: result.Warnings}
}

// now returns the state as it stands.
func (o *Objects) now() *objectState {
	o.once.Do(func() { o.state = &objectState{next: make(chan struct{})} })
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.state
}

// take makes what was read the state.
func (o *Objects) take(read reading[podmanager.Object]) {
	old := o.now()
	state := &objectState{heard: old.heard || read.changed, groups: old.groups, err: read.err, next: make(chan struct{})}
	if read.changed {
		state.groups = map[podmanager.ObjectRef]map[string]podmanager.Object{}
		for _, object := range read.items {
			ref := object.Ref()
			group := groupOf(ref.Kind, ref.Namespace)
			if state.groups[group] == nil {
				state.groups[group] = map[string]podmanager.Object{}
			}
			state.groups[group][ref.Name] = object
		}
	}
	for _, p := range o.fresh(read) {
		if o.OnProblem != nil {
			o.OnProblem(p)
		}
	}
	same := !read.changed && sameText(old.err, read.err) && old.heard == state.heard
	o.mu.Lock()
	if read.err == nil {
		o.read = time.Now()
	}
	if !same {
		o.state = state
	}
	o.mu.Unlock()
	if same {
		return
	}
	close(old.next)
}

func sameText(a, b error) bool {
	return (a == nil) == (b == nil) && (a == nil || a.Error() == b.Error())
}

// fresh returns the problems that the read before did not have.
func (o *Objects) fresh(read reading[podmanager.Object]) (fresh []podmanager.Problem) {
	now := map[string]bool{}
	if read.err != nil {
		for _, err := range parts(read.err) {
			if text := err.Error(); !o.told[text] && !now[text] {
				fresh = append(fresh, podmanager.Problem{Source: o.Path, Err: err})
			}
			now[err.Error()] = true
		}
	}
	for _, warning := range read.warnings {
		fresh = append(fresh, podmanager.Problem{Source: o.Path, Warning: warning})
	}
	o.told = now
	return fresh
}

// parts takes joined errors apart, down to the manifests.
func parts(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, part := range joined.Unwrap() {
		all = append(all, parts(part)...)
	}
	return all
}

// objectsOfKind is the source of one kind.
type objectsOfKind struct {
	*Objects
	kind podmanager.ObjectKind
}

// Get implements [podmanager.ObjectSource]. It waits for the first look at the
// folder.
func (o *objectsOfKind) Get(ctx context.Context, namespace, name string) (podmanager.Object, error) {
	state := o.now()
	for !state.heard && state.err == nil {
		select {
		case <-ctx.Done():
			return podmanager.Object{}, ctx.Err()
		case <-state.next:
			state = o.now()
		}
	}
	if !state.heard {
		return podmanager.Object{}, state.err
	}
	object, ok := state.groups[groupOf(o.kind, namespace)][name]
	if !ok {
		return podmanager.Object{}, podmanager.ObjectRef{Kind: o.kind, Namespace: namespace, Name: name}.NotFound()
	}
	return object, nil
}

// WatchNamespace implements [podmanager.NamespaceWatcher].
func (o *objectsOfKind) WatchNamespace(ctx context.Context, namespace string, deliver func(podmanager.ObjectReport)) error {
	group := groupOf(o.kind, namespace)
	var said *objectState // the last one with an answer that was told
	for state := o.now(); ; state = o.now() {
		report := podmanager.ObjectReport{Err: state.err}
		if state.heard && said == nil {
			report.Op = podmanager.OpSet
			for _, object := range state.groups[group] {
				report.Objects = append(report.Objects, object)
			}
		}
		deliver(report)
		if said != nil {
			for _, change := range changes(said.groups[group], state.groups[group]) {
				change.Err = state.err
				deliver(change)
			}
		}
		if state.heard {
			said = state
		}
		select {
		case <-ctx.Done():
			return nil
		case <-state.next:
		}
	}
}

// changes are the words that lead from what was there to what is.
func changes(old, now map[string]podmanager.Object) []podmanager.ObjectReport {
	updates := podmanager.ObjectReport{Op: podmanager.OpUpdate}
	removals := podmanager.ObjectReport{Op: podmanager.OpRemove}
	for name, object := range now {
		if old[name] != object { // a file that did not change is not decoded again
			updates.Objects = append(updates.Objects, object)
		}
	}
	for name, object := range old {
		if _, ok := now[name]; !ok {
			removals.Objects = append(removals.Objects, object)
		}
	}
	var all []podmanager.ObjectReport
	for _, report := range []podmanager.ObjectReport{removals, updates} {
		if len(report.Objects) > 0 {
			all = append(all, report)
		}
	}
	return all
}
