package main

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// steady is how long a pod must be ready to count as ready: one that crashes is
// ready for a moment each time.
const steady = time.Second

// puzzling is how long a pod may be not ready before a user is told who is waited for.
const puzzling = 5 * time.Second

// settler tells when nothing more is to be expected of the pods: each is ready,
// finished, rejected, in crash-loop back-off after its third failure, or has
// been not ready for the timeout.
type settler struct {
	timeout time.Duration
	// ready and waiting are since when a pod is, and is not ready, by UID.
	ready, waiting map[types.UID]time.Time
	// late are the pods that alone are waited for, once that is puzzling.
	late []string
}

func newSettler(timeout time.Duration) *settler { return &settler{timeout: timeout} }

// settled judges the pods as they stand at now.
func (s *settler) settled(pods []*v1.Pod, now time.Time) bool {
	all, others := true, true
	var late []string
	ready, waiting := make(map[types.UID]time.Time), make(map[types.UID]time.Time)
	// since notes that a pod is in a state and tells for how long.
	since := func(before, after map[types.UID]time.Time, uid types.UID) time.Duration {
		began, ok := before[uid]
		if !ok {
			began = now
		}
		after[uid] = began
		return now.Sub(began)
	}
	for _, pod := range pods {
		switch {
		case pod.Status.Phase == v1.PodSucceeded, pod.Status.Phase == v1.PodFailed, crashLooping(pod):
		case conditionTrue(pod, v1.PodReady):
			done := since(s.ready, ready, pod.UID) >= steady
			all, others = all && done, others && done
		default:
			switch waited := since(s.waiting, waiting, pod.UID); {
			case waited >= s.timeout:
			case waited >= puzzling:
				all, late = false, append(late, pod.Namespace+"/"+pod.Name)
			default:
				all, others = false, false
			}
		}
	}
	s.ready, s.waiting, s.late = ready, waiting, nil
	if others {
		s.late = late
	}
	return all
}

// crashLooping tells whether some container waits in back-off after it failed
// three times: the first restart is immediate, so the third failure comes with
// two restarts behind it.
func crashLooping(pod *v1.Pod) bool {
	for _, statuses := range [][]v1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, c := range statuses {
			if w := c.State.Waiting; w != nil && w.Reason == runtime.ReasonCrashLoopBackOff && c.RestartCount >= 2 {
				return true
			}
		}
	}
	return false
}

func conditionTrue(pod *v1.Pod, kind v1.PodConditionType) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}
