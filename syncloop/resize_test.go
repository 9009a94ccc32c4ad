package syncloop_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/admission/resize"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/synclooptest"
)

// asks is a version of the pod that asks for so much cpu.
func asks(p *v1.Pod, n string, generation int64) *v1.Pod {
	p = p.DeepCopy()
	cpu(n)(p)
	p.Generation = generation
	return p
}

// checked is a node of so many CPUs with all checks of the kubelet.
func checked(cpus string) func(*syncloop.Config) {
	return func(c *syncloop.Config) {
		preempting(cpus)(c)
		c.Admission.Preempt = false
	}
}

func (w *world) update(pods ...*v1.Pod) { w.t.Helper(); w.send(podmanager.OpUpdate, pods...) }

// has is the cpu that the runtime gives the first container of a pod, and what is
// said of it: granted, and had.
func (w *world) has(uid types.UID) string {
	w.t.Helper()
	said := w.sink.Status(uid).ContainerStatuses[0]
	return w.observed(uid).Containers[0].Resources.Requests.Cpu().String() +
		" " + said.AllocatedResources.Cpu().String() + " " + said.Resources.Requests.Cpu().String()
}

// tries notes verdicts about resizes.
type tries struct {
	mu   sync.Mutex
	list []resize.Outcome
}

func (t *tries) note(c *syncloop.Config) {
	c.Hooks.PodResize = func(_ runtime.PodRef, v resize.Verdict, _ time.Duration) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.list = append(t.list, v.Outcome)
	}
}

func (t *tries) all() []resize.Outcome {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.list)
}

// used is the cpu that the ledger counts.
func (w *world) used() int64 {
	w.t.Helper()
	synctest.Wait()
	n := w.config.Admission.Ledger.UsedOf(v1.ResourceCPU)
	w.add() // hands the ledger back
	return n
}

func (w *world) said(uid types.UID, kind v1.PodConditionType) *v1.PodCondition {
	return condition(w.sink.Status(uid), kind)
}

func TestResizeThatFits(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("web", cpu("1"))
		w.add(p)
		before := w.observed(p.UID).Containers[0]
		for n, want := range []string{"2", "3", "1"} {
			w.update(asks(p, want, int64(n+2)))
			require.Equal(t, want+" "+want+" "+want, w.has(p.UID))
			require.Equal(t, int64(1000*int(want[0]-'0')), w.used())
			require.Nil(t, w.said(p.UID, v1.PodResizePending))
			require.Nil(t, w.said(p.UID, v1.PodResizeInProgress))
			require.Equal(t, int64(n+2), w.sink.Status(p.UID).ObservedGeneration)
		}
		require.Equal(t, before.ID, w.observed(p.UID).Containers[0].ID, "it runs on")
		const one = `{"containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}],"generation":2}`
		require.Equal(t, []string{"Normal ResizeStarted web: Pod resize started: " + one}, w.events.With(`started: {"containers":[{"name":"c","resources":{"requests":{"cpu":"2"`))
		require.Equal(t, []string{"Normal ResizeCompleted web: Pod resize completed: " + one}, w.events.With(`completed: {"containers":[{"name":"c","resources":{"requests":{"cpu":"2"`))
		require.Len(t, w.events.With("ResizeCompleted"), 3)
	}, checked("3"))
}

func TestResizeIsDeferredUntilThereIsRoom(t *testing.T) {
	var tries tries
	inBubble(t, func(t *testing.T, w *world) {
		p, other := pod("web", cpu("1")), pod("other", cpu("2"))
		w.add(p, other)
		w.update(asks(p, "2", 2))
		c := w.said(p.UID, v1.PodResizePending)
		require.NotNil(t, c)
		require.Equal(t, v1.PodReasonDeferred, c.Reason)
		require.Equal(t, "Node didn't have enough resource: cpu, requested: 2000, used: 2000, capacity: 3000", c.Message)
		require.Equal(t, int64(2), c.ObservedGeneration)
		require.Equal(t, "1 1 1", w.has(p.UID), "nothing changes meanwhile")
		require.Equal(t, int64(3000), w.used())
		require.Len(t, w.events.With("ResizeDeferred"), 1)
		require.Contains(t, w.events.With("ResizeDeferred")[0], "Warning ResizeDeferred web: Pod resize OutOfcpu: {")
		since := c.LastTransitionTime

		sleep(time.Minute)
		require.Len(t, tries.all(), 1, "nothing became free: it is not tried again")
		sleep(3 * time.Minute)
		require.Len(t, tries.all(), 2, "but every three minutes")
		require.Len(t, w.events.With("ResizeDeferred"), 1)

		w.update(asks(p, "3", 3)) // it wants still more
		c = w.said(p.UID, v1.PodResizePending)
		require.Equal(t, int64(3), c.ObservedGeneration)
		require.Equal(t, since, c.LastTransitionTime)
		require.Len(t, w.events.With("ResizeDeferred"), 2)

		w.remove(other)
		sleep(time.Second)
		require.Equal(t, "3 3 3", w.has(p.UID))
		require.Nil(t, w.said(p.UID, v1.PodResizePending))
		require.Equal(t, int64(3000), w.used())
		require.Equal(t, []resize.Outcome{resize.Deferred, resize.Deferred, resize.Deferred, resize.Fits}, tries.all())
	}, checked("3"), tries.note)
}

// A host says when its node is another one; until then nobody asks it.
func TestNodeThatGrowsTakesInWhatWaits(t *testing.T) {
	var tries tries
	var cpus atomic.Int64
	cpus.Store(2)
	inBubble(t, func(t *testing.T, w *world) {
		p, late := pod("web", cpu("1")), pod("late", cpu("2"))
		w.add(p, late)
		w.update(asks(p, "3", 2))
		require.Equal(t, v1.PodPending, w.phase(late.UID))
		require.NotNil(t, w.said(p.UID, v1.PodResizePending))

		cpus.Store(5)
		sleep(30 * time.Second)
		require.Equal(t, "1 1 1", w.has(p.UID))
		for range 3 {
			w.NodeChanged()
		}
		sleep(2 * time.Second)
		require.Equal(t, "3 3 3", w.has(p.UID))
		require.Equal(t, v1.PodRunning, w.phase(late.UID))
		require.Equal(t, []resize.Outcome{resize.Deferred, resize.Fits}, tries.all())
	}, tries.note, func(c *syncloop.Config) {
		c.AdmissionRetry = time.Hour
		c.Admission = &admission.Chain{Ledger: admission.NewLedger(), Checks: []admission.Check{{
			Name: "fit", Handler: admission.AdmitFunc(func(_ context.Context, req admission.Request) (admission.Verdict, error) {
				cpu := v1.ResourceList{v1.ResourceCPU: *resource.NewQuantity(cpus.Load(), resource.DecimalSI)}
				for _, s := range admission.Shortages(req.Pod, cpu, req.Ledger) {
					if s.Resource == v1.ResourceCPU {
						return admission.RetryLater(s.Reason(), s.Message(), 0), nil
					}
				}
				return admission.Admitted(), nil
			}),
		}}}
	})
}

// Of two that are equal the one that came first goes first, also when it was tried
// again meanwhile.
func TestEqualResizesKeepTheirOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		first, second, other := pod("first", cpu("1")), pod("second", cpu("1")), pod("other", cpu("1"))
		w.add(first, second, other)
		w.update(asks(first, "2", 2))
		w.update(asks(second, "2", 2))
		w.update(asks(first, "3", 3))
		w.update(asks(first, "2", 4))
		w.remove(other)
		sleep(time.Second)
		require.Equal(t, "2 2 2", w.has(first.UID))
		require.Equal(t, "1 1 1", w.has(second.UID))
	}, checked("3"))
}

// oneShrinksForOther has b wait for room, and a, which has it, become smaller.
func (w *world) oneShrinksForOther() (a, b *v1.Pod) {
	w.t.Helper()
	a, b = pod("a", cpu("2")), pod("b", cpu("1"))
	w.add(a, b)
	w.update(asks(b, "2", 2))
	require.NotNil(w.t, w.said(b.UID, v1.PodResizePending))
	w.update(asks(a, "1", 2))
	sleep(time.Second)
	return a, b
}

// One that becomes smaller lets another one grow, once its containers have let go
// of what they had.
func TestRoomOfAResizedPodIsGivenAway(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		a, b := w.oneShrinksForOther()
		require.Equal(t, "1 1 1", w.has(a.UID))
		require.Equal(t, "2 2 2", w.has(b.UID))
		require.Equal(t, int64(3000), w.used())
		w.add(pod("late", cpu("1")))
		require.Equal(t, "OutOfcpu", w.sink.Status("uid-late").Reason)
	}, checked("3"))
}

// One whose containers have not begun gives up its room at once: nobody has it yet.
func TestRoomOfAPodThatHasNotBegunIsGivenAway(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		a, b := w.oneShrinksForOther()
		require.Empty(t, w.observed(a.UID).Containers)
		require.Equal(t, "2 2 2", w.has(b.UID))
		require.Equal(t, int64(3000), w.used())
	}, checked("3"), func(c *syncloop.Config) {
		c.Runtime = runtimetest.Intercept(c.Runtime, runtimetest.Funcs{
			SyncPod: func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
				if req.Pod.Name == "a" {
					return runtime.SyncResult{}, errors.New("no image")
				}
				return rt.SyncPod(ctx, req)
			},
		})
	})
}

func TestResizeIsReverted(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("web", cpu("1"))
		w.add(p)
		w.update(asks(p, "9", 2))
		require.NotNil(t, w.said(p.UID, v1.PodResizePending))
		w.update(asks(p, "1", 3))
		require.Nil(t, w.said(p.UID, v1.PodResizePending))
		require.Equal(t, "1 1 1", w.has(p.UID))
		require.Empty(t, w.events.With("ResizeStarted"))
	}, checked("3"))
}

func TestInfeasibleResizeIsTriedOnce(t *testing.T) {
	var tries tries
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("web", cpu("1"))
		w.add(p)
		w.update(asks(p, "2", 2))
		c := w.said(p.UID, v1.PodResizePending)
		require.Equal(t, v1.PodReasonInfeasible, c.Reason)
		require.Equal(t, "In-place pod resize is not supported on this node", c.Message)
		require.Len(t, w.events.With("ResizeInfeasible"), 1)
		other := asks(p, "2", 2)
		other.Labels = map[string]string{"a": "b"}
		w.update(other)
		sleep(10 * time.Minute)
		require.Len(t, tries.all(), 1)
		require.Equal(t, "1 1 1", w.has(p.UID))
	}, checked("3"), func(c *syncloop.Config) {
		c.Runtime = runtimetest.Bare(c.Runtime)
	}, tries.note)
}

// What else changes with the spec does not wait for the resources.
func TestImageDoesNotWaitForResources(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("web", cpu("1"))
		w.add(p)
		p = asks(p, "9", 2)
		p.Spec.Containers[0].Image = "new"
		w.update(p)
		sleep(time.Second)
		require.Equal(t, "new", w.observed(p.UID).Containers[0].Image)
		require.Equal(t, "1 1 1", w.has(p.UID))
	}, checked("3"))
}

func TestResizePolicyRestarts(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("web", cpu("1"))
		p.Spec.Containers[0].ResizePolicy = []v1.ContainerResizePolicy{{ResourceName: v1.ResourceCPU, RestartPolicy: v1.RestartContainer}}
		w.add(p)
		w.update(asks(p, "2", 2))
		sleep(time.Minute)
		require.Equal(t, "2 2 2", w.has(p.UID))
		require.Equal(t, int32(1), w.sink.Status(p.UID).ContainerStatuses[0].RestartCount)
		require.Nil(t, w.said(p.UID, v1.PodResizeInProgress))
		require.Len(t, w.events.With("ResizeCompleted"), 1)
	}, checked("3"))
}

// refusingResizes is a runtime that resizes nothing while it is broken.
func refusingResizes(broken *atomic.Bool) func(*syncloop.Config) {
	return func(c *syncloop.Config) {
		c.Runtime = runtimetest.Intercept(c.Runtime, runtimetest.Funcs{
			SyncPod: func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
				if broken.Load() && !runtime.Resized(req.Pod, req.Status) {
					return runtime.SyncResult{}, &runtime.ResizeError{Container: "c", Err: errors.New("still in use")}
				}
				return rt.SyncPod(ctx, req)
			},
		})
	}
}

// Until the runtime has carried a resize out, what the containers had before
// counts too, and an error is told once.
func TestResizeThatTheRuntimeRefuses(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	type word struct {
		after time.Duration
		err   error
	}
	words := make(chan word, 100) // more than there can be
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("web", cpu("2"))
		w.add(p)
		w.update(asks(p, "1", 2))
		sleep(2 * time.Minute)
		c := w.said(p.UID, v1.PodResizeInProgress)
		require.NotNil(t, c)
		require.Equal(t, v1.PodReasonError, c.Reason)
		require.Equal(t, "resize container c: still in use", c.Message)
		require.Equal(t, int64(2), c.ObservedGeneration)
		require.Equal(t, int64(2000), w.used())
		require.Len(t, w.events.With("ResizeError"), 1)
		require.Equal(t, "2 1 2", w.has(p.UID))

		broken.Store(false)
		sleep(time.Minute)
		require.Nil(t, w.said(p.UID, v1.PodResizeInProgress))
		require.Equal(t, "1 1 1", w.has(p.UID))
		require.Equal(t, int64(1000), w.used())
		require.Len(t, w.events.With("ResizeCompleted"), 1)
		close(words)
		last, failures := word{}, 0
		for last = range words {
			if last.err != nil {
				require.EqualError(t, last.err, "resize container c: still in use")
				failures++
			}
		}
		require.NoError(t, last.err)
		require.Greater(t, last.after, 2*time.Minute)
		require.Greater(t, failures, 1)
	}, checked("3"), func(c *syncloop.Config) {
		c.Hooks.PodResized = func(_ runtime.PodRef, after time.Duration, err error) { words <- word{after, err} }
	}, refusingResizes(&broken))
}

// What is granted counts at once, also after a wish that was infeasible: the status
// says so yet, and what such a pod asks for does not count.
func TestGrantAfterAnInfeasibleResizeCounts(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("web", cpu("1"))
		w.add(p)
		swaps := asks(p, "1", 2)
		swaps.Spec.Containers[0].Resources.Requests[v1.ResourceMemory] = resource.MustParse("1Mi")
		w.update(swaps)
		require.Equal(t, v1.PodReasonInfeasible, w.said(p.UID, v1.PodResizePending).Reason)
		w.update(asks(p, "2", 3))
		require.Equal(t, "1 2 1", w.has(p.UID))
		require.Equal(t, int64(2000), w.used())
		w.add(pod("late", cpu("2")))
		require.Equal(t, "OutOfcpu", w.sink.Status("uid-late").Reason)
	}, checked("3"), refusingResizes(&broken), func(c *syncloop.Config) {
		c.Resize.Swaps = func(*v1.Pod, *v1.Container) bool { return true }
	})
}

// A wish that has to wait says nothing about the one before that is being carried
// out: both are told, each with its generation.
func TestOneResizeWaitsWhileAnotherIsInProgress(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("web", cpu("1"))
		w.add(p)
		w.update(asks(p, "2", 2))
		w.update(asks(p, "9", 3))
		sleep(time.Second)
		require.Equal(t, int64(2), w.said(p.UID, v1.PodResizeInProgress).ObservedGeneration)
		require.Equal(t, int64(3), w.said(p.UID, v1.PodResizePending).ObservedGeneration)
		require.Equal(t, int64(2000), w.used())

		broken.Store(false)
		sleep(time.Minute)
		require.Nil(t, w.said(p.UID, v1.PodResizeInProgress))
		require.NotNil(t, w.said(p.UID, v1.PodResizePending))
		require.Equal(t, "2 2 2", w.has(p.UID))

		w.update(asks(p, "2", 4))
		require.Nil(t, w.said(p.UID, v1.PodResizePending))
		require.Len(t, w.events.With("ResizeStarted"), 1)
	}, checked("3"), refusingResizes(&broken))
}

// After a restart of the agent a pod is what it was granted, whatever its spec
// asks for by then, and its wish waits as before.
func TestRestartGoesByTheAllocation(t *testing.T) {
	for _, policy := range []syncloop.Readmit{syncloop.ReadmitKeep, syncloop.ReadmitRecheck, syncloop.ReadmitFail} {
		inBubble(t, func(t *testing.T, w *world) {
			p, other := pod("web", cpu("1")), pod("other", cpu("2"))
			w.add(p, other)
			w.update(asks(p, "2", 2))
			since := w.said(p.UID, v1.PodResizePending).LastTransitionTime
			w.stop()
			sleep(time.Minute)
			w.config.Admission.Ledger = admission.NewLedger()
			w.start()
			w.add(asks(p, "2", 2), other)
			sleep(time.Second)
			require.Equal(t, v1.PodRunning, w.phase(p.UID))
			require.Equal(t, v1.PodRunning, w.phase(other.UID))
			require.Equal(t, "1 1 1", w.has(p.UID))
			require.Equal(t, int64(3000), w.used())
			require.Equal(t, since, w.said(p.UID, v1.PodResizePending).LastTransitionTime)
			require.Len(t, w.events.With("ResizeDeferred"), 1)
			require.Zero(t, w.observed(p.UID).Containers[0].RestartCount)

			w.remove(other)
			sleep(time.Second)
			require.Equal(t, "2 2 2", w.has(p.UID))

			// What it asks for may have changed while nobody looked.
			w.stop()
			w.config.Admission.Ledger = admission.NewLedger()
			w.start()
			w.add(asks(p, "3", 3), pod("new", cpu("1")))
			sleep(time.Second)
			require.Equal(t, v1.PodRunning, w.phase("uid-new"), "its wish is not counted")
			require.Equal(t, "2 2 2", w.has(p.UID))
			require.NotNil(t, w.said(p.UID, v1.PodResizePending))
		}, checked("3"), func(c *syncloop.Config) {
			c.Store, c.Readmit = &synclooptest.Store{}, policy
		})
	}
}

// What its containers have yet counts after a restart too, for a static pod as well,
// of whose status its source knows nothing.
func TestRestartCountsWhatContainersHaveYet(t *testing.T) {
	for _, policy := range []syncloop.Readmit{syncloop.ReadmitKeep, syncloop.ReadmitRecheck, syncloop.ReadmitFail} {
		var broken atomic.Bool
		broken.Store(true)
		inBubble(t, func(t *testing.T, w *world) {
			p := pod("web", cpu("2"), static, created(time.Minute))
			w.sendFrom("file", podmanager.OpAdd, p)
			w.sendFrom("file", podmanager.OpUpdate, asks(p, "1", 0))
			require.Equal(t, "2 1 2", w.has(p.UID))
			w.stop()
			w.config.Admission.Ledger = admission.NewLedger()
			w.start()
			w.sendFrom("file", podmanager.OpAdd, pod("late", cpu("2"), static, created(time.Hour)), asks(p, "1", 0))
			require.Equal(t, "OutOfcpu", w.sink.Status("uid-late").Reason)
			require.Equal(t, int64(2000), w.used())
			broken.Store(false)
			sleep(time.Minute)
			require.Equal(t, int64(1000), w.used())
		}, checked("3"), refusingResizes(&broken), func(c *syncloop.Config) {
			c.Store, c.Readmit = &synclooptest.Store{}, policy
		})
	}
}

// A place that is kept for a pod until its source speaks is as large as the pod is by
// now.
func TestPlaceOfAPodThatBecameSmaller(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := pod("web", cpu("2"))
		w.add(p)
		w.sendFrom("file", podmanager.OpAdd)
		w.update(asks(p, "1", 2))
		sleep(time.Second)
		require.Equal(t, "1 1 1", w.has(p.UID))
		w.restart()
		w.sendFrom("file", podmanager.OpAdd, pod("new", cpu("2"), static))
		require.Equal(t, v1.PodRunning, w.phase("uid-new"), w.sink.Status("uid-new").Message)
	}, checked("3"), func(c *syncloop.Config) { c.Sources = []string{"file", "test"} })
}

// A pod that is being stopped is counted by what it was granted for as long as it
// runs, however many agents stop it: those after the first do not let it in.
func TestWhatSeveralAgentsStopGoesByTheAllocation(t *testing.T) {
	for name, end := range map[string]func(*v1.Pod){
		"deleted":           func(p *v1.Pod) { p.DeletionTimestamp = new(metav1.Now()) },
		"past its deadline": func(p *v1.Pod) { p.Spec.ActiveDeadlineSeconds = new(int64(1)) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				p := pod("web", cpu("1"), stubborn, grace(600))
				w.add(p)
				p = asks(p, "9", 2)
				end(p)
				for range 3 {
					w.stop()
					sleep(time.Minute)
					w.config.Admission.Ledger = admission.NewLedger()
					w.start()
					w.add(p)
					sleep(2 * time.Second)
					require.True(t, w.observed(p.UID).Running())
					require.Equal(t, int64(1000), w.used())
					require.Equal(t, "1 1 1", w.has(p.UID))
				}
				w.add(pod("new", cpu("2")))
				sleep(time.Second)
				require.Equal(t, v1.PodRunning, w.phase("uid-new"))
			}, checked("3"), func(c *syncloop.Config) { c.Store = &synclooptest.Store{} })
		})
	}
}

// So is one that an agent without a store started, and that is deleted when the first
// one with a store comes: what it asks for later it is not granted.
func TestPodThatNoStoreKnewGoesByWhatItRanWith(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("web", cpu("1"), stubborn, grace(600))
		w.add(p)
		p.DeletionTimestamp = new(metav1.Now())
		w.config.Store = &synclooptest.Store{}
		for _, n := range []string{"1", "9"} {
			w.stop()
			sleep(time.Minute)
			w.config.Admission.Ledger = admission.NewLedger()
			w.start()
			w.add(asks(p, n, 2))
			w.update(asks(p, "9", 3))
			sleep(2 * time.Second)
			require.True(t, w.observed(p.UID).Running())
			require.Equal(t, int64(1000), w.used())
			require.Equal(t, "1 1 1", w.has(p.UID))
		}
		require.Empty(t, w.events.With("Resize"))
	}, checked("3"))
}

// The wishes of a batch are tried when all of it is in, and not before all sources
// have been heard.
func TestResizesWaitForTheSources(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("web", cpu("1"))
		w.add(p)
		w.update(asks(p, "2", 2))
		require.Nil(t, w.said(p.UID, v1.PodResizePending))
		require.Equal(t, "1 1 1", w.has(p.UID))
		w.sendFrom("late", podmanager.OpAdd)
		require.Equal(t, "2 2 2", w.has(p.UID))
	}, checked("3"), func(c *syncloop.Config) { c.Sources = []string{"test", "late"} })
}

func TestPodThatWaitsToBeLetInIsJudgedByItsSpec(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("web", cpu("9"))
		w.add(p)
		require.Equal(t, v1.PodPending, w.phase(p.UID))
		w.update(asks(p, "1", 2))
		sleep(time.Second)
		require.Equal(t, "1 1 1", w.has(p.UID))
		require.Empty(t, w.events.With("Resize"))
	}, room("3", admission.Retry))
}

// A pod that is being stopped, or has ended, is not resized.
func TestNoResizeOfAPodThatEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p, other := pod("web", cpu("1"), stubborn, grace(30)), pod("other", cpu("2"))
		w.add(p, other)
		w.update(asks(p, "2", 2))
		w.remove(p)
		w.remove(other)
		sleep(time.Minute)
		require.Empty(t, w.events.With("ResizeStarted"))
		require.Zero(t, w.entered())
	}, checked("3"))
}

// A file counts no generations: each time that it asks for something else counts as
// one.
func TestResizeOfAFileIsToldEachTime(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("web", cpu("1"), static)
		w.add(p)
		w.update(asks(p, "4", 0))
		w.update(asks(p, "5", 0))
		require.Len(t, w.events.With("ResizeDeferred"), 2)
		require.Contains(t, w.said(p.UID, v1.PodResizePending).Message, "requested: 5000")
		w.update(asks(p, "2", 0))
		require.Equal(t, "2 2 2", w.has(p.UID))
	}, checked("3"))
}

// What the node does not declare is told of, and the change is made.
func TestUpdateThatNeedsAnUndeclaredFeature(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("web", cpu("1"))
		w.add(p)
		p = p.DeepCopy()
		p.Generation = 2
		p.Spec.Resources = &v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}}
		w.update(p)
		require.Equal(t, []string{
			"Warning FailedNodeDeclaredFeaturesCheck web: Pod requires node features that are not available: InPlacePodLevelResourcesVerticalScaling",
		}, w.events.With("FailedNodeDeclaredFeaturesCheck"))
		require.Equal(t, int64(2000), w.used())
	}, checked("3"), func(c *syncloop.Config) {
		features, err := admission.NewDeclaredFeatures("1.36.3")
		require.NoError(t, err)
		c.Admission.Checks = admission.KubeletChecks(admission.Kubelet{DeclaredFeatures: features})
	})
}
