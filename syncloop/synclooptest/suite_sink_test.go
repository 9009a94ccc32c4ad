package synclooptest_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/synclooptest"
)

// A sink that does nothing keeps the rules, and so does one that remembers.
func TestGoodSinksKeepTheRules(t *testing.T) {
	synclooptest.TestSink(t, func(*testing.T) syncloop.StatusSink {
		return syncloop.StatusFunc(func(context.Context, syncloop.StatusUpdate) error { return nil })
	})
	synclooptest.TestSink(t, func(*testing.T) syncloop.StatusSink { return &synclooptest.Sink{} })
}

// Each deliberately broken sink fails, and by the rule that it breaks.
func TestSinkSuiteFindsBrokenSinks(t *testing.T) {
	for name, c := range map[string]struct {
		rule string
		open func() syncloop.StatusFunc
	}{
		"wants a mirror": {"life", func() syncloop.StatusFunc {
			return func(_ context.Context, u syncloop.StatusUpdate) error {
				if u.Mirror == nil {
					return errors.New("no mirror")
				}
				return nil
			}
		}},
		"refuses a version that it has": {"again", func() syncloop.StatusFunc {
			var last sync.Map
			return func(_ context.Context, u syncloop.StatusUpdate) error {
				if had, _ := last.Swap(u.Pod.UID, u.Version); had == u.Version {
					return errors.New("conflict")
				}
				return nil
			}
		}},
		"takes one pod at a time": {"pods-at-once", func() syncloop.StatusFunc {
			busy := make(chan types.UID, 1)
			return func(_ context.Context, u syncloop.StatusUpdate) error {
				select {
				case busy <- u.Pod.UID:
				default:
					return errors.New("busy")
				}
				<-time.After(time.Millisecond)
				<-busy
				return nil
			}
		}},
		"writes to the status": {"read-only", func() syncloop.StatusFunc {
			return func(_ context.Context, u syncloop.StatusUpdate) error {
				if u.MayRun {
					u.Status.Phase = v1.PodRunning
				}
				return nil
			}
		}},
		"does not heed its context": {"context", func() syncloop.StatusFunc {
			return func(ctx context.Context, _ syncloop.StatusUpdate) error {
				if ctx.Err() != nil {
					<-time.After(time.Hour)
				}
				return nil
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := synclooptest.CheckSink(t.Context(), func() syncloop.StatusSink { return c.open() })
				require.Contains(t, conformance.Broken(err), c.rule, "%v", err)
				<-time.After(2 * time.Hour) // what hung has ended by then
			})
		})
	}
}
