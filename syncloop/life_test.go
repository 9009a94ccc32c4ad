package syncloop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

func TestWayOfANewPod(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("web")
		w.add(p)
		require.Equal(t, v1.PodRunning, w.phase(p.UID))
		require.True(t, w.observed(p.UID).Running())
		status := w.sink.Status(p.UID)
		require.True(t, status.ContainerStatuses[0].Ready)
		require.Equal(t, "fake://"+w.observed(p.UID).Containers[0].ID, status.ContainerStatuses[0].ContainerID)
		v, ok := w.Pod(p.UID)
		require.True(t, ok)
		require.Equal(t, lifecycle.Sync, v.Stage)
		require.Empty(t, v.Work)
		require.WithinRange(t, v.RetryAt, time.Now().Add(50*time.Second), time.Now().Add(91*time.Second))

		w.remove(p)
		require.Empty(t, w.listed(), "what the runtime keeps goes with the pod")
		require.Empty(t, w.Pods())
		require.True(t, func() bool { u, _ := w.sink.Last(p.UID); return u.Finished && !u.MayRun }())
		require.Equal(t, v1.PodSucceeded, w.phase(p.UID))
	})
}

func TestJobCompletes(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("job", policy(v1.RestartPolicyNever), running(runtimetest.RunsFor(5*time.Second, 0)))
		bad := pod("bad", policy(v1.RestartPolicyNever), running(runtimetest.RunsFor(5*time.Second, 3)))
		w.add(p, bad)
		sleep(6 * time.Second)
		require.Subset(t, []v1.PodPhase{v1.PodPending, v1.PodRunning, v1.PodSucceeded}, w.sink.Phases(p.UID))
		require.Equal(t, v1.PodSucceeded, w.phase(p.UID))
		require.Equal(t, v1.PodFailed, w.phase(bad.UID))
		require.EqualValues(t, 3, w.sink.Status(bad.UID).ContainerStatuses[0].State.Terminated.ExitCode)
		v, _ := w.Pod(p.UID)
		require.Equal(t, lifecycle.Finished, v.Stage)
		require.Len(t, w.listed(), 2, "a pod that is still wanted keeps its dead containers for their logs")
		w.remove(p, bad)
		require.Empty(t, w.listed())
	})
}

func TestCrashLoopBacksOff(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("crash", running(runtimetest.ExitsWith(1)))
		w.add(p)
		sleep(time.Second)
		waiting := w.sink.Status(p.UID).ContainerStatuses[0].State.Waiting
		require.NotNil(t, waiting)
		require.Equal(t, "CrashLoopBackOff", waiting.Reason)
		sleep(5 * time.Minute)
		// Restarted at once, then after 10, 20, 40, 80 and 160 seconds.
		require.EqualValues(t, 5, w.sink.Status(p.UID).ContainerStatuses[0].RestartCount)
	})
}

func TestInitContainersInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("init")
		p.Spec.InitContainers = []v1.Container{
			{Name: "a", Command: runtimetest.RunsFor(3*time.Second, 0).Command()},
			{Name: "b", Command: runtimetest.RunsFor(3*time.Second, 0).Command()},
		}
		w.add(p)
		sleep(time.Second)
		require.Nil(t, w.observed(p.UID).Container("b"))
		sleep(3 * time.Second)
		require.NotNil(t, w.observed(p.UID).Container("b"))
		require.Nil(t, w.observed(p.UID).Container("c"))
		require.Equal(t, v1.PodPending, w.phase(p.UID))
		sleep(3 * time.Second)
		require.Equal(t, runtime.StateRunning, w.observed(p.UID).Container("c").State)
		require.Equal(t, v1.PodRunning, w.phase(p.UID))
	})
}
