package simtest_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop/simtest"
)

// Hooks that are not as the kubelet has them are seen.
func TestBrokenHooksAreSeen(t *testing.T) {
	for name, tt := range map[string]struct {
		want    simtest.Invariant
		text    string
		runtime func() runtime.Runtime
	}{
		"a preStop hook that nothing bounds": {simtest.StopsInTime, "after it had to stop", over(func(*runtimetest.Fake) runtimetest.Funcs {
			return runtimetest.Funcs{KillPod: func(ctx context.Context, rt runtime.Runtime, req runtime.KillRequest) error {
				if pod := req.Pod; pod != nil && hasPreStop(pod) {
					if err := runtimetest.Wait(ctx, 20*time.Minute); err != nil {
						return err
					}
				}
				return rt.KillPod(ctx, req)
			}}
		})},
		"a container is stopped although its postStart hook succeeded": {simtest.RestartTouchesNothing, "stopped without a reason", func() runtime.Runtime {
			return runtimetest.NewFake(runtimetest.FakeConfig{Script: simtest.Script, Hook: func(i runtimetest.Instance) runtimetest.Script {
				s := simtest.Hook(i)
				s.ExitCode = 1
				return s
			}})
		}},
		"a container runs on although its postStart hook failed": {simtest.Converges, "its postStart hook failed", func() runtime.Runtime {
			return runtimetest.NewFake(runtimetest.FakeConfig{Script: simtest.Script, Hook: func(runtimetest.Instance) runtimetest.Script {
				return runtimetest.ExitsWith(0)
			}})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := simtest.Config{Hooks: true, Events: 20, Runtime: tt.runtime}
			var failure *simtest.Failure
			for seed := uint64(1); seed < 60 && (failure == nil || failure.Violation.Invariant != tt.want); seed++ {
				failure, _ = simtest.Check(t, cfg, seed) // it may break others, too
			}
			require.NotNil(t, failure)
			require.Equal(t, tt.want, failure.Violation.Invariant)
			require.Contains(t, failure.Violation.Text, tt.text)
		})
	}
}

func hasPreStop(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c v1.Container) bool {
		return c.Lifecycle != nil && c.Lifecycle.PreStop != nil
	})
}
