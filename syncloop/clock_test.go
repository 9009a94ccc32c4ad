package syncloop_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/synclooptest"
)

// jump is a runtime on a machine whose wall clock jumped: what it did before has
// times that are so much off. A bubble's clock does not jump, and times that stay
// in memory don't see that one did: it shows in what others kept.
type jump struct {
	*runtimetest.Fake
	at  time.Time     // zero before
	off time.Duration // above zero for a clock that was turned back
}

func (j *jump) shift(t *time.Time) {
	if !t.IsZero() && !t.After(j.at) {
		*t = t.Add(j.off)
	}
}

func (j *jump) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	st, err := j.Fake.PodStatus(ctx, uid)
	if err != nil || st == nil {
		return st, err
	}
	for i := range st.Sandboxes {
		j.shift(&st.Sandboxes[i].CreatedAt)
	}
	for i := range st.Containers {
		c := &st.Containers[i]
		j.shift(&c.CreatedAt)
		j.shift(&c.StartedAt)
		j.shift(&c.FinishedAt)
	}
	st.Sort()
	return st, nil
}

// jumpStore is a store from before the jump.
type jumpStore struct {
	*synclooptest.Store
	*jump
}

func (j jumpStore) Load(ctx context.Context) ([]syncloop.Record, error) {
	records, err := j.Store.Load(ctx)
	for i := range records {
		r := &records[i]
		j.shift(&r.TerminatingSince)
		if r.Status == nil {
			continue
		}
		r.Status = r.Status.DeepCopy()
		meta := func(t *metav1.Time) { j.shift(&t.Time) }
		if r.Status.StartTime != nil {
			meta(r.Status.StartTime)
		}
		for k := range r.Status.Conditions {
			meta(&r.Status.Conditions[k].LastTransitionTime)
		}
		for k := range r.Status.ContainerStatuses {
			for _, s := range []*v1.ContainerState{&r.Status.ContainerStatuses[k].State, &r.Status.ContainerStatuses[k].LastTerminationState} {
				if s.Running != nil {
					meta(&s.Running.StartedAt)
				}
				if s.Terminated != nil {
					meta(&s.Terminated.StartedAt)
					meta(&s.Terminated.FinishedAt)
				}
			}
		}
	}
	return records, err
}

// A wall clock that jumps by years, while the agent runs or while it is away,
// restarts nothing, ends nothing, and holds nothing up.
func TestClockThatJumpsByYears(t *testing.T) {
	const years = 30 * 365 * 24 * time.Hour
	for name, off := range map[string]time.Duration{"forward": -years, "back": years} {
		for _, away := range []bool{false, true} {
			t.Run(name+map[bool]string{false: " under the agent", true: " while it is away"}[away], func(t *testing.T) {
				clockJumps(t, off, away)
			})
		}
	}
}

func clockJumps(t *testing.T, off time.Duration, away bool) {
	var j *jump
	inWorld(t, func(t *testing.T, w *world) {
		server, ending := pod("server"), pod("ending", stubborn, grace(50))
		job := pod("job", policy(v1.RestartPolicyNever), running(runtimetest.ExitsWith(0)))
		crash := pod("crash", running(runtimetest.RunsFor(time.Second, 1)))
		late := pod("late")
		w.add(server, ending, job, crash)
		sleep(10 * time.Minute)
		w.remove(ending)
		before, restarts := w.observed(server.UID).Containers[0].ID, w.restarts(crash.UID)
		if away {
			w.stop()
		}
		sleep(time.Second)
		j.at, j.off = time.Now(), off
		if away {
			w.config.Store = jumpStore{w.store, j}
			w.start()
			w.add(server, job, crash, late)
		} else {
			w.add(late)
		}
		sleep(time.Minute)
		require.NotContains(t, w.listed(), ending.UID, "its grace is over")
		sleep(30 * time.Minute)

		require.Len(t, w.observed(server.UID).Containers, 1)
		require.Equal(t, before, w.observed(server.UID).Containers[0].ID)
		require.Equal(t, v1.PodRunning, w.phase(server.UID))
		require.Equal(t, v1.PodRunning, w.phase(late.UID))
		require.Len(t, w.observed(job.UID).Containers, 1)
		require.Equal(t, v1.PodSucceeded, w.phase(job.UID))
		more := w.restarts(crash.UID) - restarts
		require.GreaterOrEqual(t, more, int32(4), "no wait is longer than five minutes")
		require.LessOrEqual(t, more, int32(12), "a jump begins the waits anew at most")
	}, func(c *syncloop.Config) {
		j = &jump{Fake: c.Runtime.(*runtimetest.Fake)}
		c.Runtime = j
	})
}

// What was ready before a jump is ready after it: an instance is known by its ID, for
// its start may lie in the future.
func TestReadinessOutlivesAJumpOfTheClock(t *testing.T) {
	for name, off := range map[string]time.Duration{"forward": -time.Hour, "back": time.Hour} {
		t.Run(name, func(t *testing.T) {
			var j *jump
			inProbedWorld(t, func(t *testing.T, w *world) {
				w.stop()
				withStore(w)
				w.start()
				p := pod("web", ready(every(10)))
				w.add(p)
				sleep(10 * time.Minute)
				require.True(t, w.isReady(p.UID))
				w.stop()
				sleep(time.Second)
				j.at, j.off = time.Now(), off
				w.config.Store = jumpStore{w.store, j}
				w.start()
				w.add(p)
				sleep(time.Minute)
				require.Equal(t, []bool{false, true}, w.readiness(p.UID))
				require.Len(t, w.observed(p.UID).Containers, 1)
			}, func(c *syncloop.Config) {
				j = &jump{Fake: c.Runtime.(*runtimetest.Fake)}
				c.Runtime = j
			})
		})
	}
}
