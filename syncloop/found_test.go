package syncloop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// What package simtest found, by the seed that found it.

// Seed 69: whoever deletes a pod waits to hear that nothing of it is left, also
// if that has long been so.
func TestDeletionOfAFinishedPodIsAnswered(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		job := pod("job", policy(v1.RestartPolicyNever), running(runtimetest.ExitsWith(0)))
		w.add(job)
		sleep(time.Hour)
		deleted := job.DeepCopy()
		deleted.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		w.send(podmanager.OpDelete, deleted)
		u, _ := w.sink.Last(job.UID)
		require.NotNil(t, u.Pod.DeletionTimestamp)
		require.True(t, u.Finished)
		require.Equal(t, v1.PodSucceeded, u.Status.Phase)
	})
}

// Seed 324: what is remembered of a pod that nobody wants holds until it has
// stopped, or the next agent starts its successor beside it.
func TestRecordOfAPodHoldsUntilItHasStopped(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		old := pod("web", static, uid("old"), stubborn, grace(60))
		w.sendFrom("file", podmanager.OpAdd, old)
		w.stop()
		w.start()
		next := pod("web", static, uid("new"))
		w.sendFrom("file", podmanager.OpAdd, next)
		sleep(2500 * time.Millisecond) // housekeeping stops the old one
		_, kept := w.store.Record(old.UID)
		require.True(t, kept, "the next agent must know whose name it is")
		require.True(t, w.observed(old.UID).Running())
		require.False(t, w.observed(next.UID).Running())
		sleep(time.Minute)
		require.False(t, w.observed(old.UID).Running())
		require.True(t, w.observed(next.UID).Running())
		_, kept = w.store.Record(old.UID)
		require.False(t, kept)
	})
}

// Seeds 159 and 279: what runs has its room from the first moment, in whatever
// order the sources, and the pods of one, come after a restart.
func TestRestartLetsNobodyIntoTheRoomOfWhatRuns(t *testing.T) {
	for name, order := range map[string][][2]string{
		"the other source first": {{"file", "new"}, {"api", "web"}},
		"the same source first":  {{"api", "web"}, {"file", "new"}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				pods := map[string]*v1.Pod{"web": pod("web", cpu("2")), "new": pod("new", cpu("1"))}
				w.sendFrom("api", podmanager.OpAdd, pods["web"])
				w.stop()
				room("2", admission.Retry)(&w.config)
				w.start()
				for _, o := range order {
					w.sendFrom(o[0], podmanager.OpAdd, pods[o[1]])
					sleep(time.Minute)
				}
				require.True(t, w.observed("uid-web").Running())
				require.False(t, w.observed("uid-new").Running())
				w.sendFrom("api", podmanager.OpRemove, pods["web"])
				sleep(10 * time.Second)
				require.True(t, w.observed("uid-new").Running(), "its turn has come")
				require.Equal(t, 1, w.entered())
			}, room("2", admission.Retry), func(c *syncloop.Config) { c.Sources = []string{"api", "file"} })
		})
	}
}

// The same within one list that comes after the runtime's first, where no store
// remembers what runs.
func TestRestartWithoutAStoreLetsNobodyIntoTheRoomOfWhatRuns(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		old := pod("old", cpu("2"), created(time.Hour))
		w.add(old)
		w.stop()
		room("2", admission.Retry)(&w.config)
		w.start()
		sleep(time.Second)
		next := pod("new", cpu("1"), created(2*time.Hour))
		w.add(next, old)
		require.True(t, w.observed(old.UID).Running())
		require.False(t, w.observed(next.UID).Running(), "it is older, but the other one runs")
		require.Equal(t, 1, w.entered())
	}, room("2", admission.Retry))
}

// The same within one list, and of a pod that goes without its source.
func TestRestartLetsNobodyIntoTheRoomOfWhatStillStops(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		old := pod("old", cpu("2"), created(time.Hour), stubborn, grace(60))
		w.add(old)
		w.stop()
		room("2", admission.Retry)(&w.config)
		w.start()
		next := pod("new", cpu("1"), created(2*time.Hour))
		w.add(next, old)
		require.False(t, w.observed(next.UID).Running(), "it is older, but the other one runs")
		w.restart()
		w.add(next) // the old one has gone
		sleep(2500 * time.Millisecond)
		require.True(t, w.observed(old.UID).Running())
		require.False(t, w.observed(next.UID).Running())
		sleep(time.Minute)
		require.True(t, w.observed(next.UID).Running())
		require.Equal(t, 1, w.entered())
	}, room("2", admission.Retry))
}

// Seed 304: a record that is older than the source's own word does not undo it.
func TestRestartWithARecordThatIsBehind(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p, q := pod("web"), pod("other")
		w.add(p, q)
		w.stop()
		w.start()
		p, q = p.DeepCopy(), q.DeepCopy()
		web, other := w.sink.Status(p.UID), w.sink.Status(q.UID)
		web.DeepCopyInto(&p.Status)
		other.DeepCopyInto(&q.Status)
		p.Status.Phase, p.Status.Reason = v1.PodFailed, "Evicted"
		q.Status.ContainerStatuses[0].RestartCount = 7
		n := len(w.sink.History(p.UID))
		w.add(p, q)
		sleep(time.Minute)
		for _, u := range w.sink.History(p.UID)[n:] {
			require.Equal(t, v1.PodFailed, u.Status.Phase)
			require.Equal(t, "Evicted", u.Status.Reason)
		}
		require.EqualValues(t, 7, w.sink.Status(q.UID).ContainerStatuses[0].RestartCount)
	})
}

// Seed 778: a pod that comes again after an end that another agent began starts
// anew, and does not find its own remains.
func TestPodThatComesAgainAfterAnEndThatWasTakenUp(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := pod("job", policy(v1.RestartPolicyNever), stubborn, grace(30))
		w.add(p)
		w.remove(p)
		w.restart()
		w.add(p)
		sleep(2 * time.Minute)
		require.True(t, w.observed(p.UID).Running())
		require.Equal(t, v1.PodRunning, w.phase(p.UID))
	})
}

// Seed 2000: a pod that was let in keeps its room also while nothing of it runs.
func TestRestartLetsNobodyIntoTheRoomOfWhatWillRun(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		old := pod("old", cpu("2"), created(time.Hour))
		w.sendFrom("api", podmanager.OpAdd, old)
		w.stop()
		require.NoError(t, w.fake.FailSandbox(old.UID))
		room("2", admission.Retry)(&w.config)
		w.start()
		next := pod("new", cpu("1"), created(2*time.Hour))
		w.sendFrom("file", podmanager.OpAdd, next)
		w.sendFrom("api", podmanager.OpAdd, old)
		sleep(time.Minute)
		require.True(t, w.observed(old.UID).Running())
		require.False(t, w.observed(next.UID).Running())
		require.Equal(t, 1, w.entered())
	}, room("2", admission.Retry), func(c *syncloop.Config) { c.Sources = []string{"api", "file"} })
}

// Seed 1880: a verdict was written down, and what it made of the pod was not. What
// an earlier agent had said is not said again as if it held.
func TestRestartSaysNothingUnseenOfAPodThatWasSentenced(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := pod("web", stubborn, grace(30))
		w.add(p)
		r, _ := w.store.Record(p.UID)
		w.stop()
		r.Verdict = &podstatus.Verdict{Reason: "Evicted"}
		require.NoError(t, w.store.Commit(t.Context(), syncloop.Batch{Save: []syncloop.Record{r}}))
		require.NoError(t, w.fake.FailSandbox(p.UID))
		n := len(w.sink.History(p.UID))
		w.start()
		w.add(p)
		sleep(time.Minute)
		said := w.sink.History(p.UID)[n:]
		require.NotEmpty(t, said)
		for _, u := range said {
			require.Equal(t, v1.PodFailed, u.Status.Phase)
		}
	})
}

// Seed 20505: an agent that ended before it had written anything down leaves a
// static pod that the next one knows by its name alone.
func TestSuccessorWaitsForAPodWithoutARecord(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		old := pod("web", static, uid("old"), stubborn, grace(60))
		w.sendFrom("file", podmanager.OpAdd, old)
		w.stop()
		require.NoError(t, w.store.Commit(t.Context(), syncloop.Batch{Delete: []types.UID{old.UID}}))
		w.start()
		next := pod("web", static, uid("new"))
		w.sendFrom("file", podmanager.OpAdd, next)
		sleep(2500 * time.Millisecond)
		require.True(t, w.observed(old.UID).Running())
		require.False(t, w.observed(next.UID).Running())
		sleep(time.Minute)
		require.False(t, w.observed(old.UID).Running())
		require.True(t, w.observed(next.UID).Running())
	})
}
