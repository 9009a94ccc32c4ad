package syncloop_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// What package simtest found about containers that ended for good.

// and adds a container of that name, which behaves as the script says.
func and(name string, s runtimetest.Script) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: name, Image: "image", Command: s.Command()})
	}
}

// containerStatus is what was said last of a container.
func (w *world) containerStatus(p *v1.Pod, name string) v1.ContainerStatus {
	status := w.sink.Status(p.UID)
	for _, c := range status.ContainerStatuses {
		if c.Name == name {
			return c
		}
	}
	return v1.ContainerStatus{}
}

// Seeds 264, 1223 and 3009: a container that was lost ended for good, if its policy
// says so. It was started anew, and nothing was said of its pod from then on.
func TestLostContainerOfAPodThatNeverRestarts(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		job := pod("job", policy(v1.RestartPolicyNever), and("d", runtimetest.RunsFor(time.Hour, 0)))
		w.add(job)
		require.NoError(t, w.fake.LoseTrack(job.UID, "c"))
		sleep(2 * time.Minute)
		require.Equal(t, int32(137), w.containerStatus(job, "c").State.Terminated.ExitCode)
		require.NotEqual(t, runtime.StateRunning, w.observed(job.UID).Container("c").State)
		require.True(t, w.containerStatus(job, "d").Ready)

		sleep(time.Hour)
		require.NotNil(t, w.containerStatus(job, "d").State.Terminated, "of the others all is said")
		require.Equal(t, v1.PodFailed, w.phase(job.UID))
	})
}

// Seeds 25702, 27213 and 31344: what ended well is not repeated because the runtime
// forgot the pod, and nothing else of it goes unsaid.
func TestForgottenPodRepeatsNothingThatEndedWell(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		job := pod("job", policy(v1.RestartPolicyOnFailure), running(runtimetest.ExitsWith(0)), and("d", runtimetest.RunsFor(time.Hour, 0)))
		w.add(job)
		sleep(time.Minute)
		w.fake.Forget(job.UID)
		sleep(10 * time.Minute)
		require.Nil(t, w.observed(job.UID).Container("c"))
		require.Equal(t, runtime.StateRunning, w.observed(job.UID).Container("d").State)
		require.NotNil(t, w.containerStatus(job, "c").State.Terminated)
		require.NotNil(t, w.containerStatus(job, "d").State.Running)
		sleep(time.Hour)
		require.Equal(t, v1.PodSucceeded, w.phase(job.UID))
	})
}

// Seeds 1402 and 2003: a pod that lost its sandbox and gets no other can't go on, and
// was Pending for ever.
func TestPodThatCannotGoOnFails(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		job := pod("job", policy(v1.RestartPolicyNever))
		job.Spec.InitContainers = []v1.Container{{Name: "i", Image: "image", Command: runtimetest.RunsFor(time.Minute, 0).Command()}}
		job.Spec.Containers[0].Command = runtimetest.Script{StartDelay: time.Minute}.Command()
		w.add(job)
		sleep(90 * time.Second)
		require.Equal(t, v1.PodPending, w.phase(job.UID))
		require.NoError(t, w.fake.FailSandbox(job.UID))
		sleep(5 * time.Minute)
		require.Equal(t, v1.PodFailed, w.phase(job.UID))
		require.Equal(t, podstatus.ReasonSandboxLost, w.sink.Status(job.UID).Reason)
		require.Len(t, w.events.With(podstatus.ReasonSandboxLost), 1)
	})
}

// Seeds 67770 and 71155: the deletion of a pod that has ended is answered also while
// what is left of it can't be removed.
func TestDeletionIsAnsweredWhileRemainsAreRemoved(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("web")
		w.add(p)
		go func() {
			_ = w.Kill(context.Background(), p.UID, syncloop.KillOptions{Verdict: &podstatus.Verdict{Reason: "Evicted"}})
		}()
		sleep(time.Minute)
		evicted := p.DeepCopy()
		said := w.sink.Status(p.UID)
		said.DeepCopyInto(&evicted.Status)
		w.send(podmanager.OpReconcile, evicted) // what is left of it is removed, or would be
		sleep(time.Second)
		deleted := evicted.DeepCopy()
		deleted.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		w.send(podmanager.OpDelete, deleted)
		u, _ := w.sink.Last(p.UID)
		require.NotNil(t, u.Pod.DeletionTimestamp)
		require.True(t, u.Finished)
	}, func(c *syncloop.Config) {
		c.Runtime = runtimetest.Intercept(c.Runtime, runtimetest.Funcs{
			Before: func(_ context.Context, c runtimetest.Call) error {
				if c.Method == "RemovePod" {
					return runtimetest.ErrInjected
				}
				return nil
			},
		})
	})
}

// Seed 91595: of a pod that an agent said had ended, and that nobody wants, the next
// agent says nothing else when it comes again before it is gone.
func TestStrayThatComesAgainGoesOnFromWhatWasSaid(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := pod("web", static, stubborn, grace(30))
		w.add(p)
		r, _ := w.store.Record(p.UID)
		w.stop()
		r.Status = r.Status.DeepCopy()
		r.Status.Phase, r.Status.Reason = v1.PodFailed, "Evicted"
		require.NoError(t, w.store.Commit(t.Context(), syncloop.Batch{Save: []syncloop.Record{r}}))
		n := len(w.sink.History(p.UID))
		w.start()
		w.add()
		sleep(2500 * time.Millisecond) // housekeeping stops it
		w.add(p)
		sleep(time.Minute)
		require.Greater(t, len(w.sink.History(p.UID)), n)
		// The sink passes over what is out of date before it comes to it.
		if next := w.sink.History(p.UID)[n]; next.Version == r.Version+1 {
			require.Equal(t, v1.PodFailed, next.Status.Phase)
		}
		require.True(t, w.observed(p.UID).Running(), "its new life")
	})
}

// Seed 92109: a sidecar waits for the regular containers also if the sidecar after it
// has ended by itself.
func TestSidecarOutlivesContainersAlsoIfTheNextSidecarDoesNot(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		always := v1.ContainerRestartPolicyAlways
		p := pod("web", stubborn, grace(60))
		p.Spec.InitContainers = []v1.Container{
			{Name: "first", Image: "image", RestartPolicy: &always},
			{Name: "second", Image: "image", RestartPolicy: &always},
		}
		w.add(p)
		sleep(5 * time.Second)
		w.remove(p)
		sleep(time.Second)
		require.NoError(t, w.fake.Exit(p.UID, "second", 1))
		sleep(10 * time.Second)
		require.Equal(t, runtime.StateRunning, w.observed(p.UID).Container("c").State)
		require.Equal(t, runtime.StateRunning, w.observed(p.UID).Container("first").State)
	})
}

// A verdict that the store did not take holds after the agent's sudden end if its
// status has reached the source, and is forgotten otherwise: whoever passed it finds
// the reason for it again.
func TestVerdictThatTheStoreRefused(t *testing.T) {
	for name, told := range map[string]bool{"the source has it": true, "nobody has it": false} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				var refuse atomic.Bool
				w.store.BeforeCommit = func(context.Context, syncloop.Batch) error {
					if refuse.Load() {
						return runtimetest.ErrInjected
					}
					return nil
				}
				p := pod("web")
				w.add(p)
				sleep(time.Minute)
				refuse.Store(true)
				go func() {
					_ = w.Kill(context.Background(), p.UID, syncloop.KillOptions{Evict: true, Verdict: &podstatus.Verdict{Reason: "Evicted"}})
				}()
				sleep(time.Minute)
				require.Equal(t, v1.PodFailed, w.phase(p.UID), "a store that refuses holds nothing up")
				w.stop()
				refuse.Store(false)
				p = p.DeepCopy()
				if told {
					said := w.sink.Status(p.UID)
					said.DeepCopyInto(&p.Status)
				} else {
					w.sink.Restart()
				}
				w.start()
				w.add(p)
				sleep(time.Minute)
				require.Equal(t, !told, w.observed(p.UID).Running())
				require.Equal(t, told, w.phase(p.UID) == v1.PodFailed)
			})
		})
	}
}

// Seed 303133 with hooks: a pod that an agent had begun to stop, and that is wanted
// again, was let in unasked beside one that had got its room before.
func TestPodThatWasBeingStoppedAsksAgainWhenItComesBack(t *testing.T) {
	most, ledger := 0, (*admission.Ledger)(nil)
	inWorld(t, func(t *testing.T, w *world) {
		web := pod("web", static, cpu("2"))
		w.add(web)
		w.stop()
		r, _ := w.store.Record(web.UID)
		r.TerminatingSince, r.Grace = time.Now(), time.Second
		require.NoError(t, w.store.Commit(t.Context(), syncloop.Batch{Save: []syncloop.Record{r}}))
		require.NoError(t, w.fake.KillPod(t.Context(), runtime.KillRequest{Ref: runtime.RefOf(web), Pod: web}))
		room("2", admission.Retry)(&w.config)
		ledger = w.config.Admission.Ledger
		w.start()
		w.add(pod("new", static, cpu("2")), web)
		sleep(time.Minute)
		require.True(t, w.observed("uid-new").Running())
		require.Equal(t, "OutOfcpu", condition(w.sink.Status(web.UID), syncloop.ConditionAdmitted).Reason)
		require.Equal(t, 1, most)
	}, room("2", admission.Retry), func(c *syncloop.Config) {
		c.Hooks.PodWork = func(runtime.PodRef, lifecycle.Work, time.Duration, error) { // on the loop
			if ledger != nil {
				most = max(most, ledger.Pods())
			}
		}
	})
}
