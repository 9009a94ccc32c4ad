package podstatus

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// Compute makes the status of a pod. It never panics, writes to nothing it is
// given and keeps nothing of it. Applied to its own result it changes nothing.
func Compute(in Input) Result { return Result{} }

// Terminate makes the last status of a pod, once its containers are stopped
// and its resources are released: what is not known to have ended is said to
// be lost, with exit code 137, and the phase becomes terminal. Of the input it
// uses Pod, API, Previous, Verdict and Now.
func Terminate(in Input) Result { return Result{} }

// Reject makes the status of a pod that was not admitted: Failed, with the
// reason and the message "Pod was rejected: " and what the verdict says. What
// else was said about the pod stays. Of the input it uses Pod, API, Previous
// and Now, and of the verdict's message the detail alone. The result's verdict
// is the one to remember.
func Reject(in Input, reason, detail string) Result { return Result{} }

// Deadline returns when the pod's active deadline passes, given its status;
// false where it has none or was never started.
func Deadline(pod *v1.Pod, status *v1.PodStatus) (time.Time, bool) { return time.Time{}, false }

// Terminal tells whether a phase is Succeeded or Failed.
func Terminal(phase v1.PodPhase) bool { return phase == v1.PodSucceeded || phase == v1.PodFailed }

// Equal tells whether two statuses say the same about what the kubelet owns:
// its conditions count by type, status, reason and message, in any order; those
// of others and the status of resource claims don't count, nor does nil differ
// from empty.
func Equal(a, b *v1.PodStatus) bool { return false }

// Merge makes the status to be written to an API server that has api, when the
// agent says next. Conditions that the kubelet does not own and the status of
// resource claims stay those of api. While mayRun, that is until every
// container of the pod was seen stopped, a terminal phase is held back, with
// its reason and message; held tells so, and Merge is to be called again once
// mayRun changes.
func Merge(api, next *v1.PodStatus, mayRun bool, now time.Time) (merged v1.PodStatus, held bool) {
	return v1.PodStatus{}, false
}

// QOS computes the quality of service class from the pod's spec.
func QOS(pod *v1.Pod) v1.PodQOSClass { return "" }
