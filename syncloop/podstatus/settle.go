package podstatus

import (
	"cmp"
	"slices"
	"time"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxMessages is how many bytes the termination messages of a pod may have in
// all. Each container has an equal share of it.
const maxMessages = 12288

// settle completes a new status with what it inherits from the one before, old,
// and brings it into the form in which it is said.
func settle(pod *v1.Pod, old, status *v1.PodStatus, now time.Time) {
	status.ObservedGeneration = max(pod.Generation, old.ObservedGeneration)
	if Terminal(status.Phase) {
		unready(status)
	}
	settleTransitions(old, status, now)
	normalise(pod, status)
}

// unready takes back that a pod which has ended is ready.
func unready(status *v1.PodStatus) {
	reason := reasonPodFailed
	if status.Phase == v1.PodSucceeded {
		reason = reasonPodCompleted
	}
	for _, t := range []v1.PodConditionType{v1.PodReady, v1.ContainersReady} {
		if c := findCondition(status.Conditions, t); c != nil && c.Status == v1.ConditionTrue {
			c.Status, c.Reason, c.Message = v1.ConditionFalse, reason, ""
		}
	}
}

// settleTransitions dates the conditions that the kubelet writes: as before
// while their status is, and now otherwise.
func settleTransitions(old, status *v1.PodStatus, now time.Time) {
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if !owned(c.Type) && c.Type != v1.DisruptionTarget || aboutResize(c.Type) {
			continue
		}
		was := findCondition(old.Conditions, c.Type)
		if was != nil && was.Status == c.Status {
			c.LastTransitionTime = was.LastTransitionTime
		} else {
			c.LastTransitionTime = metav1.NewTime(now)
		}
	}
}

// aboutResize tells whether a condition comes with its date: that of its reason.
func aboutResize(t v1.PodConditionType) bool {
	return t == v1.PodResizePending || t == v1.PodResizeInProgress
}

// normalise brings a status into the form that an API server gives back, so that
// two of them can be compared: whole seconds, short messages, sorted lists.
func normalise(pod *v1.Pod, status *v1.PodStatus) {
	wholeSeconds(status.StartTime)
	for i := range status.Conditions {
		wholeSeconds(&status.Conditions[i].LastProbeTime)
		wholeSeconds(&status.Conditions[i].LastTransitionTime)
	}

	spec := &pod.Spec
	containers := len(spec.InitContainers) + len(spec.Containers) + len(spec.EphemeralContainers)
	share := maxMessages / max(containers, 1)
	for _, list := range [][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses} {
		for i := range list {
			normaliseState(&list[i].State, share)
			normaliseState(&list[i].LastTerminationState, share)
		}
	}

	byName := func(a, b v1.ContainerStatus) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortStableFunc(status.ContainerStatuses, byName)
	slices.SortStableFunc(status.EphemeralContainerStatuses, byName)
	sortLike(spec.InitContainers, status.InitContainerStatuses)
}

// sortLike sorts statuses into the order of the containers; what belongs to none
// comes last. Those that were just computed are in that order already.
func sortLike(containers []v1.Container, statuses []v1.ContainerStatus) {
	same := func(s v1.ContainerStatus, c v1.Container) bool { return s.Name == c.Name }
	if slices.EqualFunc(statuses, containers, same) {
		return
	}
	place := make(map[string]int, len(containers))
	for i := range containers {
		place[containers[i].Name] = i - len(containers)
	}
	slices.SortStableFunc(statuses, func(a, b v1.ContainerStatus) int { return cmp.Compare(place[a.Name], place[b.Name]) })
}

func normaliseState(s *v1.ContainerState, share int) {
	if s.Running != nil {
		wholeSeconds(&s.Running.StartedAt)
	}
	if s.Terminated != nil {
		wholeSeconds(&s.Terminated.StartedAt)
		wholeSeconds(&s.Terminated.FinishedAt)
		s.Terminated.Message = truncate(s.Terminated.Message, share)
	}
}

// truncate cuts a text to a number of bytes, and not through a character.
func truncate(text string, size int) string {
	if len(text) <= size {
		return text
	}
	for size > 0 && !utf8.RuneStart(text[size]) {
		size--
	}
	return text[:size]
}

func wholeSeconds(t *metav1.Time) {
	if t != nil && !t.IsZero() {
		t.Time = t.Truncate(time.Second)
	}
}
