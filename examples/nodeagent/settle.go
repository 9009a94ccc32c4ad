package main

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// settler tells when nothing more is to be expected of the pods: each is ready,
// finished, rejected, in crash-loop back-off after its third failure, or has
// been not ready for the timeout.
type settler struct {
	timeout time.Duration
	waiting map[string]time.Time // since when a pod is not ready, by UID
}

func newSettler(timeout time.Duration) *settler {
	return &settler{timeout: timeout, waiting: make(map[string]time.Time)}
}

// settled judges the pods as they stand at now.
func (s *settler) settled(pods []*v1.Pod, now time.Time) bool {
	all := true
	still := make(map[string]time.Time)
	for _, pod := range pods {
		if atRest(pod) {
			continue
		}
		since, ok := s.waiting[string(pod.UID)]
		if !ok {
			since = now
		}
		still[string(pod.UID)] = since
		if now.Sub(since) < s.timeout {
			all = false
		}
	}
	s.waiting = still
	return all
}

func atRest(pod *v1.Pod) bool {
	switch pod.Status.Phase {
	case v1.PodSucceeded, v1.PodFailed:
		return true
	}
	return conditionTrue(pod, v1.PodReady) || crashLooping(pod)
}

// crashLooping tells whether some container waits in back-off after it failed
// three times: the first restart is immediate, so the third failure comes with
// two restarts behind it.
func crashLooping(pod *v1.Pod) bool {
	for _, statuses := range [][]v1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, c := range statuses {
			if w := c.State.Waiting; w != nil && w.Reason == "CrashLoopBackOff" && c.RestartCount >= 2 {
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
