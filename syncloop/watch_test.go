package syncloop_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
)

// What happens between the first list and the beginning of the watch gives no
// hint: the list that follows the beginning shows it, whether the watch tells
// of its beginning or not.
func TestExitBeforeTheWatchBegan(t *testing.T) {
	for name, silent := range map[string]bool{"it says when it begins": false, "it does not": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.add(pod("a"))
				require.NoError(t, w.fake.Exit("uid-a", "c", 1))
				sleep(1100 * time.Millisecond)
				require.EqualValues(t, 1, w.sink.Status("uid-a").ContainerStatuses[0].RestartCount)
			}, func(c *syncloop.Config) {
				c.Runtime = runtimetest.Intercept(c.Runtime, runtimetest.Funcs{
					Watch: func(ctx context.Context, rt runtime.Watcher, notify func(types.UID)) error {
						if err := runtimetest.Wait(ctx, 100*time.Millisecond); err != nil {
							return err
						}
						return rt.Watch(ctx, func(uid types.UID) {
							if uid != "" || !silent {
								notify(uid)
							}
						})
					},
				})
			})
		})
	}
}

// A watch that says when it begins is not followed by another list a second later,
// which has every pod of a big start looked at once more.
func TestNoListAfterAWatchBegan(t *testing.T) {
	var lists atomic.Int64
	inBubble(t, func(t *testing.T, w *world) {
		w.add(pod("a"))
		sleep(100 * time.Millisecond)
		before := lists.Load()
		sleep(time.Minute)
		require.Equal(t, before, lists.Load())
	}, func(c *syncloop.Config) {
		c.Runtime = runtimetest.Intercept(c.Runtime, runtimetest.Funcs{
			Before: func(_ context.Context, call runtimetest.Call) error {
				if call.Method == "ListPods" {
					lists.Add(1)
				}
				return nil
			},
		})
	})
}

// A Runtime that passes on the powers of what lies under it can't tell by its
// type alone that it has none.
func TestWatchThatIsNotSupportedIsReplacedByLists(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.add(pod("a"))
		sleep(10 * time.Second)
		require.NoError(t, w.fake.Exit("uid-a", "c", 1))
		sleep(1100 * time.Millisecond)
		require.EqualValues(t, 1, w.sink.Status("uid-a").ContainerStatuses[0].RestartCount)
	}, func(c *syncloop.Config) {
		c.Runtime = runtimetest.Intercept(c.Runtime, runtimetest.Funcs{
			Watch: func(context.Context, runtime.Watcher, func(types.UID)) error {
				return fmt.Errorf("watch: %w", runtime.ErrNotSupported)
			},
		})
	})
}
