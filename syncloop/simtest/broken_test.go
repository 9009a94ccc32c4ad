package simtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
	"github.com/kubeparts/kubeparts/syncloop/simtest"
)

// over makes a runtime of a fake and what is wrong with it.
func over(f func(fake *runtimetest.Fake) runtimetest.Funcs) func() runtime.Runtime {
	return func() runtime.Runtime {
		fake := runtimetest.NewFake(runtimetest.FakeConfig{Script: simtest.Script})
		return runtimetest.Intercept(fake, f(fake))
	}
}

// sink puts f between the agent and its sink.
func sink(f func(ctx context.Context, u syncloop.StatusUpdate, to syncloop.StatusSink) error) func(*syncloop.Config) {
	return func(c *syncloop.Config) {
		to := c.Sink
		c.Sink = syncloop.StatusFunc(func(ctx context.Context, u syncloop.StatusUpdate) error { return f(ctx, u, to) })
	}
}

// Each promise is seen to be broken by something that breaks it.
func TestBrokenPromisesAreSeen(t *testing.T) {
	for want, cfg := range map[simtest.Invariant]simtest.Config{
		simtest.StopsInTime: {Runtime: over(func(*runtimetest.Fake) runtimetest.Funcs {
			return runtimetest.Funcs{KillPod: func(context.Context, runtime.Runtime, runtime.KillRequest) error { return nil }}
		})},
		simtest.PhaseIsFinal: {Change: sink(func(ctx context.Context, u syncloop.StatusUpdate, to syncloop.StatusSink) error {
			if u.Finished && podstatus.Terminal(u.Status.Phase) {
				status := *u.Status
				status.Phase = v1.PodRunning
				u.Status = &status
			}
			return to.SetStatus(ctx, u)
		})},
		simtest.LedgerIsTrue: {Checks: []admission.Check{{Name: "Yes", Handler: admission.AdmitFunc(
			func(context.Context, admission.Request) (admission.Verdict, error) { return admission.Admitted(), nil },
		)}}},
		simtest.OneInstance: {Runtime: over(func(*runtimetest.Fake) runtimetest.Funcs {
			return runtimetest.Funcs{PodStatus: func(ctx context.Context, rt runtime.Runtime, uid types.UID) (*runtime.PodStatus, error) {
				st, err := rt.PodStatus(ctx, uid)
				if err == nil && len(st.Containers) > 1 {
					twin := st.Containers[0]
					twin.ID += "-twin"
					st.Containers = append(st.Containers, twin)
				}
				return st, err
			}}
		})},
		simtest.RestartsGrow: {Runtime: func() runtime.Runtime {
			return runtimetest.NewFake(runtimetest.FakeConfig{
				Script: simtest.Script, Backoff: runtime.BackoffConfig{Base: time.Second, Max: time.Second},
			})
		}},
		simtest.EvictsOne: {Evict: func(pods []*syncloop.PodView) (uids []types.UID) {
			for _, p := range pods {
				uids = append(uids, p.UID)
			}
			return uids
		}},
		simtest.Converges: {Change: sink(func(context.Context, syncloop.StatusUpdate, syncloop.StatusSink) error { return nil })},
		simtest.RestartTouchesNothing: {Runtime: over(func(fake *runtimetest.Fake) runtimetest.Funcs {
			return runtimetest.Funcs{ListPods: func(ctx context.Context, rt runtime.Runtime) ([]runtime.ListedPod, error) {
				pods, err := rt.ListPods(ctx)
				for _, p := range pods { // a restart that sweeps the node
					_ = fake.KillPod(ctx, runtime.KillRequest{Ref: p.PodRef, Grace: time.Second})
				}
				return pods, err
			}}
		})},
		simtest.KeepsSecrets: {Runtime: over(func(*runtimetest.Fake) runtimetest.Funcs {
			return runtimetest.Funcs{SyncPod: func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
				res, err := rt.SyncPod(ctx, req)
				for i := range res.Containers {
					if r := &res.Containers[i]; r.Reason != "" {
						r.Message = "environment: " + req.Pod.Spec.Containers[0].Env[0].Value
					}
				}
				return res, err
			}}
		})},
	} {
		t.Run(want.String(), func(t *testing.T) {
			cfg.Events = 20
			var failure *simtest.Failure
			for seed := uint64(1); seed < 30 && (failure == nil || failure.Violation.Invariant != want); seed++ {
				failure, _ = simtest.Check(t, cfg, seed) // it may break others, too
			}
			require.NotNil(t, failure)
			require.Equal(t, want, failure.Violation.Invariant)
			require.NotEmpty(t, failure.Events, "it takes a pod")
			require.Positive(t, failure.Left, "the rest does not matter")
			text := failure.String()
			require.Contains(t, text, want.String())
			require.Contains(t, text, "BROKEN: "+failure.Violation.Text)
		})
	}
}
