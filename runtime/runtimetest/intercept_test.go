package runtimetest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
)

// Nothing is set, so nothing changes: the suite can't tell the difference.
func TestInterceptKeepsTheRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := runtimetest.CheckRuntime(t.Context(), func(context.Context) (runtimetest.RuntimeHarness, error) {
			return fakeHarness(func(f *runtimetest.Fake) runtime.Runtime {
				return runtimetest.Intercept(f, runtimetest.Funcs{})
			}), nil
		}, runtimetest.Options{Logf: func(format string, args ...any) {
			// No rule may be skipped but that for a Reporter, which the fake is not.
			if text := fmt.Sprintf(format, args...); !strings.Contains(text, "it is no Reporter") {
				t.Error(text)
			}
		}})
		require.NoError(t, err)
	})
}

func TestInterceptKeepsPowers(t *testing.T) {
	f := runtimetest.NewFake(runtimetest.FakeConfig{})
	for name, tt := range map[string]struct {
		rt              runtime.Runtime
		watches, cleans bool
	}{
		"all":  {f, true, true},
		"none": {runtimetest.Bare(f), false, false},
		"watcher": {struct { // and nothing else
			runtime.Runtime
			runtime.Watcher
		}{f, f}, true, false},
		"cleaner": {struct {
			runtime.Runtime
			runtime.Cleaner
		}{f, f}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			rt := runtimetest.Intercept(tt.rt, runtimetest.Funcs{})
			_, watches := rt.(runtime.Watcher)
			_, cleans := rt.(runtime.Cleaner)
			require.Equal(t, tt.watches, watches)
			require.Equal(t, tt.cleans, cleans)
		})
	}
	bare := runtimetest.Intercept(runtimetest.Bare(f), runtimetest.Funcs{})
	_, err := bare.(runtime.Execer).Exec(t.Context(), "id", nil, runtime.ExecIO{})
	require.ErrorIs(t, err, runtime.ErrNotSupported)
}

func TestInterceptFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := runtimetest.NewFake(runtimetest.FakeConfig{})
		rt := runtimetest.Intercept(f, runtimetest.Funcs{
			Before: func(ctx context.Context, c runtimetest.Call) error {
				switch c.Method {
				case "ListPods":
					return runtimetest.ErrInjected
				case "SyncPod":
					return runtimetest.Hang(ctx)
				}
				return runtimetest.Wait(ctx, time.Second) // slow
			},
			PodStatus: func(ctx context.Context, rt runtime.Runtime, uid types.UID) (*runtime.PodStatus, error) {
				st, err := rt.PodStatus(ctx, uid)
				st.Containers = append(st.Containers, runtime.ContainerStatus{Name: "ghost", State: runtime.StateRunning})
				return st, err
			},
		})
		_, err := rt.ListPods(t.Context())
		require.ErrorIs(t, err, runtimetest.ErrInjected)

		start := time.Now()
		st, err := rt.PodStatus(t.Context(), "uid-1")
		require.NoError(t, err)
		require.NotNil(t, st.Container("ghost"))
		require.Equal(t, time.Second, time.Since(start))

		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err = rt.SyncPod(ctx, runtime.SyncRequest{Pod: newPod("web", v1.Container{Name: "main"})})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		pods, err := f.ListPods(t.Context())
		require.NoError(t, err)
		require.Empty(t, pods)
	})
}
