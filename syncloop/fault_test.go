package syncloop_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

// faulty puts faults between the loop and the runtime.
func faulty(f func() runtimetest.Funcs) func(*syncloop.Config) {
	return func(c *syncloop.Config) { c.Runtime = runtimetest.Intercept(c.Runtime, f()) }
}

func TestFailedSyncIsTriedAgainAfterTenSeconds(t *testing.T) {
	var tries atomic.Int64
	inBubble(t, func(t *testing.T, w *world) {
		w.add(pod("web"), pod("other"))
		v, _ := w.Pod("uid-web")
		require.ErrorContains(t, v.LastError, "no such network")
		require.WithinRange(t, v.RetryAt, time.Now().Add(10*time.Second), time.Now().Add(15*time.Second))
		require.Equal(t, v1.PodRunning, w.phase("uid-other"), "others run on")
		sleep(15 * time.Second)
		require.Equal(t, v1.PodRunning, w.phase("uid-web"))
		require.EqualValues(t, 1, tries.Load())
		v, _ = w.Pod("uid-web")
		require.NoError(t, v.LastError)
	}, faulty(func() runtimetest.Funcs {
		return runtimetest.Funcs{SyncPod: func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
			if req.Pod.Name == "web" && tries.CompareAndSwap(0, 1) {
				return runtime.SyncResult{}, errors.New("no such network")
			}
			return rt.SyncPod(ctx, req)
		}}
	}))
}

// The kubelet drops its last good status, and the addresses in it.
func TestStatusThatCannotBeReadLeavesTheLastOne(t *testing.T) {
	var broken atomic.Bool
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("web")
		w.add(p)
		before := w.sink.Status(p.UID)
		require.NotEmpty(t, before.PodIP)
		broken.Store(true)
		w.send(podmanager.OpUpdate, p.DeepCopy())
		require.Len(t, w.events.With("Warning FailedSync web: error determining status: injected"), 1)
		require.Equal(t, before, w.sink.Status(p.UID))
		broken.Store(false)
		sleep(time.Minute)
		require.Equal(t, before, w.sink.Status(p.UID))
	}, faulty(func() runtimetest.Funcs {
		return runtimetest.Funcs{PodStatus: func(ctx context.Context, rt runtime.Runtime, uid types.UID) (*runtime.PodStatus, error) {
			if broken.Load() {
				return nil, runtimetest.ErrInjected
			}
			return rt.PodStatus(ctx, uid)
		}}
	}))
}

func TestStoppedPodKeepsItsAddress_82268(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("job", policy(v1.RestartPolicyNever), running(runtimetest.RunsFor(time.Minute, 0)))
		w.add(p)
		ip := w.sink.Status(p.UID).PodIP
		require.NotEmpty(t, ip)
		sleep(2 * time.Minute)
		require.Equal(t, v1.PodSucceeded, w.phase(p.UID))
		require.Equal(t, ip, w.sink.Status(p.UID).PodIP)
	})
}

func TestHangingRuntimeHoldsUpOnePodAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.add(pod("hang"), pod("web"))
		sleep(time.Minute)
		v, _ := w.Pod("uid-hang")
		require.Equal(t, lifecycle.WorkSync, v.Work)
		require.Equal(t, time.Minute, time.Since(v.WorkSince))
		require.Equal(t, v1.PodRunning, w.phase("uid-web"))
	}, faulty(func() runtimetest.Funcs {
		return runtimetest.Funcs{Before: func(ctx context.Context, c runtimetest.Call) error {
			if c.UID == "uid-hang" && c.Method == "SyncPod" {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}}
	}))
}

func TestRuntimeThatForgetsAndInvents(t *testing.T) {
	for _, watch := range []bool{true, false} {
		t.Run(fmt.Sprintf("watch=%t", watch), func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				p := pod("web")
				job := pod("job", policy(v1.RestartPolicyNever), running(runtimetest.ExitsWith(0)))
				w.add(p, job)
				w.fake.Forget(p.UID)
				sleep(3 * time.Second)
				require.True(t, w.observed(p.UID).Running(), "it is started anew")

				w.fake.Invent(runtime.PodRef{UID: "stray", Namespace: "default", Name: "stray"}, "c")
				sleep(5 * time.Second)
				require.NotContains(t, w.listed(), types.UID("stray"))

				w.fake.Invent(runtime.RefOf(job), "ghost")
				sleep(5 * time.Second)
				require.False(t, w.observed(job.UID).Running(), "something of a pod that had ended")
				require.Equal(t, v1.PodSucceeded, w.phase(job.UID))
			}, func(c *syncloop.Config) {
				if !watch {
					rt := c.Runtime
					c.Runtime = struct {
						runtime.Runtime
						runtime.Cleaner
					}{rt, rt.(runtime.Cleaner)}
				}
			})
		})
	}
}

func TestWithoutWatcherTheRelistSeesAnExit(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("web")
		w.add(p)
		require.NoError(t, w.fake.Exit(p.UID, "c", 1))
		sleep(1500 * time.Millisecond)
		require.EqualValues(t, 1, w.sink.Status(p.UID).ContainerStatuses[0].RestartCount)
	}, func(c *syncloop.Config) { c.Runtime = runtimetest.Bare(c.Runtime) })
}

func TestRuntimeThatCannotBeListedAtFirst(t *testing.T) {
	var down atomic.Bool
	down.Store(true)
	inBubble(t, func(t *testing.T, w *world) {
		w.add(pod("web"))
		sleep(30 * time.Second)
		require.Empty(t, w.Pods(), "nobody knows yet what runs")
		down.Store(false)
		sleep(6 * time.Second)
		require.Equal(t, v1.PodRunning, w.phase("uid-web"))
		down.Store(true)
		w.add(pod("next"))
		require.Equal(t, v1.PodRunning, w.phase("uid-next"), "later failures stop nothing")
		sleep(time.Hour)
		require.Equal(t, v1.PodRunning, w.phase("uid-web"))
	}, faulty(func() runtimetest.Funcs {
		return runtimetest.Funcs{ListPods: func(ctx context.Context, rt runtime.Runtime) ([]runtime.ListedPod, error) {
			if down.Load() {
				return nil, runtimetest.ErrInjected
			}
			return rt.ListPods(ctx)
		}}
	}))
}

func TestRuntimeThatNeverRestsDoesNotDriveTheAgentInCircles(t *testing.T) {
	var calls atomic.Int64
	inBubble(t, func(t *testing.T, w *world) {
		w.add(pod("busy"))
		sleep(10 * time.Second)
		require.Less(t, calls.Load(), int64(150))
	}, faulty(func() runtimetest.Funcs {
		return runtimetest.Funcs{SyncPod: func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
			calls.Add(1)
			return runtime.SyncResult{Acted: true, RetryAt: time.Now().Add(-time.Hour)}, nil
		}}
	}))
}

func TestFloodOfHintsAndUpdates(t *testing.T) {
	var notify func(types.UID)
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("web")
		w.add(p)
		for range 10000 {
			notify(p.UID)
			notify("nobody")
		}
		for range 1000 {
			w.updates <- podmanager.Update{Source: "test", Op: podmanager.OpUpdate, Pods: []*v1.Pod{p}}
		}
		synctest.Wait()
		w.remove(p)
		require.Empty(t, w.listed())
	}, faulty(func() runtimetest.Funcs {
		return runtimetest.Funcs{Watch: func(ctx context.Context, rt runtime.Watcher, n func(types.UID)) error {
			notify = n
			return rt.Watch(ctx, n)
		}}
	}))
}

func TestWatchThatBreaksIsBegunAnew(t *testing.T) {
	var watches atomic.Int64
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("web")
		w.add(p)
		sleep(10 * time.Second)
		require.NoError(t, w.fake.Exit(p.UID, "c", 1))
		sleep(time.Second)
		require.EqualValues(t, 1, w.sink.Status(p.UID).ContainerStatuses[0].RestartCount)
		require.EqualValues(t, 4, watches.Load())
	}, faulty(func() runtimetest.Funcs {
		return runtimetest.Funcs{Watch: func(ctx context.Context, rt runtime.Watcher, n func(types.UID)) error {
			if watches.Add(1) < 4 {
				return errors.New("stream reset")
			}
			return rt.Watch(ctx, n)
		}}
	}))
}

func TestUnexpectedUpdatesAreReportedAndChangeNothing(t *testing.T) {
	var reports []error
	inBubble(t, func(t *testing.T, w *world) {
		w.send(podmanager.OpSet, pod("web"))
		w.send("PATCH", pod("web"))
		require.Len(t, reports, 2)
		require.ErrorIs(t, reports[0], syncloop.ErrUnexpectedUpdate)
		require.EqualError(t, reports[1], `unexpected update: operation "PATCH" with 1 pod from source "test"`)
		require.Empty(t, w.Pods())
	}, func(c *syncloop.Config) {
		c.Hooks.UnexpectedUpdate = func(err error) { reports = append(reports, err) }
	})
}

func TestNilAndNamelessPods(t *testing.T) {
	var empty atomic.Bool
	inBubble(t, func(t *testing.T, w *world) {
		for _, op := range []podmanager.Op{podmanager.OpAdd, podmanager.OpUpdate, podmanager.OpReconcile, podmanager.OpRemove} {
			w.send(op, nil, &v1.Pod{}, nil)
		}
		w.add(pod("web"))
		empty.Store(true)
		w.send(podmanager.OpUpdate, pod("web"))
		sleep(time.Minute)
		empty.Store(false)
		sleep(2 * time.Minute)
		require.Equal(t, v1.PodRunning, w.phase("uid-web"))
	}, faulty(func() runtimetest.Funcs {
		return runtimetest.Funcs{PodStatus: func(ctx context.Context, rt runtime.Runtime, uid types.UID) (*runtime.PodStatus, error) {
			if empty.Load() {
				return nil, nil
			}
			return rt.PodStatus(ctx, uid)
		}}
	}))
}

func TestSlowSinkHoldsUpNothingAndGetsTheNewest(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.sink.Before = func(ctx context.Context, _ syncloop.StatusUpdate) error { return runtimetest.Wait(ctx, time.Minute) }
		p := pod("job", policy(v1.RestartPolicyNever), running(runtimetest.RunsFor(10*time.Second, 0)))
		w.add(p)
		sleep(20 * time.Second)
		v, _ := w.Pod(p.UID)
		require.Equal(t, v1.PodSucceeded, v.Status.Phase)
		sleep(100 * time.Second)
		require.Equal(t, v1.PodSucceeded, w.phase(p.UID))
		require.Equal(t, 2, w.sink.Calls(), "what lies between is left out")
	})
}

func TestRefusingSinkIsAskedAgainWithBackoff(t *testing.T) {
	var refuse atomic.Bool
	refuse.Store(true)
	inBubble(t, func(t *testing.T, w *world) {
		w.sink.Before = func(_ context.Context, u syncloop.StatusUpdate) error {
			if refuse.Load() && u.Pod.Name == "web" {
				return errors.New("too many requests")
			}
			return nil
		}
		w.add(pod("web"), pod("other"))
		require.Equal(t, v1.PodRunning, w.phase("uid-other"))
		sleep(time.Minute)
		require.Less(t, w.sink.Calls(), 12)
		refuse.Store(false)
		sleep(30 * time.Second)
		require.Equal(t, v1.PodRunning, w.phase("uid-web"))

		refuse.Store(true)
		w.remove(pod("web"))
		sleep(time.Minute)
		calls := w.sink.Calls()
		sleep(time.Hour)
		require.Equal(t, calls, w.sink.Calls(), "a pod that is gone is given up")
	})
}

// The kubelet starts its versions anew for a UID that comes again, and skips its
// statuses until the next full pass.
func TestVersionsNeverGoBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := pod("web", static)
		for range 3 {
			w.sendFrom("file", podmanager.OpAdd, p)
			w.sendFrom("file", podmanager.OpRemove, p)
		}
		w.restart()
		w.sendFrom("file", podmanager.OpAdd, p)
		var last uint64
		for _, u := range w.sink.History(p.UID) {
			require.GreaterOrEqual(t, u.Version, last)
			last = u.Version
		}
	})
}

func TestManyPodsAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var pods []*v1.Pod
		for i := range 200 {
			pods = append(pods, numbered(i))
		}
		w.add(pods...)
		for _, p := range pods {
			require.Equal(t, v1.PodRunning, w.phase(p.UID))
		}
		w.remove(pods...)
		require.Empty(t, w.listed())
		require.Empty(t, w.Pods())
	}, func(c *syncloop.Config) { c.MaxWorkers = 3 })
}
