package podstatus

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// Terminate makes the last status of a pod, once its containers are stopped
// and its resources are released: what is not known to have ended is said to
// be lost, with exit code 137, and the phase becomes terminal. Containers that
// never had their turn stay as they are. Of the input it uses Pod, API,
// Previous, Verdict and Now.
func Terminate(in Input) Result {
	var b builder
	b.begin(in)
	b.resume()
	loseInits(&b.status)
	if initialized(in.Pod, b.old) {
		loseAll(b.status.ContainerStatuses)
	}
	if !Terminal(b.status.Phase) {
		b.status.Phase = v1.PodFailed
	}
	return b.finish()
}

// loseInits marks the init containers that had their turn: all but those at the
// end of the list that wait and never ended. The first one always had it.
func loseInits(status *v1.PodStatus) {
	list := status.InitContainerStatuses
	for len(list) > 1 && neverRan(&list[len(list)-1]) {
		list = list[:len(list)-1]
	}
	loseAll(list)
}

func neverRan(s *v1.ContainerStatus) bool {
	return s.State.Waiting != nil && s.LastTerminationState.Terminated == nil
}

// loseAll marks the containers that were not seen to end.
func loseAll(list []v1.ContainerStatus) {
	for i := range list {
		if list[i].State.Terminated == nil {
			list[i].State = v1.ContainerState{Terminated: lost(messageLost)}
		}
	}
}

// initialized tells, from a status, whether the init containers of the pod were
// through, so that its regular ones had their turn.
func initialized(pod *v1.Pod, status *v1.PodStatus) bool {
	inits := pod.Spec.InitContainers
	if len(inits) == 0 {
		return true
	}
	if slices.ContainsFunc(status.ContainerStatuses, func(s v1.ContainerStatus) bool { return !neverRan(&s) }) {
		return true
	}
	last := &inits[len(inits)-1]
	i := slices.IndexFunc(status.InitContainerStatuses, func(s v1.ContainerStatus) bool { return s.Name == last.Name })
	if i < 0 {
		return false
	}
	s := &status.InitContainerStatuses[i]
	if runtime.IsSidecar(last) {
		return s.State.Running != nil && s.Started != nil && *s.Started
	}
	end := lastEnd(s)
	return end != nil && end.ExitCode == 0
}

// Reject makes the status of a pod that was not admitted: Failed, with the
// reason and the message "Pod was rejected: " and the detail. What else was
// said of the pod stays. Of the input it uses Pod, API, Previous and Now. The
// result bears the verdict to remember.
func Reject(in Input, reason, detail string) Result {
	in.Verdict = &Verdict{Reason: reason, Message: "Pod was rejected: " + detail}
	var b builder
	b.begin(in)
	b.resume()
	return b.finish()
}
