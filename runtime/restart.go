package runtime

import v1 "k8s.io/api/core/v1"

// IsSidecar tells whether a container, found among the init containers, is a
// sidecar: one that is not waited for and runs as long as the pod does.
func IsSidecar(container *v1.Container) bool {
	return container.RestartPolicy != nil && *container.RestartPolicy == v1.ContainerRestartPolicyAlways
}

// RestartAfterExit tells whether a container that ended with the exit code is to
// run again: the first of its rules that matches decides, then its own restart
// policy, then the pod's, where anything but OnFailure and Never means Always.
// Rules of a container without a policy of its own are not looked at.
func RestartAfterExit(pod *v1.Pod, container *v1.Container, exitCode int32) bool { return false }

// ShouldRestart tells whether the container, going by its newest instance, is to
// be started: yes if it has none, was made or lost, no if it runs, and
// [RestartAfterExit] if it ended. In a pod that is being deleted nothing is.
func ShouldRestart(pod *v1.Pod, container *v1.Container, status *PodStatus) bool { return false }

// IsRestartable tells whether the container may run again after some exit code
// or other. A rule for all containers of the pod does not count.
func IsRestartable(pod *v1.Pod, container *v1.Container) bool { return false }

// MatchingRule returns the first restart rule of the container that the exit code
// matches, or nil. A rule without exit codes matches none.
func MatchingRule(container *v1.Container, exitCode int32) *v1.ContainerRestartRule { return nil }

// TriggersRestartAll tells whether a container that ended with the exit code asks
// for all containers of its pod to be restarted.
func TriggersRestartAll(container *v1.Container, exitCode int32) bool { return false }

// HasRestartAllRule tells whether any container of the pod has a rule that
// restarts all of them.
func HasRestartAllRule(pod *v1.Pod) bool { return false }

// RestartAllTriggered tells whether the newest instance of any container of the
// pod ended so that all are to be restarted. The pod's condition
// AllContainersRestarting is not looked at: that one is set already is for the
// caller to know.
func RestartAllTriggered(pod *v1.Pod, status *PodStatus) bool { return false }
