package resize

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reasons of the events about a resize.
const (
	ReasonStarted    = "ResizeStarted"
	ReasonCompleted  = "ResizeCompleted"
	ReasonDeferred   = "ResizeDeferred"
	ReasonInfeasible = "ResizeInfeasible"
	ReasonError      = "ResizeError"
)

// PendingCondition is what is said of a pod whose resize was not granted: why,
// and for which generation of its spec. before is the one that was said last,
// nil for none. It dates from when its reason became what it is. news tells
// whether users are to be told by an event.
func PendingCondition(v Verdict, pod *v1.Pod, before *v1.PodCondition, now time.Time) (c v1.PodCondition, news bool) {
	c = v1.PodCondition{
		Type: v1.PodResizePending, Status: v1.ConditionTrue,
		Reason: string(v.Outcome), Message: v.Message,
		ObservedGeneration: cmp.Or(pod, nobody).Generation,
		LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
	}
	if before != nil && before.Reason == c.Reason {
		c.LastTransitionTime = before.LastTransitionTime
	}
	news = before == nil || before.Reason != c.Reason || before.ObservedGeneration != c.ObservedGeneration
	return c, news
}

// InProgressCondition is what is said of a pod that was granted what the
// generation of its spec asks for, until its containers have it. A cause is why
// they could not be given it when that was tried last; nil is none.
func InProgressCondition(generation int64, cause error, before *v1.PodCondition, now time.Time) v1.PodCondition {
	c := v1.PodCondition{
		Type: v1.PodResizeInProgress, Status: v1.ConditionTrue,
		ObservedGeneration: generation,
		LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
	}
	if cause != nil {
		c.Reason, c.Message = v1.PodReasonError, cause.Error()
	}
	if before != nil && before.Reason == c.Reason && before.ObservedGeneration == generation {
		c.LastTransitionTime = before.LastTransitionTime
	}
	return c
}

// StartedMessage is the event's text when a pod was granted its resources.
func StartedMessage(pod *v1.Pod) string { return "Pod resize started: " + describe(pod, "") }

// CompletedMessage is the text when its containers have them.
func CompletedMessage(pod *v1.Pod) string { return "Pod resize completed: " + describe(pod, "") }

// ErrorMessage is the text when its containers could not be given them.
func ErrorMessage(pod *v1.Pod, cause error) string {
	failure := ""
	if cause != nil {
		failure = cause.Error()
	}
	return "Pod resize error: " + describe(pod, failure)
}

// RefusedEvent is the event, a warning, about a resize that was not granted. It
// has the reason of the check in its text.
func RefusedEvent(v Verdict, pod *v1.Pod) (reason, message string) {
	reason = ReasonDeferred
	if v.Outcome == Infeasible {
		reason = ReasonInfeasible
	}
	return reason, fmt.Sprintf("Pod resize %s: %s", v.Reason, describe(pod, v.Message))
}

// describe is the JSON that the kubelet's events have: the resources of each
// container, the generation of the spec, and what went wrong.
func describe(pod *v1.Pod, failure string) string {
	pod = cmp.Or(pod, nobody)
	type container struct {
		Name      string                  `json:"name"`
		Resources v1.ResourceRequirements `json:"resources"`
	}
	list := func(specs []v1.Container) (described []container) {
		for i := range specs {
			described = append(described, container{specs[i].Name, bare(specs[i].Resources)})
		}
		return described
	}
	text, err := json.Marshal(struct {
		InitContainers []container `json:"initContainers,omitempty"`
		Containers     []container `json:"containers,omitempty"`
		Generation     int64       `json:"generation"`
		Error          string      `json:"error,omitempty"`
	}{list(pod.Spec.InitContainers), list(pod.Spec.Containers), pod.Generation, failure})
	if err != nil {
		return "{}" // resources always have a JSON form
	}
	return string(text)
}
