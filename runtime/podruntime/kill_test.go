package podruntime_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/podruntime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
)

// stubborn ignores a request to end.
var stubborn = runtimetest.Script{IgnoresTerm: true}

// lasts gives how long each container of a pod has run.
func (n *node) ends(pod *v1.Pod, begin time.Time) map[string]time.Duration {
	ends := map[string]time.Duration{}
	for _, c := range n.status(pod).Containers {
		ends[c.Name] = c.FinishedAt.Sub(begin)
	}
	return ends
}

func TestKillStopsInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, scripts{"a": {StopAfter: 5 * time.Second}, "b": stubborn}, podruntime.Config{})
		pod := newPod("web", container("a"), container("b"))
		n.settle(pod)
		n.events.take()
		begin := time.Now()
		require.NoError(t, n.kill(pod, 10*time.Second))
		require.Equal(t, map[string]time.Duration{"a": 5 * time.Second, "b": 10 * time.Second}, n.ends(pod, begin))
		require.False(t, n.status(pod).Sandboxes[0].Ready)
		require.ElementsMatch(t, []string{
			"Normal Killing spec.containers{a}: Stopping container a",
			"Normal Killing spec.containers{b}: Stopping container b",
		}, n.events.take())
		require.NoError(t, n.kill(pod, 10*time.Second), "a dead pod is dead")
		require.Empty(t, n.events.take())
		require.NoError(t, n.kill(newPod("unknown"), time.Second))
	})
}

// A hook is charged to the grace; what is left is never less than two seconds.
func TestPreStopIsPartOfTheGrace(t *testing.T) {
	for _, tc := range []struct {
		name  string
		sleep int64
		grace time.Duration
		want  time.Duration
	}{
		{"hook within the grace", 4, 10 * time.Second, 10 * time.Second},
		{"hook that takes all of it", 60, 10 * time.Second, 12 * time.Second},
		{"hook that leaves less than two seconds", 9, 10 * time.Second, 11 * time.Second},
		{"the least grace", 0, time.Second, 2 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(t, scripts{"main": stubborn}, podruntime.Config{})
				pod := newPod("web", container("main"))
				pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: tc.sleep}}}
				n.settle(pod)
				begin := time.Now()
				require.NoError(t, n.kill(pod, tc.grace))
				require.Equal(t, tc.want, n.ends(pod, begin)["main"])
				late := slices.Contains(n.events.take(), "Warning FailedPreStopHook spec.containers{main}: PreStopHook failed")
				require.Equal(t, time.Duration(tc.sleep)*time.Second > tc.grace, late)
			})
		})
	}
}

// A person who asks why a pod does not stop is told.
func TestWhatAPodWaitsForIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, scripts{"main": stubborn}, podruntime.Config{})
		pod := newPod("web", container("main"))
		pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 4}}}
		n.settle(pod)
		require.Empty(t, n.Doing(pod.UID))
		require.Empty(t, n.Doing("nobody"))
		killed := make(chan error)
		begin := time.Now()
		go func() { killed <- n.kill(pod, 10*time.Second) }()
		for _, want := range []string{"the preStop hook of main", "the end of container main"} {
			<-time.After(3 * time.Second)
			synctest.Wait()
			doing := n.Doing(pod.UID)
			require.Len(t, doing, 1)
			require.Equal(t, want, doing[0].What)
		}
		require.Equal(t, begin.Add(4*time.Second), n.Doing(pod.UID)[0].Since)
		require.NoError(t, <-killed)
		require.Empty(t, n.Doing(pod.UID))
	})
}

// Which grace a container gets when a probe or a change kills it.
func TestGraceOfOneContainer(t *testing.T) {
	ten, thirty := int64(10), int64(30)
	for _, tc := range []struct {
		name    string
		pod     *int64
		deleted *int64
		probe   *int64
		verdict bool
		want    time.Duration
	}{
		{"nothing set", nil, nil, nil, false, 2 * time.Second},
		{"pod only", &thirty, nil, nil, false, 30 * time.Second},
		{"probe's, for its kill", &thirty, nil, &ten, true, 10 * time.Second},
		{"pod's, for another reason", &thirty, nil, &ten, false, 30 * time.Second},
		{"probe's, longer than the pod's", &ten, nil, &thirty, true, 30 * time.Second},
		{"deletion's beats all", &thirty, &ten, &thirty, true, 10 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(t, scripts{"main": stubborn}, podruntime.Config{})
				pod := newPod("web", container("main"), container("other"))
				pod.Spec.TerminationGracePeriodSeconds = tc.pod
				pod.Spec.Containers[0].LivenessProbe = &v1.Probe{TerminationGracePeriodSeconds: tc.probe}
				n.settle(pod)
				id := n.status(pod).Container("main").ID
				req := runtime.SyncRequest{Pod: pod.DeepCopy(), Status: n.status(pod)}
				req.Pod.DeletionGracePeriodSeconds = tc.deleted
				if tc.verdict {
					req.Probes.Liveness = map[string]runtime.Verdict{id: runtime.VerdictFailure}
				} else {
					req.Pod.Spec.Containers[0].Image = "img:2"
				}
				begin := time.Now()
				_, err := n.SyncPod(t.Context(), req)
				require.NoError(t, err)
				require.Equal(t, tc.want, time.Since(begin))
			})
		})
	}
}

// Sidecars end after the regular containers, the last one first; their hooks
// begin with everyone's.
func TestSidecarsStopLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := runtimetest.Script{StopAfter: 3 * time.Second}
		hooks := map[string]time.Duration{}
		f := newFaulty(scripts{"main": slow, "s1": slow, "s2": slow})
		var begin time.Time
		f.exec = func(_ context.Context, _ string, command []string) (int, error) {
			hooks[command[0]] = time.Since(begin)
			return 0, nil
		}
		n := newNode(t, nil, podruntime.Config{Backend: f})
		pod := newPod("web", container("main"))
		pod.Spec.InitContainers = []v1.Container{sidecar("s1"), sidecar("s2")}
		pod.Spec.InitContainers[0].Lifecycle = &v1.Lifecycle{PreStop: execHook("hook of s1")}
		n.settle(pod)
		begin = time.Now()
		require.NoError(t, n.kill(pod, 30*time.Second))
		require.Equal(t, map[string]time.Duration{"main": 3 * time.Second, "s2": 6 * time.Second, "s1": 9 * time.Second}, n.ends(pod, begin))
		require.Equal(t, map[string]time.Duration{"hook of s1": 0}, hooks)
	})
}

// A container that can't be stopped makes no sidecar wait for it, and the error
// says which one it is (the kubelet lets sidecars burn their grace).
func TestFailedStopHoldsUpNoSidecar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaulty(nil)
		n := newNode(t, nil, podruntime.Config{Backend: f})
		pod := newPod("web", container("main"))
		pod.Spec.InitContainers = []v1.Container{sidecar("proxy")}
		n.settle(pod)
		main := n.status(pod).Container("main").ID
		f.stopContainer = func(ctx context.Context, id string, grace time.Duration) error {
			if id == main {
				return errors.New("the engine is confused")
			}
			return f.FakeBackend.StopContainer(ctx, id, grace)
		}
		begin := time.Now()
		err := n.kill(pod, 30*time.Second)
		require.ErrorContains(t, err, "kill pod web_default(uid-web): stop container "+main+": the engine is confused")
		require.Zero(t, n.ends(pod, begin)["proxy"])
		require.False(t, n.status(pod).Sandboxes[0].Ready, "the sandbox is stopped all the same")
	})
}

// A second KillPod with an earlier deadline ends the stop sooner, in whatever
// phase it is, and runs no hook again; a later one changes nothing.
func TestDeadlineMovesForward(t *testing.T) {
	for _, hook := range []int64{0, 20} {
		synctest.Test(t, func(t *testing.T) {
			n := newNode(t, scripts{"main": stubborn}, podruntime.Config{})
			pod := newPod("web", container("main"))
			pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: hook}}}
			n.settle(pod)
			n.events.take()
			begin := time.Now()
			first := make(chan error, 1)
			go func() { first <- n.kill(pod, time.Hour) }()
			time.Sleep(time.Second)
			later := make(chan error, 1)
			go func() { later <- n.kill(pod, 2*time.Hour) }()
			time.Sleep(time.Second)
			require.NoError(t, n.kill(pod, 5*time.Second))
			require.NoError(t, <-first)
			require.NoError(t, <-later)
			want := 7 * time.Second
			if hook > 0 {
				want += runtime.MinGrace // the hook took all of it
			}
			require.Equal(t, want, n.ends(pod, begin)["main"])
			killing := slices.DeleteFunc(n.events.take(), func(e string) bool { return e[:6] != "Normal" })
			require.Equal(t, []string{"Normal Killing spec.containers{main}: Stopping container main"}, killing)
		})
	}
}

// Whoever stops waiting does not stop the stopping.
func TestKillGoesOnWithoutWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, scripts{"main": stubborn}, podruntime.Config{})
		pod := newPod("web", container("main"))
		n.settle(pod)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := n.KillPod(ctx, runtime.KillRequest{Ref: runtime.RefOf(pod), Pod: pod, Grace: 10 * time.Second})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, "running #0", n.states(pod)["main"])
		_, err = n.sync(pod)
		require.ErrorContains(t, err, "the pod is being killed")
		time.Sleep(10 * time.Second)
		require.Equal(t, "exited #0", n.states(pod)["main"])
		require.False(t, n.status(pod).Sandboxes[0].Ready)
	})
}

// A kill ends the pass that it overtakes, and what that still managed to start.
func TestKillOvertakesSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, scripts{"slow": {StartDelay: time.Hour}}, podruntime.Config{})
		pod := newPod("web", container("fast"), container("slow"))
		begin := time.Now()
		synced := make(chan error, 1)
		status := n.status(pod)
		go func() {
			_, err := n.SyncPod(t.Context(), runtime.SyncRequest{Pod: pod, Status: status})
			synced <- err
		}()
		time.Sleep(time.Second)
		require.NoError(t, n.kill(pod, 30*time.Second))
		err := <-synced
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "the pod is being killed")
		require.Equal(t, time.Second, time.Since(begin))
		require.False(t, n.status(pod).Running())
	})
}

// A container of a pod that only the runtime knows is stopped by what its
// annotations say.
func TestKillOfUnknownPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, scripts{"main": stubborn}, podruntime.Config{})
		pod := newPod("web", container("main"))
		pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 3}}}
		n.settle(pod)

		again := newNode(t, nil, podruntime.Config{Backend: n.backend, Root: n.root})
		begin := time.Now()
		require.NoError(t, again.KillPod(t.Context(), runtime.KillRequest{Ref: runtime.PodRef{UID: pod.UID}}))
		require.Equal(t, 30*time.Second, again.ends(pod, begin)["main"])
		require.Equal(t, []string{"Normal Killing spec.containers{main}: Stopping container main"}, again.events.take())
	})
}

// A container that the spec no longer has is stopped like any other (the kubelet
// stops nothing of such a pod).
func TestKillOfContainerThatTheSpecLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, nil, podruntime.Config{})
		pod := newPod("web", container("main"), container("lost"))
		n.settle(pod)
		changed := pod.DeepCopy()
		changed.Spec.Containers = changed.Spec.Containers[:1]
		require.NoError(t, n.kill(changed, time.Second))
		require.Equal(t, map[string]string{"main": "exited #0", "lost": "exited #0"}, n.states(pod))
	})
}

// A stop that failed is tried again by the next kill, without its hook.
func TestKillIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaulty(nil)
		hooks := 0
		f.exec = func(context.Context, string, []string) (int, error) { hooks++; return 0, nil }
		broken := true
		f.stopContainer = func(ctx context.Context, id string, grace time.Duration) error {
			if broken {
				return errors.New("not now")
			}
			return f.FakeBackend.StopContainer(ctx, id, grace)
		}
		n := newNode(t, nil, podruntime.Config{Backend: f})
		pod := newPod("web", container("main"))
		pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: execHook("bye")}
		n.settle(pod)
		req := runtime.SyncRequest{Pod: pod.DeepCopy(), Status: n.status(pod)}
		req.Pod.Spec.Containers[0].Image = "img:2"
		_, err := n.SyncPod(t.Context(), req)
		require.ErrorContains(t, err, "not now")
		broken = false
		require.NoError(t, n.kill(pod, 10*time.Second))
		require.Equal(t, 1, hooks)
		require.False(t, n.status(pod).Running())
	})
}
