package podmanagertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/podmanager"
)

// ObjectWorld is what a source of objects reads. The suite writes to it and
// watches what the source says. One that is a [Breaker] is broken, too.
type ObjectWorld interface {
	// Source returns the source of the suite's kind.
	Source() podmanager.ObjectSource
	// Put adds an object, or replaces the one of its names.
	Put(object podmanager.Object) error
	// Delete removes an object.
	Delete(ref podmanager.ObjectRef) error
}

// ObjectSuite is the rules that each source of objects keeps.
type ObjectSuite struct {
	// Kind of the objects; required.
	Kind podmanager.ObjectKind
	// Open makes a new, empty world for each rule. Required. A world that is an
	// io.Closer is closed in the end.
	Open func() (ObjectWorld, error)
	// Patience is how long the suite waits, in one rule, for what a source must do;
	// 2 minutes by default. It is no measure of speed.
	Patience time.Duration
}

// objectRules, in the order in which they are checked.
var objectRules = conformance.Rules[*objectVisit]{
	{Name: "get", Text: "an object that is there is read as it was put", Check: checkGet},
	{Name: "not-found", Text: "one that is not there is an error for which apierrors.IsNotFound is true", Check: checkNotFound},
	{Name: "watch-set", Text: "the first word of a watch is an OpSet of what is there, and of nothing else", Check: checkWatchSet},
	{Name: "watch-changes", Text: "a watch says what is added, changed and removed, and nothing of others", Check: checkWatchChanges},
	{Name: "watch-stop", Text: "a watch returns soon after its context ends, and delivers nothing after that", Check: checkWatchStop},
	{Name: "silence", Text: "a world that can't be read is an error, and takes nothing back that a watch has said", Check: checkObjectSilence},
}

// TestObjectSource checks each rule in a subtest, with every sort of watch that
// the source has. A rule that needs what the world can't do is skipped.
func TestObjectSource(t *testing.T, suite ObjectSuite) {
	t.Helper()
	objectRules.Test(t, func(*testing.T) conformance.Open[*objectVisit] { return suite.visit }, suite.options())
}

// CheckObjectSource is [TestObjectSource] without package testing: the error joins a
// [RuleError] for each rule that is broken.
func CheckObjectSource(ctx context.Context, suite ObjectSuite) error {
	return objectRules.Check(ctx, suite.visit, suite.options())
}

func (s ObjectSuite) visit(context.Context) (*objectVisit, func() error, error) {
	world, err := s.Open()
	if err != nil {
		return nil, nil, err
	}
	return &objectVisit{world: world, kind: s.Kind}, func() error { return closeWorld(world) }, nil
}

func (s ObjectSuite) options() conformance.Options {
	return conformance.Options{Limit: orDefault(s.Patience)}
}

// objectVisit is one rule's stay in a world.
type objectVisit struct {
	world ObjectWorld
	kind  podmanager.ObjectKind
}

const suiteNamespace = "suite"

func (v *objectVisit) ref(name string) podmanager.ObjectRef {
	return podmanager.ObjectRef{Kind: v.kind, Namespace: suiteNamespace, Name: name}
}

// object is one that all sources accept.
func (v *objectVisit) object(namespace, name, value string) podmanager.Object {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	if v.kind == podmanager.KindSecret {
		return podmanager.SecretObject(&v1.Secret{ObjectMeta: meta, Type: v1.SecretTypeOpaque, Data: map[string][]byte{"key": []byte(value)}})
	}
	return podmanager.ConfigMapObject(&v1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"key": value}})
}

// valueOf undoes object.
func valueOf(object podmanager.Object) string {
	switch {
	case object.Secret() != nil:
		return string(object.Secret().Data["key"])
	case object.ConfigMap() != nil:
		return object.ConfigMap().Data["key"]
	}
	return ""
}

func (v *objectVisit) put(name, value string) error {
	return v.world.Put(v.object(suiteNamespace, name, value))
}

// untilReads waits for an object to read as a value; "" is one that is not there.
func (v *objectVisit) untilReads(ctx context.Context, name, want string) error {
	source := v.world.Source()
	for {
		object, err := source.Get(ctx, suiteNamespace, name)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("%s does not read as %q: %w", name, want, ctx.Err())
		case want == "" && apierrors.IsNotFound(err):
			return nil
		case err == nil && object.Ref() != v.ref(name):
			return fmt.Errorf("asked for %s, got %s", v.ref(name), object.Ref())
		case err == nil && valueOf(object) == want:
			return nil
		}
		pause(ctx)
	}
}

func pause(ctx context.Context) {
	timer := time.NewTimer(time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// eachWatch runs a check with every sort of watch that the source has.
func (v *objectVisit) eachWatch(ctx context.Context, name string, check func(*follower) error) error {
	source := v.world.Source()
	sorts := map[string]func(context.Context, func(podmanager.ObjectReport)) error{}
	if w, ok := source.(podmanager.NamespaceWatcher); ok {
		sorts["WatchNamespace"] = func(ctx context.Context, deliver func(podmanager.ObjectReport)) error {
			return w.WatchNamespace(ctx, suiteNamespace, deliver)
		}
	}
	if w, ok := source.(podmanager.ObjectWatcher); ok {
		sorts["WatchObject"] = func(ctx context.Context, deliver func(podmanager.ObjectReport)) error {
			return w.WatchObject(ctx, suiteNamespace, name, deliver)
		}
	}
	if len(sorts) == 0 {
		return errNoWay
	}
	for sort, open := range sorts {
		watching, cancel := context.WithCancel(ctx)
		f := &follower{
			kind: v.kind, one: sort == "WatchObject", watched: name,
			ctx: ctx, cancel: cancel, done: make(chan error, 1), objects: map[string]string{},
		}
		go func() { f.done <- open(watching, f.take) }()
		err := check(f)
		if err == nil {
			err = f.stop()
		}
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", sort, err)
		}
	}
	return nil
}

// follower knows of the objects what a watch says.
type follower struct {
	kind    podmanager.ObjectKind
	one     bool // it is the watch of one object
	watched string
	ctx     context.Context    // of the rule
	cancel  context.CancelFunc // of the watch
	done    chan error

	mu      sync.Mutex
	heard   bool
	objects map[string]string // values by name
	err     error             // of the source
	breach  error
	ended   bool
}

func (f *follower) take(r podmanager.ObjectReport) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		f.breach = errors.New("it delivered after it had returned")
	}
	f.err = r.Err
	if r.Op == podmanager.OpSet {
		f.heard = true
		clear(f.objects)
	} else if r.Op != "" && !f.heard {
		f.breach = fmt.Errorf("the first word is %s", r.Op)
	}
	for _, object := range r.Objects {
		ref := object.Ref()
		if ref.Kind != f.kind || ref.Namespace != suiteNamespace || f.one && ref.Name != f.watched {
			f.breach = fmt.Errorf("it said something of %s", ref)
		}
		if r.Op == podmanager.OpRemove {
			delete(f.objects, ref.Name)
			continue
		}
		f.objects[ref.Name] = valueOf(object)
	}
}

// until waits until what the watch said makes the condition true.
func (f *follower) until(what string, is func() bool) error {
	for {
		f.mu.Lock()
		err, ok := f.breach, is()
		state := fmt.Sprintf("heard %v, error %v, objects %v", f.heard, f.err, f.objects)
		f.mu.Unlock()
		switch {
		case err != nil:
			return err
		case ok:
			return nil
		case f.ctx.Err() != nil:
			return fmt.Errorf("%s did not come: %s", what, state)
		}
		select {
		case err := <-f.done:
			f.done <- err
			if is := err != nil; is { // it may end when the source is ill
				f.mu.Lock()
				f.err = err
				f.mu.Unlock()
			}
		default:
		}
		pause(f.ctx)
	}
}

// untilHas waits until the watch has said these values of objects, by name; an
// empty one is an object that is not there.
func (f *follower) untilHas(want map[string]string) error {
	return f.until(fmt.Sprintf("word of %v", want), func() bool {
		if !f.heard {
			return false
		}
		for name, value := range want {
			if f.one && name != f.watched {
				continue
			}
			if f.objects[name] != value {
				return false
			}
		}
		return true
	})
}

// stop ends the watch, which must return.
func (f *follower) stop() error {
	f.cancel()
	select {
	case err := <-f.done:
		f.mu.Lock()
		defer f.mu.Unlock()
		f.ended = true
		if err != nil && f.err == nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("it returned %w", err)
		}
		return f.breach
	case <-f.ctx.Done():
		return errors.New("it did not return when its context had ended")
	}
}
