package podstatus_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// TestVerdictStays: kubernetes/kubernetes#120182, #137992, #141483. A pod that was
// evicted stays Failed with its reason, also if its containers exit with 0 as they
// are stopped. difference: a verdict is kept.
func TestVerdictStays(t *testing.T) {
	pod := newPod(policy(v1.RestartPolicyNever))
	verdict := &podstatus.Verdict{Reason: "Evicted", Message: "low on memory", Disruption: "low on memory"}
	r := podstatus.Compute(input(pod, running("c0")))
	for _, c := range []runtime.ContainerStatus{running("c0"), exited("c0", 0)} {
		for _, stopped := range []bool{false, true} {
			in := after(r, pod, c)
			in.Verdict, in.Stopped = verdict, stopped
			r = podstatus.Compute(in)
			require.True(t, r.Terminal)
			require.Equal(t, v1.PodFailed, r.Status.Phase)
			require.Equal(t, "Evicted", r.Status.Reason)
			require.Equal(t, "low on memory", r.Status.Message)
			require.Equal(t, "True TerminationByKubelet low on memory", full(&r.Status, v1.DisruptionTarget))
			require.Equal(t, "False PodFailed", full(&r.Status, v1.PodReady))
		}
	}
	require.NotNil(t, r.Status.ContainerStatuses[0].State.Terminated, "what the containers did is said all the same")

	in := input(pod)
	in.Previous, in.Verdict = &r.Status, verdict
	r = podstatus.Terminate(in)
	require.Equal(t, "Evicted", r.Status.Reason)
}

// A verdict holds where a status is refused, and comes too late for a success.
func TestVerdictAtTheEdges(t *testing.T) {
	pod := newPod(policy(v1.RestartPolicyNever), withC1)
	verdict := &podstatus.Verdict{Reason: "Evicted", Message: "low on memory"}
	r := podstatus.Compute(input(pod, running("c1"), exited("c0", 0)))
	in := after(r, pod, running("c1"), again(running("c0"), "c0-1", 1))
	in.Verdict = verdict
	refused := podstatus.Compute(in)
	require.NotNil(t, refused.Illegal)
	require.Equal(t, v1.PodFailed, refused.Status.Phase)
	require.Equal(t, "Evicted", refused.Status.Reason)

	r = podstatus.Compute(after(r, pod, exited("c1", 0), exited("c0", 0)))
	require.Equal(t, v1.PodSucceeded, r.Status.Phase)
	in = after(r, pod, exited("c1", 0), exited("c0", 0))
	in.Verdict = verdict
	r = podstatus.Compute(in)
	require.Equal(t, v1.PodSucceeded, r.Status.Phase)
	require.Empty(t, r.Status.Reason)
}

// difference: the deadline is judged until the pod ends, and said once. The
// kubelet sends the event with each status, and puts the reason on pods that had
// succeeded in time.
func TestDeadline(t *testing.T) {
	pod := newPod(policy(v1.RestartPolicyNever))
	pod.Spec.ActiveDeadlineSeconds = new(int64(30))
	r := podstatus.Compute(input(pod, running("c0")))
	due, ok := podstatus.Deadline(pod, &r.Status)
	require.True(t, ok)
	require.Equal(t, now.Add(30*time.Second), due)

	in := after(r, pod, running("c0"))
	in.Now = due.Add(-time.Nanosecond)
	require.Nil(t, podstatus.Compute(in).Verdict)

	in.Now = due
	late := podstatus.Compute(in)
	const message = "Pod was active on the node longer than the specified deadline"
	require.Equal(t, &podstatus.Verdict{Reason: "DeadlineExceeded", Message: message}, late.Verdict)
	require.Equal(t, []runtime.Event{{Type: "Normal", Reason: "DeadlineExceeded", Message: message}}, late.Events)
	require.Equal(t, v1.PodFailed, late.Status.Phase)
	require.Equal(t, "DeadlineExceeded", late.Status.Reason)
	require.Equal(t, message, late.Status.Message)
	require.Empty(t, full(&late.Status, v1.DisruptionTarget))

	in = after(late, pod, exited("c0", 0))
	in.Now, in.Stopped = due.Add(time.Second), true
	stopped := podstatus.Compute(in)
	require.Empty(t, stopped.Events)
	require.Equal(t, "DeadlineExceeded", stopped.Status.Reason)

	in = after(r, pod, exited("c0", 0))
	in.Now = due.Add(time.Hour)
	done := podstatus.Compute(in)
	require.Equal(t, v1.PodSucceeded, done.Status.Phase, "it ended by itself before anyone looked")
	require.Nil(t, done.Verdict)
	require.Empty(t, done.Status.Reason)
}

func TestDeadlineOfPodWithoutOne(t *testing.T) {
	pod := newPod()
	_, ok := podstatus.Deadline(pod, &v1.PodStatus{StartTime: &metav1.Time{Time: now}})
	require.False(t, ok)
	pod.Spec.ActiveDeadlineSeconds = new(int64(1) << 62)
	_, ok = podstatus.Deadline(pod, &v1.PodStatus{})
	require.False(t, ok, "it has not started")
	due, ok := podstatus.Deadline(pod, &v1.PodStatus{StartTime: &metav1.Time{Time: now}})
	require.True(t, ok)
	require.True(t, due.After(now), "no overflow")
}

// difference: a rejected pod keeps what else was said of it. The kubelet drops
// its conditions, addresses and container statuses.
func TestReject(t *testing.T) {
	pod := newPod()
	fresh := podstatus.Reject(podstatus.Input{Pod: pod, Now: now}, "OutOfcpu", "Node didn't have enough resource: cpu")
	require.Equal(t, v1.PodStatus{
		Phase:              v1.PodFailed,
		Reason:             "OutOfcpu",
		Message:            "Pod was rejected: Node didn't have enough resource: cpu",
		QOSClass:           v1.PodQOSBestEffort,
		StartTime:          &metav1.Time{Time: now},
		ObservedGeneration: 1,
	}, fresh.Status)
	require.True(t, fresh.Terminal)
	require.True(t, fresh.Changed)

	ran := podstatus.Compute(input(pod, running("c0")))
	r := podstatus.Reject(after(ran, pod), "NodeAffinity", "no match")
	require.Equal(t, ran.Status.ContainerStatuses, r.Status.ContainerStatuses)
	require.Equal(t, "10.1.2.3", r.Status.PodIP)
	require.Equal(t, "True", full(&r.Status, v1.PodScheduled))
	require.Equal(t, "False PodFailed", full(&r.Status, v1.PodReady))
	require.Equal(t, "False PodFailed", full(&r.Status, v1.ContainersReady))

	later := podstatus.Compute(after(r, pod, exited("c0", 0)))
	require.Equal(t, "NodeAffinity", later.Status.Reason)
	require.Equal(t, "Pod was rejected: no match", later.Status.Message)
}
