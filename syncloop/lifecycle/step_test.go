package lifecycle_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func pod(change ...func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u", Name: "p", Namespace: "n"}}
	p.Spec.TerminationGracePeriodSeconds = new(int64(30))
	for _, c := range change {
		c(p)
	}
	return p
}

func deleted(p *v1.Pod) {
	now := metav1.NewTime(t0)
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &now, new(int64(20))
}

func failed(p *v1.Pod) { p.Status.Phase = v1.PodFailed }

// life is a pod whose events are written down with what follows from each.
type life struct {
	lifecycle.State
	rules lifecycle.Rules
	now   time.Time
	log   []string
}

func newLife() *life { return &life{State: lifecycle.State{UID: "u"}, now: t0} }

func (l *life) send(e lifecycle.Event) {
	var actions []lifecycle.Action
	l.State, actions = l.rules.Step(l.State, e, l.now)
	l.log = append(l.log, fmt.Sprintf("%s -> %s %s", name(e), l.Stage, strings.Join(names(actions), " ")))
}

func names(actions []lifecycle.Action) (out []string) {
	for _, a := range actions {
		switch a := a.(type) {
		case lifecycle.Start:
			out = append(out, fmt.Sprintf("start %s %d", a.Work, a.Seq))
		case lifecycle.Cancel:
			out = append(out, fmt.Sprintf("cancel %d", a.Seq))
		case lifecycle.Complete:
			out = append(out, fmt.Sprintf("complete %v", a.Waiters))
		default:
			out = append(out, strings.ToLower(name(a)))
		}
	}
	return out
}

func name(v any) string { return strings.TrimPrefix(fmt.Sprintf("%T", v), "lifecycle.") }

var (
	errWork  = errors.New("it went wrong")
	created  = lifecycle.Update{Pod: pod(), Create: true}
	updated  = lifecycle.Update{Pod: pod()}
	waiter   = lifecycle.Kill{Waiter: 7}
	evicted  = &podstatus.Verdict{Reason: "Evicted"}
	rejected = &podstatus.Verdict{Reason: "OutOfcpu"}
)

func TestTransitions(t *testing.T) {
	for _, tt := range []struct {
		name   string
		events []lifecycle.Event
		want   []string
	}{
		{"a pod lives and is removed", []lifecycle.Event{
			created, lifecycle.Done{Seq: 1}, lifecycle.Removed{}, lifecycle.Done{Seq: 2}, lifecycle.Done{Seq: 3}, lifecycle.Done{Seq: 4},
		}, []string{
			"Update -> sync start sync 1", "Done -> sync ", "Removed -> terminating start terminate 2",
			"Done -> terminated start cleanup 3", "Done -> finished start remove 4", "Done ->  forget",
		}},
		{"a pod ends by itself and is kept", []lifecycle.Event{
			created, lifecycle.Done{Seq: 1, Terminal: true}, lifecycle.Done{Seq: 2}, lifecycle.Done{Seq: 3}, updated, lifecycle.Poke{}, created,
		}, []string{
			"Update -> sync start sync 1", "Done -> terminating start terminate 2", "Done -> terminated start cleanup 3",
			"Done -> finished ", "Update -> finished ", "Poke -> finished ", "Update -> finished ",
		}},
		{"the newest of many updates is done after the work in force", []lifecycle.Event{
			created, updated, updated, lifecycle.Poke{}, lifecycle.Done{Seq: 1},
		}, []string{
			"Update -> sync start sync 1", "Update -> sync ", "Update -> sync ", "Poke -> sync ", "Done -> sync start sync 2",
		}},
		{"a kill overtakes a sync, and is repeated after it came back", []lifecycle.Event{
			created, waiter, lifecycle.Done{Seq: 2}, lifecycle.Done{Seq: 1}, lifecycle.Done{Seq: 3},
		}, []string{
			"Update -> sync start sync 1", "Kill -> terminating cancel 1 start terminate 2", "Done -> terminating ",
			"Done -> terminating start terminate 3", "Done -> terminated complete [7] start cleanup 4",
		}},
		{"a sync that comes back first makes the kill be repeated too", []lifecycle.Event{
			created, waiter, lifecycle.Done{Seq: 1, Err: errWork}, lifecycle.Done{Seq: 2}, lifecycle.Done{Seq: 3},
		}, []string{
			"Update -> sync start sync 1", "Kill -> terminating cancel 1 start terminate 2", "Done -> terminating ",
			"Done -> terminating start terminate 3", "Done -> terminated complete [7] start cleanup 4",
		}},
		{"a shorter grace overtakes a kill, a longer one does not", []lifecycle.Event{
			created, lifecycle.Done{Seq: 1}, lifecycle.Kill{}, lifecycle.Kill{Grace: time.Hour}, lifecycle.Kill{Grace: 5 * time.Second},
			lifecycle.Done{Seq: 2, Err: errWork}, lifecycle.Done{Seq: 3},
		}, []string{
			"Update -> sync start sync 1", "Done -> sync ", "Kill -> terminating start terminate 2", "Kill -> terminating ",
			"Kill -> terminating cancel 2 start terminate 3", "Done -> terminating ", "Done -> terminated start cleanup 4",
		}},
		{"a pod that was deleted before it came goes through both ends", []lifecycle.Event{
			lifecycle.Update{Pod: pod(deleted), Create: true}, lifecycle.Done{Seq: 1}, lifecycle.Done{Seq: 2},
		}, []string{
			"Update -> terminating start terminate 1", "Done -> terminated start cleanup 2", "Done -> finished ",
		}},
		{"a pod that had ended and of which nothing runs is only cleaned up", []lifecycle.Event{
			lifecycle.Update{Pod: pod(failed), Create: true},
		}, []string{"Update -> terminated start cleanup 1"}},
		{"a pod that had ended and of which something runs is stopped", []lifecycle.Event{
			lifecycle.Update{Pod: pod(failed), Create: true, Observed: true, Running: true},
		}, []string{"Update -> terminating start terminate 1"}},
		{"a pod that only the runtime knows is killed, removed and forgotten", []lifecycle.Event{
			lifecycle.Stray{}, lifecycle.Poke{}, lifecycle.Done{Seq: 1}, lifecycle.Done{Seq: 2},
		}, []string{
			"Stray -> terminating start terminate 1", "Poke -> terminating ", "Done -> finished start remove 2", "Done ->  forget",
		}},
		{"a static pod waits for its name", []lifecycle.Event{
			lifecycle.Update{Pod: pod(), Create: true, Static: true}, lifecycle.Poke{}, lifecycle.NameGranted{},
			lifecycle.Removed{}, lifecycle.Done{Seq: 1}, lifecycle.Done{Seq: 2}, lifecycle.Done{Seq: 3}, lifecycle.Done{Seq: 4},
		}, []string{
			"Update -> sync acquirename", "Poke -> sync ", "NameGranted -> sync start sync 1",
			"Removed -> terminating cancel 1 start terminate 2", "Done -> terminating ", "Done -> terminating start terminate 3",
			"Done -> terminated start cleanup 4", "Done -> finished releasename start remove 5",
		}},
		{"a static pod that never got its name is over at once, and so is whoever waits for it", []lifecycle.Event{
			lifecycle.Update{Pod: pod(), Create: true, Static: true}, lifecycle.Kill{Waiter: 1}, lifecycle.NameGranted{},
		}, []string{
			"Update -> sync acquirename", "Kill -> finished releasename complete [1]", "NameGranted -> finished ",
		}},
		{"a pod that comes again while it is stopped gets a new life", []lifecycle.Event{
			created, lifecycle.Done{Seq: 1}, lifecycle.Removed{}, created, lifecycle.Done{Seq: 2}, lifecycle.Done{Seq: 3}, lifecycle.Done{Seq: 4}, created,
		}, []string{
			"Update -> sync start sync 1", "Done -> sync ", "Removed -> terminating start terminate 2", "Update -> terminating ",
			"Done -> terminated start cleanup 3", "Done -> finished start remove 4", "Done ->  recreate", "Update -> sync start sync 5",
		}},
		{"one that comes again and goes again has none", []lifecycle.Event{
			created, lifecycle.Done{Seq: 1}, lifecycle.Removed{}, created, lifecycle.Removed{}, lifecycle.Done{Seq: 2}, lifecycle.Done{Seq: 3}, lifecycle.Done{Seq: 4},
		}, []string{
			"Update -> sync start sync 1", "Done -> sync ", "Removed -> terminating start terminate 2", "Update -> terminating ",
			"Removed -> terminating ", "Done -> terminated start cleanup 3", "Done -> finished start remove 4", "Done ->  forget",
		}},
		{"a kill of a pod that has stopped completes at once", []lifecycle.Event{
			created, lifecycle.Done{Seq: 1, Terminal: true}, lifecycle.Done{Seq: 2}, waiter, lifecycle.Done{Seq: 3}, waiter,
		}, []string{
			"Update -> sync start sync 1", "Done -> terminating start terminate 2", "Done -> terminated start cleanup 3",
			"Kill -> terminated complete [7]", "Done -> finished ", "Kill -> finished complete [7]",
		}},
		{"something runs of a pod that had ended", []lifecycle.Event{
			created, lifecycle.Done{Seq: 1, Terminal: true}, lifecycle.Done{Seq: 2}, lifecycle.Done{Seq: 3}, lifecycle.Stray{}, lifecycle.Done{Seq: 4}, lifecycle.Poke{},
		}, []string{
			"Update -> sync start sync 1", "Done -> terminating start terminate 2", "Done -> terminated start cleanup 3",
			"Done -> finished ", "Stray -> finished start terminate 4", "Done -> finished ", "Poke -> finished ",
		}},
		{"what is kept of a pod is removed if asked", []lifecycle.Event{
			created, lifecycle.Discard{}, lifecycle.Kill{Discard: true}, lifecycle.Done{Seq: 1}, lifecycle.Done{Seq: 2}, lifecycle.Done{Seq: 3}, lifecycle.Done{Seq: 4}, lifecycle.Done{Seq: 5},
		}, []string{
			"Update -> sync start sync 1", "Discard -> sync ", "Kill -> terminating cancel 1 start terminate 2", "Done -> terminating ",
			"Done -> terminating start terminate 3", "Done -> terminated start cleanup 4", "Done -> finished start remove 5", "Done -> finished ",
		}},
		{"an end that had begun before the agent is taken up", []lifecycle.Event{
			lifecycle.Update{Pod: pod(), Create: true, Observed: true, Running: true}, lifecycle.Resume{Since: t0.Add(-10 * time.Second), Grace: 30 * time.Second},
			lifecycle.Done{Seq: 1}, lifecycle.Done{Seq: 2}, lifecycle.Done{Seq: 3}, lifecycle.Done{Seq: 4}, lifecycle.Done{Seq: 5},
		}, []string{
			"Update -> sync start sync 1", "Resume -> terminating cancel 1 start terminate 2", "Done -> terminating ", "Done -> terminating start terminate 3",
			"Done -> terminated start cleanup 4", "Done -> finished start remove 5", "Done ->  recreate",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLife()
			for _, e := range tt.events {
				l.send(e)
			}
			require.Equal(t, tt.want, l.log)
		})
	}
}

func TestGrace(t *testing.T) {
	secs := func(p *v1.Pod, spec, deletion int64) *v1.Pod {
		if spec >= 0 {
			p.Spec.TerminationGracePeriodSeconds = &spec
		}
		if deletion >= 0 {
			p.DeletionGracePeriodSeconds = &deletion
		}
		return p
	}
	for _, tt := range []struct {
		name              string
		current, override time.Duration
		spec, deletion    int64
		want              time.Duration
	}{
		{"the spec's own", 0, 0, 30, -1, 30 * time.Second},
		{"the deletion's before the spec's", 0, 0, 30, 60, 60 * time.Second},
		{"an override shrinks it", 0, 10 * time.Second, 30, 60, 10 * time.Second},
		{"an override replaces the spec's, even by more", 0, 40 * time.Second, 30, -1, 40 * time.Second},
		{"it never grows", 5 * time.Second, 10 * time.Second, 30, 60, 5 * time.Second},
		{"zero means a second", 0, 0, 0, -1, time.Second},
		{"deletion with zero means a second", 0, 0, 30, 0, time.Second},
		{"nothing is a second", 0, 0, -1, -1, time.Second},
		{"an absurd one does not overflow", 0, 0, 1 << 62, -1, 100 * 365 * 24 * time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, lifecycle.Grace(tt.current, tt.override, secs(&v1.Pod{}, tt.spec, tt.deletion)))
		})
	}
	require.Equal(t, time.Second, lifecycle.Grace(0, 0, nil))
}

func TestDeadlineOnlyMovesForward(t *testing.T) {
	l := newLife()
	l.send(created)
	l.send(lifecycle.Kill{})
	require.Equal(t, t0.Add(30*time.Second), l.Deadline)
	l.now = t0.Add(10 * time.Second)
	l.send(lifecycle.Kill{Grace: 25 * time.Second})
	require.Equal(t, t0.Add(30*time.Second), l.Deadline)
	l.send(lifecycle.Kill{Grace: 5 * time.Second})
	require.Equal(t, t0.Add(15*time.Second), l.Deadline)
	l.send(lifecycle.Kill{Now: true})
	require.Equal(t, l.now, l.Deadline)
	require.Equal(t, 5*time.Second, l.Grace)
}

func TestFirstVerdictHolds(t *testing.T) {
	l := newLife()
	l.send(created)
	l.send(lifecycle.Kill{Evict: true, Verdict: evicted})
	l.send(lifecycle.Kill{Verdict: rejected})
	l.send(lifecycle.Done{Seq: l.Seq, Verdict: rejected})
	require.Equal(t, evicted, l.Verdict)
	require.True(t, l.Evicted)

	l = newLife()
	l.send(created)
	l.send(lifecycle.Removed{})
	l.send(lifecycle.Kill{Evict: true, Verdict: evicted})
	require.False(t, l.Evicted, "an eviction that did not begin the end is none")
}

func TestWhenWorkIsRepeated(t *testing.T) {
	within := func(d time.Duration) [2]time.Duration { return [2]time.Duration{d, d + d/2} }
	for _, tt := range []struct {
		name string
		done lifecycle.Done
		want [2]time.Duration
	}{
		{"success", lifecycle.Done{}, within(time.Minute)},
		{"success that wants to be sooner", lifecycle.Done{RetryAt: t0.Add(5 * time.Second)}, [2]time.Duration{5 * time.Second, 5 * time.Second}},
		{"success that wants to be in the past", lifecycle.Done{RetryAt: t0.Add(-time.Hour)}, [2]time.Duration{time.Second, time.Second}},
		{"success that wants to be in years", lifecycle.Done{RetryAt: t0.AddDate(9, 0, 0)}, within(time.Minute)},
		{"failure", lifecycle.Done{Err: errWork}, within(10 * time.Second)},
		{"failure by back-off", lifecycle.Done{Err: errWork, RetryAt: t0.Add(20 * time.Second)}, within(20 * time.Second)},
		{"failure by a long back-off", lifecycle.Done{Err: errWork, RetryAt: t0.Add(time.Hour)}, within(time.Minute)},
		{"failure by the network", lifecycle.Done{Err: fmt.Errorf("%w: network is not ready: x", errWork), RetryAt: t0.Add(20 * time.Second)}, within(time.Second)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLife()
			l.send(created)
			tt.done.Seq = 1
			l.send(tt.done)
			require.WithinRange(t, l.Due, t0.Add(tt.want[0]), t0.Add(tt.want[1]))
			l.now = l.Due
			l.send(lifecycle.Due{})
			require.Equal(t, lifecycle.WorkSync, l.Work)
			l.send(lifecycle.Due{})
			require.False(t, l.Pending, "a timer that is late changes nothing")
		})
	}
}

func TestWorkThatChangesSomethingIsRepeatedAtOnceButNotForEver(t *testing.T) {
	l := newLife()
	l.send(created)
	repeats := 0
	for l.Work != "" {
		l.send(lifecycle.Done{Seq: l.Seq, Again: true})
		repeats++
	}
	require.Equal(t, 11, repeats)
	require.Equal(t, t0.Add(time.Second), l.Due)
}

func TestPokesDoNotDriveAPodInCircles(t *testing.T) {
	l := newLife()
	l.send(created)
	syncs := 0
	for range 1000 {
		l.send(lifecycle.Poke{}) // what the work did comes back while it goes on
		l.send(lifecycle.Done{Seq: l.Seq})
		l.send(lifecycle.Poke{}) // or after it
		syncs = int(l.Seq)
	}
	require.Equal(t, 11, syncs)
	require.Equal(t, t0.Add(time.Second), l.Due)
	l.now = l.Due
	l.send(lifecycle.Due{})
	require.Equal(t, lifecycle.WorkSync, l.Work)
}

func TestPokeDoesNotDriveAFailingPod(t *testing.T) {
	l := newLife()
	l.send(created)
	l.send(lifecycle.Done{Seq: 1, Err: errWork})
	l.send(lifecycle.Poke{})
	require.Empty(t, l.Work)
	require.Equal(t, t0.Add(time.Second), l.Due, "but brings its next try forward")
	l.send(updated)
	require.Equal(t, lifecycle.WorkSync, l.Work, "a change of the pod is tried at once")
}

func TestJitterIsTheSameEachTime(t *testing.T) {
	a := lifecycle.Jitter(time.Minute, "a", 1)
	require.Equal(t, a, lifecycle.Jitter(time.Minute, "a", 1))
	require.NotEqual(t, a, lifecycle.Jitter(time.Minute, "b", 1))
	require.NotEqual(t, a, lifecycle.Jitter(time.Minute, "a", 2))
}

func TestNames(t *testing.T) {
	var n lifecycle.Names
	require.True(t, n.Acquire("x", "a"))
	require.True(t, n.Acquire("x", "a"))
	require.False(t, n.Acquire("x", "b"))
	require.False(t, n.Acquire("x", "b"))
	require.False(t, n.Acquire("x", "c"))
	require.True(t, n.Acquire("y", "d"))
	_, ok := n.Release("x", "b")
	require.False(t, ok, "it only leaves the queue")
	next, ok := n.Release("x", "a")
	require.True(t, ok)
	require.EqualValues(t, "c", next)
	_, ok = n.Release("x", "c")
	require.False(t, ok)
	_, held := n.Holder("x")
	require.False(t, held)
}

func TestPredicates(t *testing.T) {
	states := map[string]*lifecycle.State{
		"unknown": nil, "sync": {Stage: lifecycle.Sync},
		"terminating":  {Stage: lifecycle.Terminating},
		"acknowledged": {Stage: lifecycle.Terminating, Acknowledged: true},
		"terminated":   {Stage: lifecycle.Terminated}, "finished": {Stage: lifecycle.Finished},
	}
	for name, want := range map[string]string{
		// known terminated; could run, before and after the first sync; should be terminating; should be removed
		"unknown": "false; true false; false true; false true", "sync": "false; true true; false false; false false",
		"terminating": "false; true true; false false; false false", "acknowledged": "false; true true; true true; false false",
		"terminated": "true; false false; true true; true true", "finished": "true; false false; true true; true true",
	} {
		s := states[name]
		got := fmt.Sprintf("%t; %t %t; %t %t; %t %t", lifecycle.KnownTerminated(s),
			lifecycle.CouldHaveRunningContainers(s, false), lifecycle.CouldHaveRunningContainers(s, true),
			lifecycle.ContainersShouldBeTerminating(s, false), lifecycle.ContainersShouldBeTerminating(s, true),
			lifecycle.RuntimeShouldBeRemoved(s, false), lifecycle.RuntimeShouldBeRemoved(s, true))
		require.Equal(t, want, got, name)
	}
}

func ExampleRules_Step() {
	var rules lifecycle.Rules
	state := lifecycle.State{UID: "u"}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, e := range []lifecycle.Event{
		lifecycle.Update{Pod: pod(), Create: true},
		lifecycle.Kill{Waiter: 1},        // overtakes the sync
		lifecycle.Done{Seq: 1},           // the sync came back
		lifecycle.Done{Seq: 2},           // the kill, which is repeated for that
		lifecycle.Done{Seq: 3},           // nothing runs
		lifecycle.Kill{Grace: time.Hour}, // means nothing any more
	} {
		var actions []lifecycle.Action
		state, actions = rules.Step(state, e, now)
		fmt.Printf("%-6s %-11s %v\n", name(e), state.Stage, names(actions))
	}
	// Output:
	// Update sync        [start sync 1]
	// Kill   terminating [cancel 1 start terminate 2]
	// Done   terminating []
	// Done   terminating [start terminate 3]
	// Done   terminated  [complete [1] start cleanup 4]
	// Kill   terminated  []
}
