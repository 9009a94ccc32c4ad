package podstatus

import (
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// IllegalTransition says that a container which had ended for good, by its
// restart policy and rules, would be said not to have ended. The kubelet drops
// such a status as a whole; it points at a runtime that invented a container.
type IllegalTransition struct {
	// Container is the first one that the transition is illegal for.
	Container string
	// Refused is the status that is not said because of it. It is not
	// normalised.
	Refused v1.PodStatus
}

// Error names the container.
func (e *IllegalTransition) Error() string {
	return "container " + e.Container + " ended for good and can't leave its terminated state"
}

// refuseIllegal looks for an illegal transition among the regular and plain init
// containers. If there is one, it goes back to the status that was said last.
func (b *builder) refuseIllegal() *IllegalTransition {
	for i := range b.ix {
		e := &b.ix[i]
		if e.kind != regular && e.kind != plainInit || e.old == nil || e.old.State.Terminated == nil {
			continue
		}
		if e.out.State.Terminated == nil && !mayRunAgain(b.in.Pod, e) {
			refused := b.status
			b.resume()
			return &IllegalTransition{Container: e.spec.Name, Refused: refused}
		}
	}
	return nil
}

// mayRunAgain tells whether a container that ended may be said not to have.
func mayRunAgain(pod *v1.Pod, e *entry) bool {
	switch pod.Spec.RestartPolicy {
	case v1.RestartPolicyNever, v1.RestartPolicyOnFailure:
	default:
		return true
	}
	return runtime.HasRestartAllRule(pod) ||
		runtime.RestartAfterExit(pod, e.spec, e.old.State.Terminated.ExitCode)
}
