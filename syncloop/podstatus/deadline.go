package podstatus

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// What is said of a pod that outlived its active deadline.
const (
	ReasonDeadlineExceeded  = "DeadlineExceeded"
	messageDeadlineExceeded = "Pod was active on the node longer than the specified deadline"
)

// Deadline returns when the pod's active deadline passes, given its status. It
// counts from the start time, the first time that anything was said of the pod.
// False stands for a pod without a deadline, or of which nothing was said yet.
func Deadline(pod *v1.Pod, status *v1.PodStatus) (time.Time, bool) {
	seconds := pod.Spec.ActiveDeadlineSeconds
	if seconds == nil || status.StartTime == nil {
		return time.Time{}, false
	}
	return status.StartTime.Add(time.Duration(min(*seconds, maxSeconds)) * time.Second), true
}

// maxSeconds is the longest duration in seconds that does not overflow.
const maxSeconds = int64(1<<63-1) / int64(time.Second)

// checkDeadline passes the verdict on a pod that outlived its deadline and has
// not ended by itself. The event comes once, with the verdict.
func (b *builder) checkDeadline() {
	if b.verdict != nil || Terminal(b.status.Phase) {
		return
	}
	deadline, ok := Deadline(b.in.Pod, &b.status)
	if !ok || b.in.Now.Before(deadline) {
		return
	}
	b.verdict = &Verdict{Reason: ReasonDeadlineExceeded, Message: messageDeadlineExceeded}
	b.events = append(b.events, runtime.Event{
		Type:    v1.EventTypeNormal,
		Reason:  ReasonDeadlineExceeded,
		Message: messageDeadlineExceeded,
	})
}
