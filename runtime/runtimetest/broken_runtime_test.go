package runtimetest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
)

// TestBrokenRuntimes runs the suite against runtimes that each break the
// contract in one way. The rule that says so must be among the broken ones.
func TestBrokenRuntimes(t *testing.T) {
	type fake = runtimetest.Fake
	type funcs = runtimetest.Funcs
	with := func(f funcs) func(*fake) runtime.Runtime {
		return func(rt *fake) runtime.Runtime { return runtimetest.Intercept(rt, f) }
	}
	kill := func(f func(context.Context, runtime.Runtime, runtime.KillRequest) error) func(*fake) runtime.Runtime {
		return with(funcs{KillPod: f})
	}
	status := func(change func(*runtime.PodStatus)) func(*fake) runtime.Runtime {
		return with(funcs{PodStatus: func(ctx context.Context, rt runtime.Runtime, uid types.UID) (*runtime.PodStatus, error) {
			st, err := rt.PodStatus(ctx, uid)
			if err == nil {
				change(st)
			}
			return st, err
		}})
	}
	syncs := func(f func(context.Context, runtime.Runtime, runtime.SyncRequest) (runtime.SyncResult, error)) func(*fake) runtime.Runtime {
		return with(funcs{SyncPod: f})
	}
	tests := []struct {
		rule, what string
		broken     func(*fake) runtime.Runtime
	}{
		{"sync-idle", "says that it acted in every pass", syncs(func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
			res, err := rt.SyncPod(ctx, req)
			res.Acted = true
			return res, err
		})},
		{"sync-read-only", "labels the pod that it was given", syncs(func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
			req.Pod.Labels["seen"] = "yes"
			return rt.SyncPod(ctx, req)
		})},
		{"sync-init-order", "starts the containers without their init containers", syncs(func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
			req.Pod = req.Pod.DeepCopy()
			req.Pod.Spec.InitContainers = nil
			return rt.SyncPod(ctx, req)
		})},
		{"sync-host-network", "has its own idea of networks", status(func(st *runtime.PodStatus) {
			for i := range st.Sandboxes {
				st.Sandboxes[i].HostNetwork = false
			}
		})},
		{"sync-ephemeral", "knows of no such containers", syncs(func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
			req.Pod = req.Pod.DeepCopy()
			req.Pod.Spec.EphemeralContainers = nil
			return rt.SyncPod(ctx, req)
		})},
		{"sync-start-fails", "keeps the reason to itself", syncs(func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
			res, err := rt.SyncPod(ctx, req)
			for i := range res.Containers {
				res.Containers[i].Reason = ""
			}
			return res, err
		})},
		{"sync-cancel", "does not look at its context", syncs(func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
			return rt.SyncPod(context.WithoutCancel(ctx), req)
		})},
		{"restart-never", "restarts what ended, whatever the policy", syncs(func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
			req.Pod = req.Pod.DeepCopy()
			req.Pod.Spec.RestartPolicy = "Always"
			return rt.SyncPod(ctx, req)
		})},
		{"restart-ended", "goes by what it remembers alone", syncs(func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
			req.Ended = nil
			return rt.SyncPod(ctx, req)
		})},
		{"restart-backoff", "does not say when to come back", syncs(func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
			res, err := rt.SyncPod(ctx, req)
			res.RetryAt = time.Time{}
			return res, err
		})},
		{"sync-start", "tells of failures alone", syncs(func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
			res, err := rt.SyncPod(ctx, req)
			res.Containers = slices.DeleteFunc(res.Containers, func(r runtime.StartResult) bool { return r.Reason == "" })
			return res, err
		})},
		{"restart-rest", "acts as long as something waits", syncs(func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
			res, err := rt.SyncPod(ctx, req)
			res.Acted = res.Acted || !res.RetryAt.IsZero()
			return res, err
		})},
		{"restart-rest", "keeps every instance", func(rt *fake) runtime.Runtime {
			dead := map[string]runtime.ContainerStatus{}
			return status(func(st *runtime.PodStatus) {
				for _, c := range st.Containers {
					if c.State == runtime.StateExited {
						dead[c.ID] = c
					}
				}
				for id, c := range dead {
					if c.Name == "main" && !slices.ContainsFunc(st.Containers, func(c runtime.ContainerStatus) bool { return c.ID == id }) {
						st.Containers = append(st.Containers, c)
					}
				}
				st.Sort()
			})(rt)
		}},
		{"restart-grace", "gives each container the grace of its pod", syncs(func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
			req.Pod = req.Pod.DeepCopy()
			if p := req.Pod.Spec.Containers[0].LivenessProbe; p != nil {
				p.TerminationGracePeriodSeconds = nil
			}
			return rt.SyncPod(ctx, req)
		})},
		{"restart-all", "knows of no such rule", syncs(func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
			req.RestartAll = false
			return rt.SyncPod(ctx, req)
		})},
		{"restart-stopped", "counts its sandboxes from 0 each time", status(func(st *runtime.PodStatus) {
			for i := range st.Sandboxes {
				st.Sandboxes[i].Attempt = 0
			}
		})},
		{"restart-liveness", "does not look at verdicts", syncs(func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
			req.Probes = runtime.ProbeVerdicts{}
			return rt.SyncPod(ctx, req)
		})},
		{"exit", "loses exit codes", status(func(st *runtime.PodStatus) {
			for i := range st.Containers {
				st.Containers[i].ExitCode = 0
			}
		})},
		{"restart-count", "forgets to count", status(func(st *runtime.PodStatus) {
			for i := range st.Containers {
				st.Containers[i].RestartCount = 0
			}
		})},
		{"restart-count", "lists the oldest container first", status(func(st *runtime.PodStatus) {
			slices.Reverse(st.Containers)
		})},
		{"status-snapshot", "knows nothing, and does not say so", with(funcs{
			PodStatus: func(context.Context, runtime.Runtime, types.UID) (*runtime.PodStatus, error) { return nil, nil },
		})},
		{"sync-read-only", "panics", syncs(func(context.Context, runtime.Runtime, runtime.SyncRequest) (runtime.SyncResult, error) {
			panic("boo")
		})},
		{"status-unknown", "has an error for a pod that it does not know", with(funcs{
			PodStatus: func(ctx context.Context, rt runtime.Runtime, uid types.UID) (*runtime.PodStatus, error) {
				st, err := rt.PodStatus(ctx, uid)
				if err == nil && len(st.Sandboxes) == 0 {
					return nil, runtime.ErrNotFound
				}
				return st, err
			},
		})},
		{"status-observed-at", "does not say when it looked", status(func(st *runtime.PodStatus) { st.ObservedAt = time.Time{} })},
		{"status-snapshot", "hands out what it keeps", func(rt *fake) runtime.Runtime {
			var kept sync.Map
			return with(funcs{PodStatus: func(ctx context.Context, rt runtime.Runtime, uid types.UID) (*runtime.PodStatus, error) {
				st, err := rt.PodStatus(ctx, uid)
				if k, ok := kept.Load(uid); ok && time.Since(k.(*runtime.PodStatus).ObservedAt) == 0 {
					return k.(*runtime.PodStatus), err
				}
				kept.Store(uid, st)
				return st, err
			}})(rt)
		}},
		{"status-ips", "leaves the addresses to the sandboxes", status(func(st *runtime.PodStatus) { st.IPs = nil })},
		{"list", "lists nothing that is dead", with(funcs{ListPods: func(ctx context.Context, rt runtime.Runtime) ([]runtime.ListedPod, error) {
			pods, err := rt.ListPods(ctx)
			return slices.DeleteFunc(pods, func(p runtime.ListedPod) bool { return !p.Running }), err
		}})},
		{"list-revision", "has one revision for all times", with(funcs{ListPods: func(ctx context.Context, rt runtime.Runtime) ([]runtime.ListedPod, error) {
			pods, err := rt.ListPods(ctx)
			for i := range pods {
				pods[i].Revision = 1
			}
			return pods, err
		}})},
		{"kill-again", "has an error for a pod that it does not know", kill(func(ctx context.Context, rt runtime.Runtime, req runtime.KillRequest) error {
			if st, err := rt.PodStatus(ctx, req.Ref.UID); err != nil || len(st.Sandboxes) == 0 {
				return errors.Join(err, runtime.ErrNotFound)
			}
			return rt.KillPod(ctx, req)
		})},
		{"kill-without-spec", "needs the pod", kill(func(ctx context.Context, rt runtime.Runtime, req runtime.KillRequest) error {
			if req.Pod == nil {
				return nil
			}
			return rt.KillPod(ctx, req)
		})},
		{"kill-forced", "does not wait for the end", kill(func(_ context.Context, rt runtime.Runtime, req runtime.KillRequest) error {
			ctx, cancel := context.WithTimeout(context.Background(), time.Nanosecond)
			defer cancel()
			_ = rt.KillPod(ctx, req)
			return nil
		})},
		{"kill-forced", "gives no grace", kill(func(ctx context.Context, rt runtime.Runtime, req runtime.KillRequest) error {
			req.Deadline = time.Now()
			return rt.KillPod(ctx, req)
		})},
		{"kill-begun", "goes by the grace alone", kill(func(ctx context.Context, rt runtime.Runtime, req runtime.KillRequest) error {
			req.Deadline = time.Now().Add(req.Grace)
			return rt.KillPod(ctx, req)
		})},
		{"kill-sooner", "sticks to the first deadline", func(rt *fake) runtime.Runtime {
			var first sync.Map
			return kill(func(ctx context.Context, rt runtime.Runtime, req runtime.KillRequest) error {
				deadline, _ := first.LoadOrStore(req.Ref.UID, req.Deadline)
				req.Deadline = deadline.(time.Time)
				return rt.KillPod(ctx, req)
			})(rt)
		}},
		{"kill-cancel", "waits on when its context has ended", kill(func(ctx context.Context, rt runtime.Runtime, req runtime.KillRequest) error {
			return rt.KillPod(context.WithoutCancel(ctx), req)
		})},
		{"kill-cancel-goes-on", "stops stopping when its context ends", kill(func(ctx context.Context, rt runtime.Runtime, req runtime.KillRequest) error {
			if err := runtimetest.Wait(ctx, time.Until(req.Deadline)); err != nil {
				return err
			}
			req.Deadline = time.Now()
			return rt.KillPod(ctx, req)
		})},
		{"kill-overtakes", "goes on with a pass that a kill overtook", syncs(func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
			_ = runtimetest.Wait(context.WithoutCancel(ctx), 3*time.Second)
			return rt.SyncPod(context.WithoutCancel(ctx), req)
		})},
		{"kill-sidecar-last", "knows no order", kill(func(ctx context.Context, rt runtime.Runtime, req runtime.KillRequest) error {
			st, err := rt.PodStatus(ctx, req.Ref.UID)
			if err != nil {
				return err
			}
			if st.Container("sidecar") != nil {
				if err := rt.(*fake).Exit(req.Ref.UID, "sidecar", 0); err != nil {
					return err
				}
				_ = runtimetest.Wait(ctx, time.Second)
			}
			return rt.KillPod(ctx, req)
		})},
		{"kill-sidecar-waits", "knows no order", kill(func(ctx context.Context, rt runtime.Runtime, req runtime.KillRequest) error {
			req.Pod = nil
			return rt.KillPod(ctx, req)
		})},
		{"independent", "handles one call at a time", func(rt *fake) runtime.Runtime {
			turn := make(chan struct{}, 1)
			return runtimetest.Intercept(rt, funcs{
				Before: func(ctx context.Context, _ runtimetest.Call) error {
					select {
					case turn <- struct{}{}:
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				},
				After: func(_ context.Context, _ runtimetest.Call, err error) error {
					<-turn
					return err
				},
			})
		}},
		{"independent-sync", "syncs one pod at a time", func(rt *fake) runtime.Runtime {
			turn := make(chan struct{}, 1)
			return syncs(func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
				turn <- struct{}{}
				defer func() { <-turn }()
				return rt.SyncPod(ctx, req)
			})(rt)
		}},
		{"watch", "hints at nothing", with(funcs{Watch: func(ctx context.Context, _ runtime.Watcher, _ func(types.UID)) error {
			return runtimetest.Hang(ctx)
		}})},
		{"watch", "does not say that it has begun", with(funcs{Watch: func(ctx context.Context, w runtime.Watcher, notify func(types.UID)) error {
			return w.Watch(ctx, func(uid types.UID) {
				if uid != "" {
					notify(uid)
				}
			})
		}})},
		{"watch", "only says that it has begun", with(funcs{Watch: func(ctx context.Context, _ runtime.Watcher, notify func(types.UID)) error {
			notify("")
			return runtimetest.Hang(ctx)
		}})},
		{"exec", "takes a command that failed for an error", func(rt *fake) runtime.Runtime { return failingExec{rt} }},
		{"exec-cancel", "lets commands run on", func(rt *fake) runtime.Runtime { return endlessExec{rt} }},
		{"resize", "resizes by a restart", syncs(func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
			req.Pod = req.Pod.DeepCopy()
			for i := range req.Pod.Spec.Containers {
				req.Pod.Spec.Containers[i].ResizePolicy = []v1.ContainerResizePolicy{{ResourceName: v1.ResourceCPU, RestartPolicy: v1.RestartContainer}}
			}
			return rt.SyncPod(ctx, req)
		})},
		{"resize", "says what it does not do", status(func(st *runtime.PodStatus) {
			for i := range st.Containers {
				st.Containers[i].Resources = &v1.ResourceRequirements{}
			}
		})},
		{"clean", "removes what runs", func(rt *fake) runtime.Runtime { return carelessCleaner{rt} }},
		{"doing", "is always busy", func(rt *fake) runtime.Runtime { return busy{rt} }},
		{"doing-stop", "does not know since when", func(rt *fake) runtime.Runtime { return busy{rt} }},
		{"doing-stop", "names nothing", func(rt *fake) runtime.Runtime { return idle{rt} }},
		{"doing-stop", "waits for the stop", func(rt *fake) runtime.Runtime { return mute{rt} }},
	}
	for _, tt := range tests {
		t.Run(tt.rule+"/"+tt.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := runtimetest.CheckRuntime(t.Context(), func(context.Context) (runtimetest.RuntimeHarness, error) {
					return fakeHarness(tt.broken), nil
				}, runtimetest.Options{})
				require.Contains(t, conformance.Broken(err), tt.rule, "%v", err)
			})
		})
	}
}

type failingExec struct{ *runtimetest.Fake }

func (r failingExec) Exec(ctx context.Context, id string, command []string, io runtime.ExecIO) (int, error) {
	code, err := r.Fake.Exec(ctx, id, command, io)
	if err == nil && code != 0 {
		err = errors.New("exit code not zero")
	}
	return code, err
}

type endlessExec struct{ *runtimetest.Fake }

func (r endlessExec) Exec(ctx context.Context, id string, command []string, io runtime.ExecIO) (int, error) {
	return r.Fake.Exec(context.WithoutCancel(ctx), id, command, io)
}

// idle never has anything to tell.
type idle struct{ *runtimetest.Fake }

func (idle) Doing(types.UID) []runtime.Doing { return nil }

// mute answers when nothing runs any more.
type mute struct{ *runtimetest.Fake }

func (r mute) Doing(uid types.UID) []runtime.Doing {
	since := time.Now()
	for range 200 {
		if st, err := r.PodStatus(context.Background(), uid); err != nil || !st.Running() {
			break
		}
		time.Sleep(time.Second)
	}
	return []runtime.Doing{{What: "main to end", Since: since}}
}

type busy struct{ *runtimetest.Fake }

func (busy) Doing(types.UID) []runtime.Doing { return []runtime.Doing{{What: "better times"}} }

type carelessCleaner struct{ *runtimetest.Fake }

func (r carelessCleaner) RemovePod(_ context.Context, uid types.UID) error {
	r.Forget(uid)
	return nil
}

// TestRuntimeThatForgets loses its pods when the agent is restarted.
func TestRuntimeThatForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := runtimetest.CheckRuntime(t.Context(), func(context.Context) (runtimetest.RuntimeHarness, error) {
			h := fakeHarness(nil)
			h.Reopen = func(context.Context) (runtime.Runtime, error) {
				return runtimetest.NewFake(runtimetest.FakeConfig{}), nil
			}
			return h, nil
		}, runtimetest.Options{})
		require.Equal(t, []string{"reopen"}, conformance.Broken(err))
	})
}

// TestRuntimeThatLeaks leaves a goroutine behind.
func TestRuntimeThatLeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		defer close(over)
		err := runtimetest.CheckRuntime(t.Context(), func(context.Context) (runtimetest.RuntimeHarness, error) {
			return fakeHarness(func(f *runtimetest.Fake) runtime.Runtime {
				return runtimetest.Intercept(f, runtimetest.Funcs{After: func(_ context.Context, _ runtimetest.Call, err error) error {
					go func() { <-over }()
					return err
				}})
			}), nil
		}, runtimetest.Options{Patience: 10 * time.Second})
		require.Equal(t, []string{"no-goroutine-left"}, conformance.Broken(err))
	})
}
