package podstatus

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// IllegalTransition says that containers which had ended for good, by their
// restart policy and rules, would be said not to have ended. They stay ended in
// the status; it points at a runtime that invented an instance, or started one
// that it should not have. The kubelet drops such a status as a whole, so that
// the other containers of the pod are not heard of any more.
type IllegalTransition struct {
	// Containers are those that the transition is illegal for, in the order of
	// the spec.
	Containers []string
}

// Error names the containers.
func (e *IllegalTransition) Error() string {
	return "container " + strings.Join(e.Containers, ", ") + " ended for good and can't leave its terminated state"
}

// refuseIllegal takes back what can't be among the regular and plain init
// containers: of each one that had ended for good, what was said last stays.
func (b *builder) refuseIllegal() *IllegalTransition {
	var refused []string
	for i := range b.ix {
		e := &b.ix[i]
		if e.kind != regular && e.kind != plainInit || e.old == nil || e.old.State.Terminated == nil {
			continue
		}
		if e.out.State.Terminated == nil && !mayRunAgain(b.in.Pod, e) {
			*e.out = asItEnded(e)
			refused = append(refused, e.spec.Name)
		}
	}
	if refused == nil {
		return nil
	}
	return &IllegalTransition{Containers: refused}
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
