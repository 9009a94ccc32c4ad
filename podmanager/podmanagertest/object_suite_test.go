package podmanagertest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/podmanagertest"
)

// objectMemory is the world of the fake, as some source shows it.
type objectMemory struct {
	*podmanagertest.Objects
	as func(*podmanagertest.Objects) podmanager.ObjectSource
}

func (m objectMemory) Source() podmanager.ObjectSource {
	if m.as != nil {
		return m.as(m.Objects)
	}
	return m.Objects
}

func (m objectMemory) Put(object podmanager.Object) error {
	m.Objects.Put(object)
	return nil
}

func (m objectMemory) Delete(ref podmanager.ObjectRef) error {
	m.Objects.Delete(ref.Namespace, ref.Name)
	return nil
}

func (m objectMemory) Break() error {
	m.Fail(errors.New("broken"))
	return nil
}

func (m objectMemory) Mend() error {
	m.Fail(nil)
	return nil
}

func objectSuite(as func(*podmanagertest.Objects) podmanager.ObjectSource) podmanagertest.ObjectSuite {
	return podmanagertest.ObjectSuite{
		Kind: podmanager.KindSecret,
		Open: func() (podmanagertest.ObjectWorld, error) {
			return objectMemory{podmanagertest.NewObjects(podmanager.KindSecret), as}, nil
		},
	}
}

func TestFakeObjectsKeepTheRules(t *testing.T) { podmanagertest.TestObjectSource(t, objectSuite(nil)) }

// watched is a source whose watch of a namespace is another one.
type watched struct {
	podmanager.ObjectSource
	watch func(context.Context, string, func(podmanager.ObjectReport)) error
}

func (w watched) WatchNamespace(ctx context.Context, namespace string, deliver func(podmanager.ObjectReport)) error {
	return w.watch(ctx, namespace, deliver)
}

// rewrite is a source whose watch says other things.
func rewrite(say func(podmanager.ObjectReport, func(podmanager.ObjectReport))) func(*podmanagertest.Objects) podmanager.ObjectSource {
	return func(s *podmanagertest.Objects) podmanager.ObjectSource {
		return watched{s, func(ctx context.Context, namespace string, deliver func(podmanager.ObjectReport)) error {
			return s.WatchNamespace(ctx, namespace, func(r podmanager.ObjectReport) { say(r, deliver) })
		}}
	}
}

func TestBrokenObjectSources(t *testing.T) {
	for name, tc := range map[string]struct {
		rule string
		as   func(*podmanagertest.Objects) podmanager.ObjectSource
	}{
		"an error of its own for what is not there": {"not-found", func(s *podmanagertest.Objects) podmanager.ObjectSource {
			return podmanager.ObjectSourceFunc(func(ctx context.Context, namespace, name string) (podmanager.Object, error) {
				object, err := s.Get(ctx, namespace, name)
				if err != nil {
					return object, errors.New("no such thing")
				}
				return object, nil
			})
		}},
		"another object": {"get", func(s *podmanagertest.Objects) podmanager.ObjectSource {
			return podmanager.ObjectSourceFunc(func(ctx context.Context, namespace, _ string) (podmanager.Object, error) {
				return s.Get(ctx, namespace, "b")
			})
		}},
		"no list first": {"watch-set", rewrite(func(r podmanager.ObjectReport, deliver func(podmanager.ObjectReport)) {
			if r.Op == podmanager.OpSet {
				r.Op = podmanager.OpAdd
			}
			deliver(r)
		})},
		"all namespaces": {"watch-set", func(s *podmanagertest.Objects) podmanager.ObjectSource {
			return watched{s, func(ctx context.Context, namespace string, deliver func(podmanager.ObjectReport)) error {
				return s.WatchNamespace(ctx, namespace, func(r podmanager.ObjectReport) {
					if other, err := s.Get(ctx, "elsewhere", "a"); err == nil {
						r.Objects = append(r.Objects, other)
					}
					deliver(r)
				})
			}}
		}},
		"removals are not said": {"watch-changes", rewrite(func(r podmanager.ObjectReport, deliver func(podmanager.ObjectReport)) {
			if r.Op != podmanager.OpRemove {
				deliver(r)
			}
		})},
		"it never returns": {"watch-stop", func(s *podmanagertest.Objects) podmanager.ObjectSource {
			return watched{s, func(_ context.Context, namespace string, deliver func(podmanager.ObjectReport)) error {
				return s.WatchNamespace(context.Background(), namespace, deliver)
			}}
		}},
		"an ill source has nothing": {"silence", func(s *podmanagertest.Objects) podmanager.ObjectSource {
			return watched{s, func(ctx context.Context, namespace string, deliver func(podmanager.ObjectReport)) error {
				err := s.WatchNamespace(ctx, namespace, deliver)
				if err != nil {
					deliver(podmanager.ObjectReport{Op: podmanager.OpSet, Err: err})
				}
				return err
			}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			suite := objectSuite(tc.as)
			suite.Patience = 200 * time.Millisecond
			err := podmanagertest.CheckObjectSource(t.Context(), suite)
			require.Contains(t, conformance.Broken(err), tc.rule, "%v", err)
		})
	}
}
