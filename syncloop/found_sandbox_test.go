package syncloop_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// An agent is killed between the end of a pod's containers and that of its
// sandbox. The next one stops that, also if the runtime gave a hint about the pod as
// the watch began, before its source spoke. A keeper ran on that nobody looked for.
func TestRestartStopsTheSandboxOfAPodWhoseContainersEnded(t *testing.T) {
	for _, tc := range []struct {
		name   string
		end    func(w *world, p *v1.Pod)
		wanted bool
	}{
		{"by itself", func(w *world, p *v1.Pod) { require.NoError(w.t, w.fake.Exit(p.UID, "c", 0)) }, true},
		{"evicted", func(w *world, p *v1.Pod) {
			ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
			defer cancel()
			_ = w.Kill(ctx, p.UID, syncloop.KillOptions{Evict: true, Verdict: &podstatus.Verdict{Reason: "Evicted"}})
		}, true},
		{"removed", func(w *world, p *v1.Pod) { w.remove(p) }, false},
	} {
		for kind, change := range map[string]func(*v1.Pod){"static": static, "api": func(*v1.Pod) {}} {
			for _, hint := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%s/hint=%t", tc.name, kind, hint), func(t *testing.T) {
					p := pod("victim", change, policy(v1.RestartPolicyNever))
					cutShort(t, p, hint, tc.end, func(w *world) {
						if tc.wanted {
							w.add(p)
						} else {
							w.add()
						}
						sleep(3 * time.Second)
						require.False(t, w.sandboxReady(p.UID))
						require.Equal(t, tc.wanted, slices.Contains(w.listed(), p.UID))
						require.Equal(t, tc.wanted, podstatus.Terminal(w.phase(p.UID)))
					})
				})
			}
		}
	}
}

// cutShort has one agent begin the end of a pod, and ends it once the containers
// have ended. What follows is up to the next one.
func cutShort(t *testing.T, p *v1.Pod, hint bool, end func(*world, *v1.Pod), next func(*world)) {
	var second atomic.Bool
	funcs := runtimetest.Funcs{
		KillPod: func(ctx context.Context, rt runtime.Runtime, req runtime.KillRequest) error {
			if second.Load() {
				return rt.KillPod(ctx, req)
			}
			_ = rt.(*runtimetest.Fake).Exit(req.Ref.UID, "c", 0)
			<-ctx.Done()
			return ctx.Err()
		},
		Watch: func(ctx context.Context, w runtime.Watcher, notify func(types.UID)) error {
			if hint && second.Load() {
				notify(p.UID)
			}
			return w.Watch(ctx, notify)
		},
	}
	inWorld(t, func(t *testing.T, w *world) {
		w.add(p)
		end(w, p)
		sleep(time.Second)
		require.False(t, w.observed(p.UID).Running())
		w.stop()
		second.Store(true)
		w.start()
		sleep(time.Second)
		require.True(t, w.sandboxReady(p.UID), "no source has spoken")
		next(w)
	}, faulty(func() runtimetest.Funcs { return funcs }))
}

func (w *world) sandboxReady(uid types.UID) bool {
	return slices.ContainsFunc(w.observed(uid).Sandboxes, func(s runtime.SandboxStatus) bool { return s.Ready })
}
