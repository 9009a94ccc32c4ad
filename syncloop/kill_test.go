package syncloop_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

var evicted = &podstatus.Verdict{Reason: "Evicted", Message: "The node was low on resource: memory."}

// stubborn containers run until their grace is over.
var stubborn = running(runtimetest.Script{IgnoresTerm: true})

func TestPodStopsWithItsGrace(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("slow", stubborn, grace(30))
		w.add(p)
		w.remove(p)
		sleep(29 * time.Second)
		require.True(t, w.observed(p.UID).Running())
		sleep(time.Second)
		require.Empty(t, w.listed())
		require.EqualValues(t, 137, w.sink.Status(p.UID).ContainerStatuses[0].State.Terminated.ExitCode)
	})
}

// The kubelet applies a shorter grace only once the kill in flight is over.
func TestShorterGraceOvertakesTheKillInFlight_113606(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("slow", stubborn, grace(300))
		w.add(p)
		deleted := p.DeepCopy()
		now := metav1.Now()
		deleted.DeletionTimestamp, deleted.DeletionGracePeriodSeconds = &now, new(int64(300))
		w.send(podmanager.OpDelete, deleted)
		sleep(10 * time.Second)

		hurried := deleted.DeepCopy()
		hurried.DeletionGracePeriodSeconds = new(int64(5))
		w.send(podmanager.OpDelete, hurried)
		sleep(5 * time.Second)
		require.False(t, w.observed(p.UID).Running())
		require.Equal(t, v1.PodFailed, w.phase(p.UID))

		longer := deleted.DeepCopy()
		w.send(podmanager.OpDelete, longer)
		v, _ := w.Pod(p.UID)
		require.Equal(t, lifecycle.Finished, v.Stage)
	})
}

func TestKillOvertakesAHangingSync(t *testing.T) {
	released := make(chan struct{})
	var fake *runtimetest.Fake
	inBubble(t, func(t *testing.T, w *world) {
		fake = w.fake
		p := pod("hang")
		w.add(p)
		v, _ := w.Pod(p.UID)
		require.Equal(t, lifecycle.WorkSync, v.Work)
		began := time.Now()
		w.remove(p)
		require.Zero(t, time.Since(began))
		require.False(t, w.observed(p.UID).Running(), "the kill does not wait for the sync")
		v, _ = w.Pod(p.UID)
		require.Equal(t, lifecycle.Terminating, v.Stage, "but the pod has not stopped before it came back")

		close(released)
		synctest.Wait()
		require.Empty(t, w.listed(), "what the sync started late was killed too")
	}, func(c *syncloop.Config) {
		released = make(chan struct{})
		c.Runtime = runtimetest.Intercept(c.Runtime, runtimetest.Funcs{
			// It breaks the contract: it does not return when its context ends,
			// and starts the pod afterwards.
			SyncPod: func(_ context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
				<-released
				fake.Invent(runtime.RefOf(req.Pod), "c")
				return runtime.SyncResult{}, nil
			},
		})
	})
}

func TestKillWaitsAndPassesAVerdictOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("victim", running(runtimetest.Script{StopAfter: 3 * time.Second}), grace(10))
		w.add(p)
		began := time.Now()
		require.NoError(t, w.Kill(t.Context(), p.UID, syncloop.KillOptions{Evict: true, Verdict: evicted}))
		require.Equal(t, 3*time.Second, time.Since(began))
		synctest.Wait()
		status := w.sink.Status(p.UID)
		require.Equal(t, v1.PodFailed, status.Phase)
		require.Equal(t, "Evicted", status.Reason)

		// A pod that has stopped keeps no one waiting, and its verdict stays.
		other := &podstatus.Verdict{Reason: "Other"}
		require.NoError(t, w.Kill(t.Context(), p.UID, syncloop.KillOptions{Verdict: other}))
		w.send(podmanager.OpUpdate, p.DeepCopy())
		require.Equal(t, "Evicted", w.sink.Status(p.UID).Reason)
		require.ErrorIs(t, w.Kill(t.Context(), "nobody", syncloop.KillOptions{}), runtime.ErrNotFound)
	})
}

// All containers of an evicted pod end with exit code 0: the kubelet then says
// Succeeded, without the reason.
func TestVerdictOutlivesASuccessfulExit_120182(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("victim", policy(v1.RestartPolicyNever))
		w.add(p)
		v := &podstatus.Verdict{Reason: "Evicted", Message: "why"}
		require.NoError(t, w.Kill(t.Context(), p.UID, syncloop.KillOptions{Evict: true, Verdict: v}))
		synctest.Wait()
		require.EqualValues(t, 0, w.sink.Status(p.UID).ContainerStatuses[0].State.Terminated.ExitCode)
		require.Equal(t, v1.PodFailed, w.phase(p.UID))
		require.Equal(t, "Evicted", w.sink.Status(p.UID).Reason)
	})
}

func TestKillThatTakesTooLongIsSaid(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("hang", grace(2))
		w.add(p)
		began := time.Now()
		require.ErrorIs(t, w.Kill(t.Context(), p.UID, syncloop.KillOptions{}), syncloop.ErrGraceExceeded)
		require.Equal(t, 10*time.Second, time.Since(began))
		require.Equal(t, []string{"Warning ExceededGracePeriod hang: Container runtime did not kill the pod within specified grace period."},
			w.events.With("ExceededGracePeriod"))
	}, func(c *syncloop.Config) {
		c.Runtime = runtimetest.Intercept(c.Runtime, runtimetest.Funcs{
			KillPod: func(ctx context.Context, _ runtime.Runtime, _ runtime.KillRequest) error {
				<-ctx.Done()
				return ctx.Err()
			},
		})
	})
}

func TestRuntimeThatKillsInNameOnly(t *testing.T) {
	var lies atomic.Int64
	lies.Store(2)
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("zombie")
		w.add(p)
		w.remove(p)
		v, _ := w.Pod(p.UID)
		require.ErrorContains(t, v.LastError, "CRI violation: c")
		require.Equal(t, lifecycle.Terminating, v.Stage)
		u, _ := w.sink.Last(p.UID)
		require.True(t, u.MayRun)
		sleep(10 * time.Second)
		require.Empty(t, w.listed(), "it is killed until nothing of it runs")
	}, func(c *syncloop.Config) {
		c.Runtime = runtimetest.Intercept(c.Runtime, runtimetest.Funcs{
			KillPod: func(ctx context.Context, rt runtime.Runtime, req runtime.KillRequest) error {
				if lies.Add(-1) >= 0 {
					return nil
				}
				return rt.KillPod(ctx, req)
			},
		})
	})
}

func TestActiveDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("late", stubborn, grace(5), func(p *v1.Pod) { p.Spec.ActiveDeadlineSeconds = new(int64(30)) })
		w.add(p)
		sleep(29 * time.Second)
		require.Equal(t, v1.PodRunning, w.phase(p.UID))
		sleep(time.Second)
		require.Equal(t, v1.PodFailed, w.phase(p.UID))
		require.Equal(t, "DeadlineExceeded", w.sink.Status(p.UID).Reason)
		require.True(t, w.observed(p.UID).Running())
		sleep(5 * time.Second)
		require.False(t, w.observed(p.UID).Running())
		require.Len(t, w.events.With("DeadlineExceeded"), 1, "one event, not one a computation")
		require.Equal(t, "DeadlineExceeded", w.sink.Status(p.UID).Reason)
	})
}

// The kubelet overwrites the reason of a pod that ended in time.
func TestDeadlineLeavesAPodThatEndedInTime(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("job", policy(v1.RestartPolicyNever), running(runtimetest.RunsFor(5*time.Second, 0)),
			func(p *v1.Pod) { p.Spec.ActiveDeadlineSeconds = new(int64(10)) })
		w.add(p)
		sleep(time.Minute)
		w.send(podmanager.OpUpdate, p.DeepCopy())
		require.Equal(t, v1.PodSucceeded, w.phase(p.UID))
		require.Empty(t, w.sink.Status(p.UID).Reason)
		require.Empty(t, w.events.With("DeadlineExceeded"))
	})
}
