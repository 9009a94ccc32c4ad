package podstatus_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

const (
	vanished = "The container could not be located when the pod was deleted.  The container used to be Running"
	located  = "The container could not be located when the pod was terminated"
)

// one computes the status of a pod and returns that of its container c0.
func one(in podstatus.Input) v1.ContainerStatus {
	r := podstatus.Compute(in)
	return statuses(&r.Status)["c0"]
}

func TestContainerOfEachState(t *testing.T) {
	pod := newPod()
	require.Equal(t, "ContainerCreating", one(input(pod)).State.Waiting.Reason)
	require.Equal(t, "PodInitializing", one(input(newPod(withInit))).State.Waiting.Reason)
	require.Equal(t, &v1.ContainerStateWaiting{}, one(input(pod, created("c0"))).State.Waiting)
	require.Equal(t, &v1.ContainerStateWaiting{}, one(input(pod, unknown("c0"))).State.Waiting)
	require.Equal(t, metav1.NewTime(now), one(input(pod, running("c0"))).State.Running.StartedAt)

	ended := one(input(pod, exited("c0", 3)))
	require.Equal(t, "fake://c0", ended.ContainerID)
	require.Equal(t, &v1.ContainerStateTerminated{
		ExitCode: 3, Reason: "Error", ContainerID: "fake://c0",
		StartedAt: metav1.NewTime(now), FinishedAt: metav1.NewTime(now),
	}, ended.State.Terminated)
}

// The newest instance gives the state and the second one the last state; older
// ones don't count.
func TestInstancesOfOneContainer(t *testing.T) {
	c := one(input(newPod(), again(running("c0"), "c", 2), again(exited("c0", 2), "b", 1), exited("c0", 1)))
	require.NotNil(t, c.State.Running)
	require.Equal(t, int32(2), c.LastTerminationState.Terminated.ExitCode)
	require.Equal(t, int32(2), c.RestartCount)
}

func TestResourcesOfObservedContainers(t *testing.T) {
	pod := newPod()
	require.Nil(t, one(input(pod)).Resources, "nothing runs with them yet")
	require.Equal(t, &v1.ResourceRequirements{}, one(input(pod, running("c0"))).Resources)

	cpu := v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m")}
	pod.Spec.Containers[0].Resources = v1.ResourceRequirements{Requests: cpu}
	c := one(input(pod, running("c0")))
	require.Equal(t, cpu, c.Resources.Requests)
	require.Equal(t, cpu, c.AllocatedResources)
}

// A container that ran, and of which the runtime knows nothing any more, must
// have ended. That is counted as a restart, once, unless the pod is being deleted.
func TestContainerThatVanished(t *testing.T) {
	pod := newPod()
	r := podstatus.Compute(input(pod, running("c0")))
	for range 2 {
		r = podstatus.Compute(after(r, pod))
		c := r.Status.ContainerStatuses[0]
		require.Equal(t, "ContainerCreating", c.State.Waiting.Reason)
		require.Equal(t, &v1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown", Message: vanished}, c.LastTerminationState.Terminated)
		require.Equal(t, int32(1), c.RestartCount)
	}

	r = podstatus.Compute(input(pod, running("c0")))
	pod.DeletionTimestamp = &metav1.Time{Time: now}
	require.Zero(t, one(after(r, pod)).RestartCount)
}

// An instance that the runtime lost track of while it ran is said to have ended,
// and (difference: an instance that was lost stays lost) goes on being said so:
// the kubelet takes it back in the next status.
func TestInstanceThatWasLostStaysLost(t *testing.T) {
	pod := newPod()
	r := podstatus.Compute(input(pod, running("c0")))
	for range 3 {
		r = podstatus.Compute(after(r, pod, unknown("c0")))
		require.Nil(t, r.Illegal)
		c := r.Status.ContainerStatuses[0]
		require.Equal(t, &v1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown", Message: located}, c.State.Terminated)
		require.Equal(t, int32(1), c.RestartCount)
	}
}

func TestEndIsRememberedWhenTheRuntimeForgets(t *testing.T) {
	pod := newPod(policy(v1.RestartPolicyNever), withC1)
	r := podstatus.Compute(input(pod, running("c1"), exited("c0", 3)))
	want := r.Status.ContainerStatuses[0]
	require.Equal(t, want, one(after(r, pod, running("c1"))))
}

// A container that has ended, and that the runtime does not know any more, or says is
// running again, has what was granted since.
func TestResizeOfAContainerThatHasEnded(t *testing.T) {
	for name, runs := range map[string][]runtime.ContainerStatus{"forgotten": {running("c1")}, "invented": {running("c0"), running("c1")}} {
		t.Run(name, func(t *testing.T) {
			pod := newPod(policy(v1.RestartPolicyNever), withC1)
			asks := func(cpu string) {
				pod = pod.DeepCopy()
				pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}
			}
			asks("2")
			r := podstatus.Compute(input(pod, running("c1"), exited("c0", 3)))
			want := r.Status.ContainerStatuses[0]
			asks("1")
			want.Resources, want.AllocatedResources = &pod.Spec.Containers[0].Resources, pod.Spec.Containers[0].Resources.Requests
			require.Equal(t, want, one(after(r, pod, runs...)))
		})
	}
}

// An init container that is gone, with regular ones there, must have ended well.
func TestInitContainerThatIsForgotten(t *testing.T) {
	in := input(newPod(withInit), running("c0"))
	r := podstatus.Compute(in)
	i := r.Status.InitContainerStatuses[0]
	require.Equal(t, &v1.ContainerStateTerminated{
		Reason:  "Completed",
		Message: "Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally",
	}, i.State.Terminated)
	require.True(t, i.Ready)
}

func TestStartFailureIsShown(t *testing.T) {
	crash := map[string]runtime.StartResult{"c0": {Reason: "CrashLoopBackOff", Message: "back-off 10s"}, "i0": {Reason: "CrashLoopBackOff"}}
	want := &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 10s"}

	in := input(newPod(), exited("c0", 3))
	in.StartFailures = crash
	c := one(in)
	require.Equal(t, want, c.State.Waiting)
	require.Equal(t, int32(3), c.LastTerminationState.Terminated.ExitCode)

	in = input(newPod())
	in.StartFailures = crash
	require.Equal(t, want, one(in).State.Waiting, "never started")

	in = input(newPod(policy(v1.RestartPolicyNever)), exited("c0", 3))
	in.StartFailures = crash
	require.NotNil(t, one(in).State.Terminated, "it will not be started again")

	in = input(newPod(), running("c0"))
	in.StartFailures = crash
	require.NotNil(t, one(in).State.Running, "the failure is of an earlier start")

	in = input(newPod(withInit), exited("i0", 0))
	in.StartFailures = crash
	r := podstatus.Compute(in)
	require.NotNil(t, r.Status.InitContainerStatuses[0].State.Terminated, "it is done")
}

func TestRestartCounts(t *testing.T) {
	pod := newPod()
	r := podstatus.Compute(input(pod, again(exited("c0", 1), "a", 4)))
	tests := []struct {
		name string
		next runtime.ContainerStatus
		want int32
	}{
		{"the runtime counts", again(running("c0"), "b", 5), 5},
		{"the runtime lost count", again(running("c0"), "b", 0), 5},
		{"the same instance", again(exited("c0", 1), "a", 0), 4},
		{"made, not started", again(created("c0"), "b", 0), 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, one(after(r, pod, tt.next)).RestartCount)
		})
	}
}

// While a rule restarts all containers, one that was removed waits for the
// others. It counts as restarted, and what ended it so does not make the pod fail.
func TestRestartOfAllContainers(t *testing.T) {
	pod := newPod(policy(v1.RestartPolicyNever), restartAllOn(42), withC1, withInit)
	r := podstatus.Compute(input(pod, running("c1"), running("c0"), exited("i0", 0)))
	require.Equal(t, "False", full(&r.Status, v1.AllContainersRestarting))

	in := after(r, pod, running("c1"), exited("c0", 42), exited("i0", 0))
	in.RestartAll = true
	r = podstatus.Compute(in)
	require.Equal(t, "True RestartAllContainersStarted container exited with restart policy rule", full(&r.Status, v1.AllContainersRestarting))

	for range 2 {
		in = after(r, pod, exited("c0", 42))
		in.RestartAll = true
		r = podstatus.Compute(in)
		require.Nil(t, r.Illegal)
		for _, name := range []string{"c1", "i0"} {
			c := statuses(&r.Status)[name]
			require.Equal(t, "RestartingAllContainers", c.State.Waiting.Reason, name)
			require.Equal(t, &v1.ContainerStateTerminated{ExitCode: 137, Reason: "RestartingAllContainers"}, c.LastTerminationState.Terminated, name)
			require.Equal(t, int32(1), c.RestartCount, name)
		}
		require.Equal(t, v1.PodRunning, r.Status.Phase)
		require.Equal(t, "True", full(&r.Status, v1.PodInitialized), "it stays initialised")
	}

	// The one that asked for it goes last; then all wait for their turn.
	for range 2 {
		r = podstatus.Compute(after(r, pod))
		require.Equal(t, "False", full(&r.Status, v1.AllContainersRestarting))
		require.Equal(t, v1.PodRunning, r.Status.Phase)
		for name, c := range statuses(&r.Status) {
			require.Equal(t, "RestartingAllContainers", c.State.Waiting.Reason, name)
			require.Equal(t, int32(1), c.RestartCount, name)
		}
	}

	r = podstatus.Compute(after(r, pod, again(running("c1"), "c1-1", 1), again(running("c0"), "c0-1", 1), again(exited("i0", 0), "i0-1", 1)))
	require.Equal(t, v1.PodRunning, r.Status.Phase)
	for name, c := range statuses(&r.Status) {
		require.Equal(t, int32(1), c.RestartCount, name)
	}
}

// difference: a container that ended for good can't be said to run: of that one,
// what was said before stays. The kubelet drops the whole status of the pod.
func TestIllegalTransitionIsRefused(t *testing.T) {
	tests := []struct {
		name  string
		pod   *v1.Pod
		code  int32
		legal bool
	}{
		{"Never", newPod(policy(v1.RestartPolicyNever), withC1), 1, false},
		{"OnFailure, exit 0", newPod(policy(v1.RestartPolicyOnFailure), withC1), 0, false},
		{"OnFailure, exit 1", newPod(policy(v1.RestartPolicyOnFailure), withC1), 1, true},
		{"Always", newPod(withC1), 0, true},
		{"a rule restarts all", newPod(policy(v1.RestartPolicyNever), withC1, restartAllOn(42)), 1, true},
		{"its own policy", newPod(policy(v1.RestartPolicyNever), withC1, func(p *v1.Pod) {
			p.Spec.Containers[0].RestartPolicy = new(v1.ContainerRestartPolicyAlways)
		}), 1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := podstatus.Compute(input(tt.pod, running("c1"), exited("c0", tt.code)))
			r := podstatus.Compute(after(before, tt.pod, running("c1"), again(running("c0"), "c0-1", 1)))
			if tt.legal {
				require.Nil(t, r.Illegal)
				require.Empty(t, before.Ended)
				return
			}
			require.Equal(t, []string{"c0"}, r.Illegal.Containers)
			require.ErrorContains(t, r.Illegal, "container c0")
			require.Equal(t, map[string]bool{"c0": true}, before.Ended)
			require.Equal(t, before.Ended, r.Ended)
			require.Equal(t, before.Status, r.Status)
			require.False(t, r.Changed)

			end := podstatus.Compute(after(r, tt.pod, exited("c1", 0), again(running("c0"), "c0-1", 1)))
			require.NotNil(t, statuses(&end.Status)["c1"].State.Terminated, "of the others all is said")
			require.True(t, end.Terminal)
		})
	}
}

// difference: old init statuses are found by name. In the kubelet, ones that are
// not in the order of the spec make every later status of the pod illegal.
func TestInitStatusesInAnotherOrder(t *testing.T) {
	pod := newPod(policy(v1.RestartPolicyNever), withInit, withSidecar)
	in := input(pod, running("c0"), running("s0"), exited("i0", 0))
	r := podstatus.Compute(in)
	slices.Reverse(r.Status.InitContainerStatuses)
	r = podstatus.Compute(after(r, pod, running("c0"), running("s0"), exited("i0", 0)))
	require.Nil(t, r.Illegal)
	require.Equal(t, "i0", r.Status.InitContainerStatuses[0].Name)
}

// The lists of a status are sorted by name, whatever the order of the spec.
func TestEndedNamesContainersInAnyOrder(t *testing.T) {
	pod := newPod(policy(v1.RestartPolicyNever), func(p *v1.Pod) {
		p.Spec.Containers = []v1.Container{{Name: "z", Image: "img"}, {Name: "a", Image: "img"}}
	})
	r := podstatus.Compute(input(pod, running("z"), exited("a", 1)))
	require.Equal(t, map[string]bool{"a": true}, r.Ended)
}
