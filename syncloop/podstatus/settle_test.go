package podstatus_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/internal/recordings"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

func transition(status *v1.PodStatus, t v1.PodConditionType) time.Time {
	for _, c := range status.Conditions {
		if c.Type == t {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// A condition is dated by the last change of its status, and the pod by the first
// thing that was said of it.
func TestTimesThatStay(t *testing.T) {
	pod := newPod()
	in := input(pod)
	in.Now = now.Add(300 * time.Millisecond)
	first := podstatus.Compute(in)
	require.Equal(t, now, first.Status.StartTime.Time, "whole seconds")

	in = after(first, pod, running("c0"))
	in.Now = now.Add(5 * time.Second)
	second := podstatus.Compute(in)
	require.Equal(t, now, second.Status.StartTime.Time)
	require.Equal(t, now, transition(&second.Status, v1.PodScheduled))
	require.Equal(t, now.Add(5*time.Second), transition(&second.Status, v1.PodReady))

	in = after(second, pod, running("c0"))
	in.Now = now.Add(time.Minute)
	third := podstatus.Compute(in)
	require.Equal(t, second.Status, third.Status)
	require.True(t, second.Changed)
	require.False(t, third.Changed)
}

// The start time of an earlier agent's life is taken from the API server.
func TestStartTimeOutlivesTheAgent(t *testing.T) {
	pod := newPod()
	pod.Status.StartTime = &metav1.Time{Time: now.Add(-time.Hour)}
	r := podstatus.Compute(input(pod))
	require.Equal(t, now.Add(-time.Hour), r.Status.StartTime.Time)
}

// A static pod is remembered by its mirror. One of an earlier life, whose
// containers are gone, has no say, and that it ended has none in any case.
func TestMirrorOfStaticPod(t *testing.T) {
	pod := newPod(policy(v1.RestartPolicyNever))
	mirror := podstatus.Compute(input(pod, again(exited("c0", 1), "before", 3))).Status
	mirror.StartTime = &metav1.Time{Time: now.Add(-time.Hour)}
	require.Equal(t, v1.PodFailed, mirror.Phase)

	in := input(pod)
	in.API = &mirror
	r := podstatus.Compute(in)
	require.Equal(t, v1.PodPending, r.Status.Phase)
	require.NotNil(t, r.Status.ContainerStatuses[0].State.Waiting)
	require.Equal(t, now, r.Status.StartTime.Time)

	in = input(pod, running("c0"))
	in.API = &mirror
	r = podstatus.Compute(in)
	require.Nil(t, r.Illegal)
	require.Equal(t, v1.PodRunning, r.Status.Phase)
	require.Zero(t, r.Status.ContainerStatuses[0].RestartCount)

	mirror.ContainerStatuses[0].ContainerID = "fake://c0"
	mirror.ContainerStatuses[0].State = v1.ContainerState{Running: &v1.ContainerStateRunning{}}
	r = podstatus.Compute(in)
	require.Equal(t, v1.PodRunning, r.Status.Phase)
	require.Equal(t, int32(3), r.Status.ContainerStatuses[0].RestartCount)
	require.Equal(t, now.Add(-time.Hour), r.Status.StartTime.Time)
}

func TestObservedGenerationDoesNotFall(t *testing.T) {
	pod := newPod()
	pod.Generation = 7
	r := podstatus.Compute(input(pod))
	require.Equal(t, int64(7), r.Status.ObservedGeneration)
	pod.Generation = 3
	require.Equal(t, int64(7), podstatus.Compute(after(r, pod)).Status.ObservedGeneration)
}

// All termination messages of a pod together have 12288 bytes; no character is
// cut in two.
func TestTerminationMessagesShareTheirRoom(t *testing.T) {
	pod := newPod(withC1, withInit)
	long := exited("c0", 1)
	long.Message = strings.Repeat("é", 4000)
	r := podstatus.Compute(input(pod, long, again(long, "before", 0)))
	c := r.Status.ContainerStatuses[0]
	for _, message := range []string{c.State.Terminated.Message, c.LastTerminationState.Terminated.Message} {
		require.Len(t, message, 12288/3)
		require.True(t, utf8.ValidString(message))
	}
	long.Message = "a" + long.Message
	require.Len(t, one(input(pod, long)).State.Terminated.Message, 12288/3-1)
}

func TestOrderOfContainerStatuses(t *testing.T) {
	pod := newPod(func(p *v1.Pod) {
		p.Spec.Containers = []v1.Container{{Name: "z"}, {Name: "a"}}
		p.Spec.InitContainers = []v1.Container{{Name: "y"}, {Name: "b"}}
		for _, name := range []string{"x", "c"} {
			p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, v1.EphemeralContainer{
				EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: name},
			})
		}
	})
	r := podstatus.Compute(input(pod))
	var order []string
	for _, list := range [][]v1.ContainerStatus{r.Status.ContainerStatuses, r.Status.InitContainerStatuses, r.Status.EphemeralContainerStatuses} {
		for _, c := range list {
			order = append(order, c.Name)
		}
	}
	require.Equal(t, []string{"a", "z", "y", "b", "c", "x"}, order)
}

func TestInputIsNotWrittenTo(t *testing.T) {
	pod := newPod(withInit, withSidecar, withC1)
	pod.Status.Conditions = []v1.PodCondition{{Type: "example.com/a"}, {Type: v1.DisruptionTarget}}
	r := podstatus.Compute(input(pod, running("c0"), exited("c1", 0)))
	in := after(r, pod, again(running("c0"), "c0-1", 1))
	in.Verdict = &podstatus.Verdict{Reason: "Evicted", Disruption: "low"}
	before := recordings.JSON(in)
	podstatus.Compute(in)
	podstatus.Terminate(in)
	podstatus.Reject(in, "r", "d")
	podstatus.Merge(&pod.Status, &r.Status, false, now)
	require.Equal(t, before, recordings.JSON(in))
}

func TestEqual(t *testing.T) {
	r := podstatus.Compute(input(newPod(), running("c0")))
	status := &r.Status
	edit := func(change func(*v1.PodStatus)) *v1.PodStatus {
		s := status.DeepCopy()
		change(s)
		return s
	}
	same := map[string]func(*v1.PodStatus){
		"a copy":                  func(*v1.PodStatus) {},
		"conditions of others":    func(s *v1.PodStatus) { s.Conditions = append(s.Conditions, v1.PodCondition{Type: "example.com/a"}) },
		"transition times":        func(s *v1.PodStatus) { s.Conditions[0].LastTransitionTime = metav1.Time{} },
		"generation of condition": func(s *v1.PodStatus) { s.Conditions[0].ObservedGeneration = 99 },
		"order of conditions": func(s *v1.PodStatus) {
			s.Conditions[0], s.Conditions[1] = s.Conditions[1], s.Conditions[0]
		},
		"resource claims": func(s *v1.PodStatus) { s.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "c"}} },
		"empty, not nil":  func(s *v1.PodStatus) { s.InitContainerStatuses = []v1.ContainerStatus{} },
	}
	for name, change := range same {
		require.True(t, podstatus.Equal(status, edit(change)), name)
		require.True(t, podstatus.Equal(edit(change), status), name)
	}
	differ := map[string]func(*v1.PodStatus){
		"phase":             func(s *v1.PodStatus) { s.Phase = v1.PodFailed },
		"condition status":  func(s *v1.PodStatus) { s.Conditions[0].Status = v1.ConditionUnknown },
		"condition message": func(s *v1.PodStatus) { s.Conditions[0].Message = "m" },
		"condition missing": func(s *v1.PodStatus) { s.Conditions = s.Conditions[1:] },
		"disruption":        func(s *v1.PodStatus) { s.Conditions = append(s.Conditions, v1.PodCondition{Type: v1.DisruptionTarget}) },
		"restart count":     func(s *v1.PodStatus) { s.ContainerStatuses[0].RestartCount++ },
		"pod IP":            func(s *v1.PodStatus) { s.PodIPs = nil },
	}
	for name, change := range differ {
		require.False(t, podstatus.Equal(status, edit(change)), name)
		require.False(t, podstatus.Equal(edit(change), status), name)
	}
}
