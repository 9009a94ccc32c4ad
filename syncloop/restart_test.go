package syncloop_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

func withStore(w *world) { w.config.Store = w.store }

// inWorld runs a test of a world that it starts, stops and starts by itself.
func inWorld(t *testing.T, test func(t *testing.T, w *world), change ...func(*syncloop.Config)) {
	t.Helper()
	inBubble(t, func(t *testing.T, w *world) {
		w.stop()
		withStore(w)
		w.start()
		test(t, w)
	}, change...)
}

// restart ends the agent and starts a new one.
func (w *world) restart() {
	w.stop()
	sleep(time.Second)
	w.start()
}

// The kubelet may refuse a pod that runs, and kill it with a second's grace.
func TestRestartAdoptsWhatRuns_123971(t *testing.T) {
	for _, store := range []bool{true, false} {
		inBubble(t, func(t *testing.T, w *world) {
			w.stop()
			if store {
				withStore(w)
			}
			w.start()
			p := pod("web", cpu("2"))
			w.add(p)
			before := w.observed(p.UID)
			w.stop()
			// The node has shrunk meanwhile.
			room("1", admission.Reject)(&w.config)
			w.start()
			w.add(p)
			sleep(time.Minute)
			require.Equal(t, before.Containers, w.observed(p.UID).Containers)
			require.Equal(t, v1.PodRunning, w.phase(p.UID))
			require.Equal(t, 1, w.entered())
		}, room("2", admission.Reject))
	}
}

func TestRestartRechecksIfAsked(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := pod("web", cpu("2"), stubborn, grace(20))
		w.add(p)
		w.stop()
		room("1", admission.Reject)(&w.config)
		w.start()
		w.add(p)
		require.Equal(t, v1.PodFailed, w.phase(p.UID))
		require.Equal(t, "OutOfcpu", w.sink.Status(p.UID).Reason)
		sleep(19 * time.Second)
		require.True(t, w.observed(p.UID).Running(), "it has its own grace")
		sleep(time.Second)
		require.False(t, w.observed(p.UID).Running())
		require.Equal(t, "OutOfcpu", w.sink.Status(p.UID).Reason)
		require.Contains(t, w.sink.Status(p.UID).Message, "Pod was rejected: ")
	}, room("2", admission.Reject), func(c *syncloop.Config) { c.Readmit = syncloop.ReadmitRecheck })
}

// A pod that runs and can't be judged now stays, unless the host wants it gone.
func TestRestartWithoutAJudge(t *testing.T) {
	for policy, phase := range map[syncloop.Readmit]v1.PodPhase{
		syncloop.ReadmitKeep: v1.PodRunning, syncloop.ReadmitRecheck: v1.PodRunning, syncloop.ReadmitFail: v1.PodFailed,
	} {
		inWorld(t, func(t *testing.T, w *world) {
			p := pod("web", cpu("2"))
			w.add(p)
			before := w.observed(p.UID).Containers[0].ID
			w.stop()
			room("1", admission.Retry)(&w.config)
			w.start()
			w.add(p, pod("new", cpu("9")))
			sleep(time.Minute)
			require.Equal(t, phase, w.phase(p.UID), "%s", policy)
			require.Equal(t, v1.PodPending, w.phase("uid-new"), "it never ran, and waits")
			require.Equal(t, phase == v1.PodRunning, w.observed(p.UID).Running())
			require.Equal(t, before, w.observed(p.UID).Containers[0].ID)
		}, room("2", admission.Reject), func(c *syncloop.Config) { c.Readmit = policy })
	}
}

func TestRestartKeepsVerdicts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		big, victim, job := pod("big", cpu("9")), pod("victim"), pod("job", policy(v1.RestartPolicyNever), running(runtimetest.ExitsWith(0)))
		w.add(big, victim, job)
		require.NoError(t, w.Kill(t.Context(), victim.UID, syncloop.KillOptions{Verdict: &podstatus.Verdict{Reason: "Evicted"}}))
		for range 2 {
			w.restart()
			room("100", admission.Reject)(&w.config)
			w.add(big, victim, job)
			sleep(2 * time.Minute)
			for uid, want := range map[types.UID]string{big.UID: "Failed OutOfcpu", victim.UID: "Failed Evicted", job.UID: "Succeeded "} {
				status := w.sink.Status(uid)
				require.Equal(t, want, string(status.Phase)+" "+status.Reason)
			}
			require.Len(t, w.observed(job.UID).Containers, 1)
		}
		require.Empty(t, w.observed(big.UID).Containers)
	}, room("2", admission.Reject))
}

func TestRestartResumesAnEndWithWhatIsLeftOfItsGrace(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := pod("slow", stubborn, grace(60))
		w.add(p)
		w.remove(p)
		sleep(20 * time.Second)
		w.stop()
		sleep(20 * time.Second)
		w.start()
		w.add(p) // its source has it again
		sleep(19 * time.Second)
		before := w.observed(p.UID).Containers[0].StartedAt
		sleep(2 * time.Second)
		require.True(t, w.observed(p.UID).Running(), "and so it runs again")
		require.True(t, w.observed(p.UID).Containers[0].StartedAt.After(before))
		require.Len(t, w.observed(p.UID).Containers, 1, "of the old life nothing is left")
	})
}

// A pod that was deleted by force while the agent was away is stopped.
func TestRestartStopsWhatNobodyWants(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, b := pod("a"), pod("b", uid("b"))
		w.sendFrom("file", podmanager.OpAdd, a)
		w.sendFrom("api", podmanager.OpAdd, b)
		w.restart()
		sleep(10 * time.Second)
		require.Len(t, w.listed(), 2, "no source has spoken")
		w.sendFrom("file", podmanager.OpAdd)
		sleep(3 * time.Second)
		// The pod of one source does not wait for another (kubernetes/kubernetes#88402).
		require.Equal(t, []types.UID{"b"}, w.listed())
		w.sendFrom("api", podmanager.OpAdd)
		sleep(3 * time.Second)
		require.Empty(t, w.listed())
		records, _ := w.store.Len()
		require.Zero(t, records)
	})
}

func TestPodOfUnknownOriginWaitsForAllSources(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.fake.Invent(runtime.PodRef{UID: "stray", Namespace: "default", Name: "stray"}, "c")
		sleep(10 * time.Second)
		w.sendFrom("file", podmanager.OpAdd)
		w.sendFrom("api", podmanager.OpRestore)
		sleep(10 * time.Second)
		require.Len(t, w.listed(), 1, "a checkpoint is not a word of the source")
		w.sendFrom("api", podmanager.OpAdd)
		sleep(3 * time.Second)
		require.Empty(t, w.listed())
	}, func(c *syncloop.Config) { c.Sources = []string{"file", "api"} })
}

// A pod of a source that was heard goes, although another source is silent.
func TestRemoveBeforeOtherSourcesAreSeen_15195(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("web")
		w.sendFrom("file", podmanager.OpAdd, p)
		w.sendFrom("file", podmanager.OpRemove, p)
		require.Empty(t, w.listed())
	}, func(c *syncloop.Config) { c.Sources = []string{"file", "api"} })
}

func TestRestartLeavesWhatWasSaidOfAFinishedPod(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		job := pod("job", policy(v1.RestartPolicyNever), running(runtimetest.ExitsWith(0)))
		w.add(job)
		before := w.sink.Status(job.UID)
		require.Equal(t, v1.PodSucceeded, before.Phase)
		w.fake.Forget(job.UID) // its dead container was cleared away meanwhile
		w.restart()
		w.add(job)
		sleep(time.Minute)
		after := w.sink.Status(job.UID)
		require.Equal(t, v1.PodSucceeded, after.Phase)
		require.Equal(t, before.ContainerStatuses, after.ContainerStatuses)
		require.Equal(t, before.PodIP, after.PodIP)
	})
}

func TestStoreThatFailsLosesNothing(t *testing.T) {
	var full atomic.Bool
	full.Store(true)
	inWorld(t, func(t *testing.T, w *world) {
		w.stop()
		w.store.BeforeCommit = func(_ context.Context, _ syncloop.Batch) error {
			if full.Load() {
				return errors.New("no space left on device")
			}
			return nil
		}
		w.start()
		job := pod("job", policy(v1.RestartPolicyNever), running(runtimetest.ExitsWith(0)))
		w.add(job, pod("web"))
		sleep(10 * time.Second)
		require.Equal(t, v1.PodSucceeded, w.phase(job.UID), "a status does not wait for ever")
		records, _ := w.store.Len()
		require.Zero(t, records)
		full.Store(false)
		sleep(10 * time.Second)
		r, ok := w.store.Record(job.UID)
		require.True(t, ok)
		require.Equal(t, v1.PodSucceeded, r.Status.Phase)
		require.True(t, r.Admitted)
	})
}

func TestStoreThatCannotBeReadStopsNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := pod("web")
		w.add(p)
		w.stop()
		w.store.BeforeLoad = func(context.Context) error { return errors.New("record uid-web: checksum differs") }
		w.sink.Restart() // with the records their versions are lost
		w.start()
		w.add(p)
		sleep(time.Minute)
		require.EqualValues(t, 0, w.observed(p.UID).Containers[0].RestartCount)
		require.Equal(t, v1.PodRunning, w.phase(p.UID))
	})
}

func TestABurstCommitsOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.stop()
		w.store.BeforeCommit = func(ctx context.Context, _ syncloop.Batch) error {
			return runtimetest.Wait(ctx, 10*time.Millisecond)
		}
		w.start()
		var pods []*v1.Pod
		for i := range 1000 {
			pods = append(pods, numbered(i))
		}
		w.add(pods...)
		sleep(time.Second)
		records, commits := w.store.Len()
		require.Equal(t, 1000, records)
		require.LessOrEqual(t, commits, 3)
		sleep(5 * time.Minute)
		_, later := w.store.Len()
		require.Equal(t, commits, later, "an idle node writes nothing")
	})
}
