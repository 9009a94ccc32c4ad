package probe_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/probe/probetest"
	"github.com/kubeparts/kubeparts/runtime"
)

func TestStartupProbeOpensTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, probe.Config{})
		w.prober.Script("app/startup", answer(probe.Failure), answer(probe.Failure), answer(probe.Success))
		w.prober.Script("app/readiness", answer(probe.Success))
		s := probe.Settings{Period: time.Second}
		w.Set(ref("a"), probe.Container{Name: "app", State: running("1"), Probes: []probe.Probe{
			named(probe.Startup, s), named(probe.Readiness, s), named(probe.Liveness, s),
		}})
		w.pass(100 * time.Millisecond)
		require.Empty(t, w.verdicts())
		require.Zero(t, w.prober.Probes("app/readiness"))
		w.pass(4 * time.Second)
		require.ElementsMatch(t, []string{"startup=success", "readiness=success"}, w.verdicts())
		require.Equal(t, 3, w.prober.Probes("app/startup"), "it is over with its success")
		require.Equal(t, []string{"spec.containers{app} Warning Unhealthy Startup probe failed: failure"}, w.events)
	})
}

// What has not started when its pod is stopped is not taken for started: nobody asks
// whether it is ready.
func TestStopDoesNotOpenTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, probe.Config{})
		w.prober.Script("app/startup", answer(probe.Failure))
		s := probe.Settings{Period: time.Second, FailureThreshold: 100}
		c := probe.Container{Name: "app", State: running("1"), Probes: []probe.Probe{named(probe.Startup, s), named(probe.Readiness, s)}}
		c.State.Started = false
		w.Set(ref("a"), c)
		w.pass(3 * time.Second)
		c.State.Terminating = true
		w.Set(ref("a"), c)
		w.pass(3 * time.Second)
		require.Zero(t, w.prober.Probes("app/readiness"))
	})
}

func TestFailedLivenessHoldsUntilTheNextInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, probe.Config{})
		w.prober.Script("app", answer(probe.Failure))
		c := probe.Container{Name: "app", Init: true, State: running("1"), Probes: []probe.Probe{
			named(probe.Liveness, probe.Settings{Period: time.Second, FailureThreshold: 2}),
		}}
		w.Set(ref("a"), c)
		w.pass(10 * time.Second)
		require.Equal(t, []string{"liveness=failure"}, w.verdicts())
		require.Equal(t, 2, w.prober.Probes("app"))
		c.State = running("2")
		w.Set(ref("a"), c)
		w.pass(500 * time.Millisecond)
		require.Empty(t, w.verdicts(), "the new instance has its full threshold")
		require.Equal(t, 3, w.prober.Probes("app"))
		w.pass(10 * time.Second)
		require.Equal(t, []string{"liveness=failure"}, w.verdicts())
		require.Equal(t, []string{"spec.initContainers{app} Warning Unhealthy Liveness probe failed: failure"}, w.events)
	})
}

// An agent that starts anew is told what the last status said.
func TestReadinessOutlivesTheAgent_100277(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, probe.Config{})
		w.prober.Script("app", answer(probe.Failure), answer(probe.Success))
		pod, status := probedPod()
		w.Set(runtime.RefOf(pod), probe.PodContainers(pod, status)...)
		require.ElementsMatch(t, []string{"startup=success", "readiness=success"}, w.verdicts())
		w.pass(time.Minute)
		require.Empty(t, w.verdicts(), "one failure of three changes nothing")
	})
}

// That an instance is not ready was no news to who never took it for ready. It is to
// whoever does later: a mirror may come late that an earlier agent called ready.
func TestFailureIsToldToWhoBelievesOtherwise(t *testing.T) {
	d := probetest.NewDriver(probe.Readiness, probe.Settings{FailureThreshold: 2})
	state := d.Running("c-1")
	d.See(state)
	d.Pass(5*time.Second, probe.Failure)
	ready := state
	ready.Ready = true
	require.False(t, d.Look(d.Now, ready).Changed, "one failure is none yet")
	d.See(state)
	d.Pass(10*time.Second, probe.Failure)
	require.False(t, d.Look(d.Now, state).Changed)
	require.True(t, d.Look(d.Now, ready).Changed)
	require.Equal(t, runtime.VerdictFailure, d.Verdict())
}

// A container that has a readiness probe is never ready before it answered,
// however its status got there.
func TestNobodyIsReadyUnasked_135795(t *testing.T) {
	pod, status := probedPod()
	containers := probe.PodContainers(pod, nil)
	require.Len(t, containers, 1, "known before there is a status")
	status.ContainerStatuses[0].Ready, status.ContainerStatuses[0].Started = false, nil
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, probe.Config{})
		w.Set(runtime.RefOf(pod), probe.PodContainers(pod, status)...)
		require.Empty(t, w.verdicts())
		// Another instance that still has the old one's word is not believed.
		status.ContainerStatuses[0].ContainerID = "test://2"
		status.ContainerStatuses[0].Ready = true
		w.Set(runtime.RefOf(pod), probe.PodContainers(pod, status)...)
		require.Empty(t, w.verdicts())
	})
}

// A status may call an instance ready of which no probe has said so: an agent that
// started anew took that from the API server. The first verdict is news then, also
// where it is the one that every instance begins with.
func TestFailureIsNewsToWhoBelievesInReadiness(t *testing.T) {
	pod, status := probedPod()
	pod.Spec.Containers[0].StartupProbe = nil
	status.ContainerStatuses[0].Ready = false
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, probe.Config{})
		w.prober.Script("app", answer(probe.Failure))
		w.Set(runtime.RefOf(pod), probe.PodContainers(pod, status)...)
		later := *status.DeepCopy()
		later.ContainerStatuses[0].Ready = true
		w.Set(runtime.RefOf(pod), probe.PodContainers(pod, &later)...)
		w.pass(time.Minute)
		require.Contains(t, w.verdicts(), "readiness=failure")
	})
}

func probedPod() (*v1.Pod, *v1.PodStatus) {
	pod := new(v1.Pod)
	pod.UID, pod.Namespace, pod.Name = "a", "default", "a"
	get := v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{}}
	pod.Spec.Containers = []v1.Container{{
		Name: "app", StartupProbe: &v1.Probe{ProbeHandler: get}, ReadinessProbe: &v1.Probe{ProbeHandler: get},
		LivenessProbe: &v1.Probe{ProbeHandler: get},
	}, {Name: "unprobed"}}
	yes := true
	state := v1.ContainerState{Running: &v1.ContainerStateRunning{}}
	state.Running.StartedAt.Time = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	return pod, &v1.PodStatus{Phase: v1.PodRunning, PodIP: "10.0.0.1", ContainerStatuses: []v1.ContainerStatus{
		{Name: "app", ContainerID: "test://1", State: state, Ready: true, Started: &yes},
	}}
}

func TestSidecarsStopBeingProbedAtTermination(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, probe.Config{})
		s := probe.Settings{Period: time.Second}
		c := probe.Container{Name: "app", Init: true, State: running("1"), Probes: []probe.Probe{named(probe.Liveness, s), named(probe.Readiness, s)}}
		w.Set(ref("a"), c)
		w.pass(10 * time.Second)
		c.State.Terminating = true
		w.Set(ref("a"), c)
		alive, ready := w.prober.Probes("app/liveness"), w.prober.Probes("app/readiness")
		w.pass(10 * time.Second)
		require.Equal(t, alive, w.prober.Probes("app/liveness"))
		require.Equal(t, ready+10, w.prober.Probes("app/readiness"), "readiness goes on")
	})
}

func TestNoProbeWithoutAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, probe.Config{})
		p := named(probe.Readiness, probe.Settings{})
		p.Action.TCPSocket = &v1.TCPSocketAction{}
		c := probe.Container{Name: "app", State: running("1"), Probes: []probe.Probe{p}}
		w.Set(ref("a"), c)
		w.pass(time.Minute)
		require.Zero(t, w.prober.Probes("app"))
		c.IP = "10.0.0.1"
		w.Set(ref("a"), c)
		w.pass(100 * time.Millisecond)
		require.Equal(t, 1, w.prober.Probes("app"))
	})
}

func TestSettingsChangeWhileProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, probe.Config{})
		c := probe.Container{Name: "app", State: running("1"), Probes: []probe.Probe{named(probe.Readiness, probe.Settings{Period: time.Hour})}}
		w.Set(ref("a"), c)
		w.pass(2 * time.Hour)
		n := w.prober.Probes("app")
		c.Probes = []probe.Probe{named(probe.Readiness, probe.Settings{Period: 50 * time.Millisecond})}
		w.Set(ref("a"), c)
		w.pass(time.Second)
		require.InDelta(t, n+20, w.prober.Probes("app"), 2, "sub-second periods work")
		require.Equal(t, []string{"readiness=success"}, w.verdicts())
	})
}

func TestErringStartupProbeComesToAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, probe.Config{})
		w.prober.Script("app", probetest.Answer{Err: errors.New("no port called web")})
		s := probe.Settings{Period: time.Second}
		w.Set(ref("a"), probe.Container{Name: "app", State: running("1"), Probes: []probe.Probe{named(probe.Startup, s)}})
		w.Set(ref("b"), probe.Container{Name: "app", State: running("1"), Probes: []probe.Probe{named(probe.Liveness, s), named(probe.Readiness, s)}})
		w.pass(time.Minute)
		require.Equal(t, []string{"startup=failure"}, w.verdicts(), "errors count for nobody else")
		require.LessOrEqual(t, len(w.events), 3, "one event a probe, not one a try: %v", w.events)
		require.Contains(t, w.events, "spec.containers{app} Warning Unhealthy Liveness probe errored and resulted in unknown state: no port called web")
	})
}

func TestObserveHasNoGateAndNoHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, probe.Config{})
		w.prober.Script("app/startup", answer(probe.Failure))
		w.prober.Script("app/disk", answer(probe.Failure), answer(probe.Failure),
			probetest.Answer{Response: probe.Response{Result: probe.Success, Output: "80 %"}},
			probetest.Answer{Response: probe.Response{Result: probe.Success, Output: "81 %"}},
			probetest.Answer{Err: errors.New("gone")})
		w.Set(ref("a"), probe.Container{Name: "app", State: running("1"), Probes: []probe.Probe{
			named(probe.Startup, probe.Settings{FailureThreshold: 1000}),
			{Name: "disk", Kind: probe.Observe, Settings: probe.Settings{Period: time.Second, FailureThreshold: 1}},
		}})
		var seen []string
		for range 6 {
			w.pass(time.Second)
			for _, p := range w.Take() {
				require.NotZero(t, p.At)
				seen = append(seen, fmt.Sprint(p.Verdict, " ", p.Output, " ", p.Err))
			}
		}
		require.Equal(t, []string{"failure failure <nil>", "success 80 % <nil>", "success 81 % <nil>", "unknown  gone"}, seen)
		require.Len(t, w.events, 1, "only of the startup probe")
	})
}

func TestStopCallsOffWhatIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, probe.Config{})
		w.prober.Script("app", probetest.Answer{Hang: true})
		c := probe.Container{Name: "app", State: running("1"), Probes: []probe.Probe{named(probe.Liveness, probe.Settings{Timeout: time.Hour})}}
		w.Set(ref("a"), c)
		w.Set(ref("b"), c)
		w.pass(time.Second)
		require.Equal(t, 2, w.Stats().InFlight)
		w.Remove("a")
		synctest.Wait()
		require.Equal(t, probe.Stats{Pods: 1, Probes: 1, InFlight: 1}, w.Stats())
		began := time.Now()
		w.stop()
		require.Zero(t, time.Since(began))
		require.Zero(t, w.Stats().InFlight)
		require.Empty(t, w.events)
		require.ErrorIs(t, w.Run(t.Context()), probe.ErrRan)
	})
}

func TestThousandThatHangDelayNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, probe.Config{})
		w.prober.Script("hangs", probetest.Answer{Hang: true})
		s := probe.Settings{Period: time.Second, Timeout: time.Second}
		old := probe.State{ContainerID: "1", Running: true, StartedAt: time.Now().Add(-time.Hour)}
		for i := range 1000 { // in as many pods, and 1000 more in a single one
			w.Set(ref(fmt.Sprint("bad", i)), probe.Container{Name: "hangs", State: old, Probes: []probe.Probe{named(probe.Liveness, s)}})
		}
		var many []probe.Container
		for i := range 1000 {
			w.prober.Script(fmt.Sprint("hangs", i), probetest.Answer{Hang: true})
			many = append(many, probe.Container{Name: fmt.Sprint("hangs", i), State: old, Probes: []probe.Probe{{Name: "hangs", Kind: probe.Observe, Settings: s}}})
		}
		w.Set(ref("crowd"), many...)
		for i := range 100 {
			w.Set(ref(fmt.Sprint("good", i)), probe.Container{Name: "answers", State: old, Probes: []probe.Probe{named(probe.Liveness, s)}})
		}
		w.pass(2 * time.Minute)
		w.mu.Lock()
		w.attempts = nil
		w.mu.Unlock()
		w.pass(10 * time.Second)
		require.LessOrEqual(t, w.Stats().InFlight, 256)
		good := 0
		for _, a := range w.attempts {
			if a.Container == "answers" {
				good++
				require.LessOrEqual(t, a.Late, 50*time.Millisecond)
			}
		}
		require.InDelta(t, 1000, good, 100)
	})
}

// Probes that were the quickest hang all of a sudden.
func TestThousandThatBeginToHangDelayNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scripted := new(probetest.Prober)
		w := newWorld(t, probe.Config{Prober: probe.Func(func(ctx context.Context, target probe.Target) (probe.Response, error) {
			r, err := scripted.Probe(ctx, target)
			if errors.Is(err, context.DeadlineExceeded) {
				return probe.Response{Result: probe.Failure}, nil
			}
			return r, err
		})})
		w.prober = scripted
		old := probe.State{ContainerID: "1", Running: true, StartedAt: time.Now().Add(-time.Hour)}
		for i := range 1000 {
			name := fmt.Sprint("hangs", i)
			w.prober.Script(name, answer(probe.Success), answer(probe.Success), probetest.Answer{Hang: true})
			w.Set(ref(fmt.Sprint("bad", i)), probe.Container{Name: name, State: old, Probes: []probe.Probe{named(probe.Liveness, probe.Settings{})}})
		}
		for i := range 100 {
			s := probe.Settings{Period: time.Second}
			w.Set(ref(fmt.Sprint("good", i)), probe.Container{Name: "answers", State: old, Probes: []probe.Probe{named(probe.Liveness, s)}})
		}
		w.pass(time.Minute)
		for _, a := range w.attempts {
			if a.Container == "answers" {
				require.LessOrEqual(t, a.Late, 50*time.Millisecond)
			}
		}
	})
}

func TestProbesOfOneKeyNeverOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		flying := map[string]int{}
		most := 0
		w := newWorld(t, probe.Config{Prober: probe.Func(func(ctx context.Context, target probe.Target) (probe.Response, error) {
			mu.Lock()
			flying[target.Container]++
			most = max(most, flying[target.Container])
			mu.Unlock()
			<-time.After(2500 * time.Millisecond) // longer than period and timeout
			mu.Lock()
			flying[target.Container]--
			mu.Unlock()
			return probe.Response{Result: probe.Success}, nil
		})})
		c := probe.Container{Name: "app", State: running("1"), Probes: []probe.Probe{named(probe.Liveness, probe.Settings{Period: time.Second})}}
		w.Set(ref("a"), c)
		for i := range 10 {
			w.pass(time.Second)
			c.State = running(fmt.Sprint(i))
			w.Set(ref("a"), c)
		}
		require.Equal(t, 1, most)
	})
}

func TestProberThatPanicsHarmsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, probe.Config{Prober: probe.Func(func(context.Context, probe.Target) (probe.Response, error) { panic("oops") })})
		w.Set(ref("a"), probe.Container{Name: "app", State: running("1"), Probes: []probe.Probe{named(probe.Readiness, probe.Settings{})}})
		w.pass(time.Minute)
		require.Equal(t, []string{"spec.containers{app} Warning Unhealthy Readiness probe errored and resulted in unknown state: the prober panicked: oops"}, w.events)
	})
}

// brokenError is an error as a Prober gives it that returns a nil pointer of its own.
type brokenError struct{ text string }

func (e *brokenError) Error() string { return e.text }

func TestErrorThatPanicsHarmsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, probe.Config{Prober: probe.Func(func(context.Context, probe.Target) (probe.Response, error) {
			var err *brokenError
			return probe.Response{}, err
		})})
		w.Set(ref("a"), probe.Container{Name: "app", State: running("1"), Probes: []probe.Probe{named(probe.Readiness, probe.Settings{})}})
		w.pass(time.Minute)
		require.Len(t, w.events, 1)
		require.Contains(t, w.events[0], "Readiness probe errored and resulted in unknown state: the prober panicked: ")
	})
}

func TestTenThousandThatFailAreOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, probe.Config{})
		w.prober.Script("app", answer(probe.Failure))
		old := probe.State{ContainerID: "1", Running: true, StartedAt: time.Now().Add(-time.Hour)}
		for i := range 10_000 {
			w.Set(ref(fmt.Sprint(i)), probe.Container{Name: "app", State: old, Probes: []probe.Probe{named(probe.Readiness, probe.Settings{})}})
		}
		w.pass(time.Minute)
		require.Len(t, w.events, 10_000, "one each, though each failed six times")
		require.Len(t, w.attempts, 60_000)
		for _, a := range w.attempts {
			require.LessOrEqual(t, a.Late, 50*time.Millisecond)
		}
		require.Empty(t, w.verdicts(), "a container begins unready")
	})
}

func TestExplain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, probe.Config{})
		w.prober.Script("app/startup", answer(probe.Failure))
		s := probe.Settings{Period: time.Second}
		began := time.Now()
		w.Set(ref("a"), probe.Container{Name: "app", State: running("1"), Probes: []probe.Probe{named(probe.Startup, s), named(probe.Readiness, s)}})
		w.pass(100 * time.Millisecond)
		all := w.Explain("a")
		require.Len(t, all, 2)
		require.Equal(t, runtime.VerdictUnknown, all[0].Verdict)
		require.Equal(t, probe.Failure, all[0].Result)
		require.Equal(t, "failure", all[0].Output)
		require.Equal(t, 1, all[0].Streak)
		require.LessOrEqual(t, all[0].Due.Sub(began), 1600*time.Millisecond)
		require.Equal(t, "for the startup probe to succeed", all[1].Wait.String())
		require.True(t, all[1].Due.IsZero())
		require.Nil(t, w.Explain("b"))
	})
}
