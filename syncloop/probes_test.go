package syncloop_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/probe/probetest"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
)

// inProbedWorld runs a test of a world whose containers are probed. Whatever is
// not in the script succeeds.
func inProbedWorld(t *testing.T, test func(t *testing.T, w *world), change ...func(*syncloop.Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, change...)
		w.prober = &probetest.Prober{}
		w.start()
		defer func() {
			w.stop()
			require.Empty(t, w.sink.Violations())
		}()
		test(t, w)
	})
}

var (
	succeeds = probetest.Answer{Response: probe.Response{Result: probe.Success}}
	fails    = probetest.Answer{Response: probe.Response{Result: probe.Failure, Output: "it is broken"}}
)

// every is a probe that is made so often, and of which one attempt counts.
func every(seconds int32) *v1.Probe {
	return &v1.Probe{
		ProbeHandler:  v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"check"}}},
		PeriodSeconds: seconds, FailureThreshold: 1,
	}
}

func ready(p *v1.Probe) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.Containers[0].ReadinessProbe = p }
}

func alive(p *v1.Probe) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.Containers[0].LivenessProbe = p }
}

// isReady tells whether the pod's newest status in the sink calls it ready.
func (w *world) isReady(uid types.UID) bool {
	status := w.sink.Status(uid)
	return saysReady(&status)
}

func saysReady(s *v1.PodStatus) bool {
	for _, c := range s.Conditions {
		if c.Type == v1.PodReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

// readiness is what was said of it over time, without repetitions.
func (w *world) readiness(uid types.UID) (said []bool) {
	for _, u := range w.sink.History(uid) {
		if ready := saysReady(u.Status); len(said) == 0 || said[len(said)-1] != ready {
			said = append(said, ready)
		}
	}
	return said
}

func (w *world) restarts(uid types.UID) int32 {
	return w.sink.Status(uid).ContainerStatuses[0].RestartCount
}

func TestProbesDecideWhatIsReadyAndWhatIsRestarted(t *testing.T) {
	inProbedWorld(t, func(t *testing.T, w *world) {
		w.prober.Script("c/readiness", fails, succeeds, fails, succeeds)
		w.prober.Script("c/liveness", succeeds, succeeds, succeeds, succeeds, fails, succeeds)
		p := pod("web", ready(every(10)), alive(every(10)))
		w.add(p)
		require.False(t, w.isReady(p.UID))
		sleep(time.Minute)
		require.EqualValues(t, 1, w.restarts(p.UID))
		require.Equal(t, []bool{false, true, false, true}, w.readiness(p.UID)[:4], "as the probe had it; amid the restart the sink may not hear of it")
		require.True(t, w.isReady(p.UID))
		require.Equal(t, []string{"Warning Unhealthy web: Liveness probe failed: it is broken"}, w.events.With("Liveness"))
	})
}

func TestStartupProbeGuardsAndFails(t *testing.T) {
	inProbedWorld(t, func(t *testing.T, w *world) {
		w.prober.Script("c/startup", fails, fails, succeeds)
		w.prober.Script("c/liveness", fails)
		p := pod("slow", func(p *v1.Pod) {
			p.Spec.Containers[0].StartupProbe = every(5)
			p.Spec.Containers[0].StartupProbe.FailureThreshold = 10
			p.Spec.Containers[0].LivenessProbe = every(1)
			p.Spec.Containers[0].LivenessProbe.FailureThreshold = 1000
		})
		w.add(p)
		require.False(t, *w.sink.Status(p.UID).ContainerStatuses[0].Started)
		require.Zero(t, w.prober.Probes("c/liveness"), "nothing before the startup probe")
		sleep(30 * time.Second)
		require.True(t, *w.sink.Status(p.UID).ContainerStatuses[0].Started)
		require.True(t, w.isReady(p.UID))
		require.NotZero(t, w.prober.Probes("c/liveness"))
		require.Zero(t, w.restarts(p.UID))

		w.prober.Script("c/startup", fails)
		never := pod("never", func(p *v1.Pod) { p.Spec.Containers[0].StartupProbe = every(5) })
		w.add(never)
		sleep(8 * time.Second)
		require.NotZero(t, w.restarts(never.UID))
		require.False(t, w.isReady(never.UID))
	})
}

// kubernetes/kubernetes#100277: an agent that starts anew must not say that what
// was ready is not, whoever remembers it, however young the container is.
func TestReadinessDoesNotFlapWhenTheAgentRestarts_100277(t *testing.T) {
	for _, test := range []struct {
		name   string
		store  bool
		change func(*v1.Pod)
	}{
		{"known from the store", true, func(*v1.Pod) {}},
		{"known from the API", false, func(*v1.Pod) {}},
		{"static, known from the store", true, static},
	} {
		for _, age := range []time.Duration{5 * time.Second, time.Hour} {
			t.Run(test.name+", "+age.String()+" old", func(t *testing.T) {
				inProbedWorld(t, func(t *testing.T, w *world) {
					if test.store {
						w.stop()
						withStore(w)
						w.start()
					}
					p := pod("web", ready(every(10)), test.change)
					p.Spec.Containers[0].ReadinessProbe.FailureThreshold = 3
					w.add(p)
					sleep(age)
					require.True(t, w.isReady(p.UID))
					w.stop()
					sleep(time.Second)
					// One hiccup is forgiven, as if the agent had never been away.
					w.prober.Script("c/readiness", fails, succeeds)
					p = p.DeepCopy()
					if !test.store {
						p.Status = w.sink.Status(p.UID)
					}
					w.start()
					w.add(p)
					sleep(time.Minute)
					require.NotZero(t, w.prober.Probes("c/readiness"))
					require.NotContains(t, w.readiness(p.UID)[1:], false)
					require.True(t, w.isReady(p.UID))

					// It is no less looked after than before.
					w.prober.Script("c/readiness", fails)
					sleep(time.Minute)
					require.False(t, w.isReady(p.UID))
				})
			})
		}
	}
}

// Whoever was told that a pod is ready is not told otherwise because the agent was
// killed before it had written that down.
func TestReadinessIsWrittenDownBeforeItIsSaid(t *testing.T) {
	inProbedWorld(t, func(t *testing.T, w *world) {
		w.stop()
		withStore(w)
		disk := make(chan struct{})
		w.store.BeforeCommit = func(context.Context, syncloop.Batch) error {
			<-disk
			return nil
		}
		w.start()
		p := pod("web", ready(every(10)))
		w.add(p)
		sleep(time.Minute)
		said := w.readiness(p.UID)
		close(disk)
		require.Equal(t, []bool{false}, said)
		synctest.Wait()
		require.True(t, w.isReady(p.UID))
	})
}

// Inheriting must not last longer than until the probe says otherwise, also where
// the store knows less than the API server.
func TestInheritedReadinessEndsWithTheProbesWord(t *testing.T) {
	inProbedWorld(t, func(t *testing.T, w *world) {
		w.stop()
		withStore(w)
		w.start()
		w.prober.Script("c/readiness", fails)
		p := pod("web", ready(every(10)))
		w.add(p)
		sleep(time.Minute)
		w.stop()
		p = p.DeepCopy()
		status := w.sink.Status(p.UID)
		p.Status = *status.DeepCopy()
		for i := range p.Status.Conditions {
			p.Status.Conditions[i].Status = v1.ConditionTrue
		}
		w.start()
		w.add(p)
		sleep(time.Minute)
		require.False(t, w.isReady(p.UID))
	})
}

// kubernetes/kubernetes#135795: a container with a readiness probe is never said to
// be ready before that probe succeeded.
func TestNobodyIsReadyBeforeItsProbe_135795(t *testing.T) {
	inProbedWorld(t, func(t *testing.T, w *world) {
		slow := every(10)
		slow.InitialDelaySeconds = 30
		p := pod("web", ready(slow))
		w.add(p)
		for range 3 {
			require.False(t, w.isReady(p.UID))
			sleep(9 * time.Second)
		}
		w.restart() // an agent that starts anew knows no better
		w.add(p)
		require.False(t, w.isReady(p.UID))
		require.Zero(t, w.prober.Probes("c/readiness"))
		sleep(10 * time.Second)
		require.True(t, w.isReady(p.UID))
		require.Equal(t, []bool{false, true}, w.readiness(p.UID))
	})
}

// A sidecar that has started must not hold up its pod after the agent started
// anew: nobody probes it twice for that.
func TestStartedSidecarOutlivesTheAgent_136910(t *testing.T) {
	for _, store := range []bool{true, false} {
		inProbedWorld(t, func(t *testing.T, w *world) {
			if store {
				w.stop()
				withStore(w)
				w.start()
			}
			p := pod("web", func(p *v1.Pod) {
				always := v1.ContainerRestartPolicyAlways
				p.Spec.InitContainers = []v1.Container{
					{Name: "side", Image: "image", RestartPolicy: &always, StartupProbe: every(5)},
				}
			})
			w.add(p)
			sleep(time.Minute)
			require.Equal(t, v1.PodRunning, w.phase(p.UID))
			probes := w.prober.Probes("side/startup")
			before := w.observed(p.UID).Containers
			w.stop()
			p = p.DeepCopy()
			p.Status = w.sink.Status(p.UID)
			w.prober.Script("side/startup", fails)
			w.start()
			w.add(p)
			sleep(time.Minute)
			require.Equal(t, before, w.observed(p.UID).Containers)
			require.Equal(t, probes, w.prober.Probes("side/startup"))
			// What ends is started anew at once, sidecar or not.
			require.NoError(t, w.fake.Exit(p.UID, "c", 1))
			sleep(time.Minute)
			require.Equal(t, v1.PodRunning, w.phase(p.UID))
			require.EqualValues(t, 1, w.restarts(p.UID))
		})
	}
}

// What a probe finds is said at once, though the work on the pod hangs, and the
// older knowledge of that work does not take it back.
func TestReadinessIsSaidWhileWorkIsBusy(t *testing.T) {
	hang := make(chan struct{})
	inProbedWorld(t, func(t *testing.T, w *world) {
		hang = make(chan struct{})
		w.prober.Script("c/readiness", fails, succeeds)
		p := pod("web", ready(every(10)))
		w.add(p)
		sleep(time.Second)
		view, _ := w.Pod(p.UID)
		require.Equal(t, "sync", string(view.Work), "it hangs")
		require.False(t, w.isReady(p.UID))
		sleep(20 * time.Second)
		require.True(t, w.isReady(p.UID))
		close(hang)
		sleep(time.Second)
		require.Equal(t, []bool{false, true}, w.readiness(p.UID))
	}, func(c *syncloop.Config) {
		c.Runtime = runtimetest.Intercept(c.Runtime, runtimetest.Funcs{
			SyncPod: func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
				res, err := rt.SyncPod(ctx, req)
				if !res.Acted { // the second pass, in which the container runs
					<-hang
					res.Containers = []runtime.StartResult{{Container: "other", Reason: "Failed"}}
				}
				return res, err
			},
		})
	})
}

// Readiness is said at once, too, while another container of the pod does what can't be
// said of it: here an init container that had ended runs again in a new sandbox.
func TestReadinessIsSaidBesideWhatCannotBe(t *testing.T) {
	inProbedWorld(t, func(t *testing.T, w *world) {
		always := v1.ContainerRestartPolicyAlways
		p := pod("web", policy(v1.RestartPolicyOnFailure), func(p *v1.Pod) {
			p.Spec.InitContainers = []v1.Container{
				{Name: "side", Image: "image", RestartPolicy: &always, ReadinessProbe: every(5)},
				{Name: "init", Image: "image", Command: runtimetest.RunsFor(40*time.Second, 0).Command()},
			}
		})
		w.add(p)
		sleep(time.Minute)
		require.True(t, w.isReady(p.UID))
		w.prober.Script("side/readiness", fails)
		require.NoError(t, w.fake.FailSandbox(p.UID))
		side := func() v1.ContainerStatus { return w.sink.Status(p.UID).InitContainerStatuses[0] }
		sleep(15 * time.Second)
		require.NotNil(t, side().State.Running)
		require.False(t, side().Ready)
		w.prober.Script("side/readiness", succeeds)
		sleep(6 * time.Second)
		require.True(t, side().Ready)
		require.Equal(t, runtime.StateRunning, w.observed(p.UID).Container("init").State)
	})
}

// Readiness goes on being probed while a pod stops, so that whoever sends it work
// hears that it takes no more; nobody asks whether it is alive.
func TestReadinessIsProbedThroughTermination(t *testing.T) {
	for name, stop := range map[string]func(t *testing.T, w *world, p *v1.Pod){
		"removed": func(_ *testing.T, w *world, p *v1.Pod) { w.remove(p) },
		"deleted": func(_ *testing.T, w *world, p *v1.Pod) {
			p = p.DeepCopy()
			p.DeletionTimestamp = &metav1.Time{Time: time.Now()}
			w.send(podmanager.OpDelete, p)
		},
		"evicted": func(_ *testing.T, w *world, p *v1.Pod) {
			go func() { _ = w.Kill(context.Background(), p.UID, syncloop.KillOptions{Evict: true}) }()
			synctest.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inProbedWorld(t, func(t *testing.T, w *world) {
				p := pod("web", ready(every(10)), alive(every(1)), stubborn, grace(60))
				w.add(p)
				sleep(15 * time.Second)
				require.True(t, w.isReady(p.UID))
				stop(t, w, p)
				asked := w.prober.Probes("c/liveness")
				require.True(t, w.isReady(p.UID))
				w.prober.Script("c/readiness", fails)
				began := time.Now()
				sleep(20 * time.Second)
				require.False(t, w.isReady(p.UID))
				require.True(t, w.observed(p.UID).Running())
				require.Equal(t, asked, w.prober.Probes("c/liveness"))
				since := readySince(w.sink.Status(p.UID))
				require.Less(t, since.Sub(began), 15*time.Second)

				sleep(time.Minute)
				require.False(t, w.observed(p.UID).Running())
				asked = w.prober.Probes("c/readiness")
				if history := w.sink.History(p.UID); len(history) > 0 {
					require.Equal(t, since, readySince(*history[len(history)-1].Status), "it has been unready since then")
				}
				sleep(time.Minute)
				require.Equal(t, asked, w.prober.Probes("c/readiness"), "nothing runs that could be probed")
			})
		})
	}
}

// An agent that starts anew amid a stop goes on probing.
func TestReadinessIsProbedThroughAStopThatANewAgentTakesUp(t *testing.T) {
	inProbedWorld(t, func(t *testing.T, w *world) {
		w.stop()
		withStore(w)
		w.start()
		p := pod("web", ready(every(10)), alive(every(1)), stubborn, grace(60))
		w.add(p)
		sleep(15 * time.Second)
		deleted := p.DeepCopy()
		deleted.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		w.send(podmanager.OpDelete, deleted)
		w.restart()
		w.add(deleted)
		require.True(t, w.isReady(p.UID))
		asked := w.prober.Probes("c/liveness")
		w.prober.Script("c/readiness", fails)
		sleep(20 * time.Second)
		require.True(t, w.observed(p.UID).Running())
		require.False(t, w.isReady(p.UID))
		require.Equal(t, asked, w.prober.Probes("c/liveness"))
	})
}

// readySince is when the condition Ready changed last.
func readySince(s v1.PodStatus) time.Time {
	for _, c := range s.Conditions {
		if c.Type == v1.PodReady {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

func TestPlainInitContainersAreNotProbed(t *testing.T) {
	inProbedWorld(t, func(t *testing.T, w *world) {
		p := pod("web", func(p *v1.Pod) {
			p.Spec.InitContainers = []v1.Container{{
				Name: "init", Image: "image", StartupProbe: every(1), ReadinessProbe: every(1), LivenessProbe: every(1),
				Command: runtimetest.RunsFor(30*time.Second, 0).Command(),
			}}
		})
		w.add(p)
		sleep(time.Minute)
		require.True(t, w.isReady(p.UID))
		require.Zero(t, w.prober.Probes("init"))
	})
}

// A pod that is brought back under its UID is a new one: nothing of what probes
// found before counts.
func TestNewLifeIsProbedAnew(t *testing.T) {
	inProbedWorld(t, func(t *testing.T, w *world) {
		p := pod("web", static, ready(every(10)))
		w.add(p)
		sleep(time.Minute)
		require.True(t, w.isReady(p.UID))
		w.remove(p)
		w.prober.Script("c/readiness", fails)
		w.add(p)
		sleep(time.Minute)
		require.Equal(t, v1.PodRunning, w.phase(p.UID))
		require.False(t, w.isReady(p.UID))
	})
}

func TestHealthAndExplainTellOfProbes(t *testing.T) {
	inProbedWorld(t, func(t *testing.T, w *world) {
		w.prober.Script("c/readiness", fails)
		w.prober.Script("c/liveness", probetest.Answer{Hang: true})
		p := pod("web", ready(every(10)), alive(every(10)))
		w.add(p)
		sleep(500 * time.Millisecond)
		c := w.check("probes")
		require.True(t, c.OK)
		require.Equal(t, "2 probes of 1 pod, 1 in flight, none waits", c.Detail)
		sleep(5 * time.Second)
		e, ok := w.Explain(p.UID)
		require.True(t, ok)
		text := strings.Join(e.Lines, "\n")
		require.Regexp(t, `Probe readiness of c: failure; the last attempt, 5.5s ago, was a failure: it is broken; the next in [0-9.]+s\.`, text)
		w.remove(p)
		require.Equal(t, "0 probes of 0 pods, 0 in flight, none waits", w.check("probes").Detail)
	})
}

// lateProbes are behind their time.
type lateProbes struct {
	*probe.Manager
	by time.Duration
}

func (p lateProbes) Stats() probe.Stats {
	return probe.Stats{Pods: 1000, Probes: 3000, InFlight: 256, Waiting: 40, Late: p.by}
}

func TestHealthTellsOfProbesThatAreLate(t *testing.T) {
	for by, says := range map[time.Duration]string{
		0:               "40 wait behind others of the same pod",
		4 * time.Second: "40 wait for their turn, the oldest for 4s",
		6 * time.Second: "40 wait for their turn, the oldest for 6s",
	} {
		m, err := probe.NewManager(probe.Config{Prober: &probetest.Prober{}})
		require.NoError(t, err)
		inBubble(t, func(t *testing.T, w *world) {
			c := w.check("probes")
			require.Equal(t, by < 5*time.Second, c.OK)
			require.Equal(t, "3000 probes of 1000 pods, 256 in flight; "+says, c.Detail)
			require.Equal(t, by == 0, c.Since.IsZero())
			if by > 0 {
				require.Equal(t, by, time.Since(c.Since))
			}
		}, func(c *syncloop.Config) { c.Probes = lateProbes{m, by} })
	}
}
