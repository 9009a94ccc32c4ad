package podmanagertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/kubeparts/kubeparts/podmanager"
)

// Objects is a source of objects of one kind, in memory. It can be watched by
// object and by namespace; a test that wants a source with fewer powers puts it
// into a struct that has those alone. A watch never misses a change, and tells
// each: it does not coalesce.
//
// It does not validate, keeps no versions of its own (an object has the
// resourceVersion that it is given), and does not stop an immutable object from
// being changed. All methods are safe for concurrent use.
type Objects struct {
	kind podmanager.ObjectKind

	mu      sync.Mutex
	objects map[podmanager.ObjectRef]podmanager.Object
	err     error
	hanging chan struct{}
	watches map[*objectWatch]struct{}
	gets    int
}

// objectWatch is a watch that is open.
type objectWatch struct {
	namespace, name string // no name for all
	queue           []podmanager.ObjectReport
	wake            chan struct{}
	end             bool
}

var (
	_ podmanager.ObjectSource     = (*Objects)(nil)
	_ podmanager.ObjectWatcher    = (*Objects)(nil)
	_ podmanager.NamespaceWatcher = (*Objects)(nil)
)

// NewObjects returns a source of the kind without objects.
func NewObjects(kind podmanager.ObjectKind) *Objects {
	return &Objects{
		kind:    kind,
		objects: map[podmanager.ObjectRef]podmanager.Object{},
		watches: map[*objectWatch]struct{}{},
	}
}

// Put adds objects, or replaces those of the same names. It panics at one of
// another kind.
func (s *Objects) Put(objects ...podmanager.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, object := range objects {
		ref := object.Ref()
		if ref.Kind != s.kind {
			panic(fmt.Sprintf("podmanagertest: a source of %ss was given a %s", s.kind, ref))
		}
		op := podmanager.OpUpdate
		if _, ok := s.objects[ref]; !ok {
			op = podmanager.OpAdd
		}
		s.objects[ref] = object
		s.tell(ref, podmanager.ObjectReport{Op: op, Objects: []podmanager.Object{object}})
	}
}

// Delete removes an object; one that is not there is ignored.
func (s *Objects) Delete(namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ref := podmanager.ObjectRef{Kind: s.kind, Namespace: namespace, Name: name}
	object, ok := s.objects[ref]
	if !ok {
		return
	}
	delete(s.objects, ref)
	s.tell(ref, podmanager.ObjectReport{Op: podmanager.OpRemove, Objects: []podmanager.Object{object}})
}

// Fail makes everything fail until a call with nil: reads and new watches return
// the error, and so do the watches that are open.
func (s *Objects) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	if err != nil {
		s.endWatches()
	}
}

// End ends the open watches, as a server does now and then.
func (s *Objects) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endWatches()
}

// Hang keeps reads and new watches from being answered, until Resume or the end
// of their contexts.
func (s *Objects) Hang() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hanging == nil {
		s.hanging = make(chan struct{})
	}
}

// Resume ends Hang.
func (s *Objects) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hanging != nil {
		close(s.hanging)
		s.hanging = nil
	}
}

// Gets returns how often Get was called.
func (s *Objects) Gets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gets
}

// Watches returns how many watches are open.
func (s *Objects) Watches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.watches)
}

// Get implements [podmanager.ObjectSource].
func (s *Objects) Get(ctx context.Context, namespace, name string) (podmanager.Object, error) {
	if err := s.ready(ctx); err != nil {
		return podmanager.Object{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gets++
	ref := podmanager.ObjectRef{Kind: s.kind, Namespace: namespace, Name: name}
	object, ok := s.objects[ref]
	switch {
	case s.err != nil:
		return podmanager.Object{}, s.err
	case !ok:
		return podmanager.Object{}, ref.NotFound()
	}
	return object, nil
}

// WatchObject implements [podmanager.ObjectWatcher].
func (s *Objects) WatchObject(ctx context.Context, namespace, name string, deliver func(podmanager.ObjectReport)) error {
	return s.watch(ctx, &objectWatch{namespace: namespace, name: name}, deliver)
}

// WatchNamespace implements [podmanager.NamespaceWatcher].
func (s *Objects) WatchNamespace(ctx context.Context, namespace string, deliver func(podmanager.ObjectReport)) error {
	return s.watch(ctx, &objectWatch{namespace: namespace}, deliver)
}

// errWatchEnded ends a watch that is open.
var errWatchEnded = errors.New("the watch was ended")

func (s *Objects) watch(ctx context.Context, w *objectWatch, deliver func(podmanager.ObjectReport)) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	w.wake = make(chan struct{}, 1)
	s.mu.Lock()
	if s.err != nil {
		defer s.mu.Unlock()
		return s.err
	}
	first := podmanager.ObjectReport{Op: podmanager.OpSet}
	for ref, object := range maps.All(s.objects) {
		if w.concerns(ref) {
			first.Objects = append(first.Objects, object)
		}
	}
	w.queue = []podmanager.ObjectReport{first}
	s.watches[w] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watches, w)
	}()
	for ctx.Err() == nil {
		report, ok, err := s.next(w)
		switch {
		case err != nil:
			return err
		case ok:
			deliver(report)
		default:
			select {
			case <-ctx.Done():
			case <-w.wake:
			}
		}
	}
	return nil
}

func (s *Objects) next(w *objectWatch) (r podmanager.ObjectReport, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(w.queue) > 0:
		r, w.queue = w.queue[0], w.queue[1:]
		return r, true, nil
	case w.end && s.err != nil:
		return r, false, s.err
	case w.end:
		return r, false, errWatchEnded
	}
	return r, false, nil
}

// ready waits while the source hangs.
func (s *Objects) ready(ctx context.Context) error {
	s.mu.Lock()
	hanging := s.hanging
	s.mu.Unlock()
	if hanging == nil {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-hanging:
		return nil
	}
}

func (s *Objects) tell(ref podmanager.ObjectRef, r podmanager.ObjectReport) {
	for w := range s.watches {
		if w.concerns(ref) {
			w.queue = append(w.queue, r)
			w.nudge()
		}
	}
}

func (s *Objects) endWatches() {
	for w := range s.watches {
		w.end = true
		w.nudge()
	}
}

func (w *objectWatch) concerns(ref podmanager.ObjectRef) bool {
	return ref.Namespace == w.namespace && (w.name == "" || w.name == ref.Name)
}

func (w *objectWatch) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
