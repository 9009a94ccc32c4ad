package runtime

import (
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// IsSidecar tells whether a container, found among the init containers, is a
// sidecar: one that is not waited for and runs as long as the pod does.
func IsSidecar(container *v1.Container) bool {
	return container.RestartPolicy != nil && *container.RestartPolicy == v1.ContainerRestartPolicyAlways
}

// RestartAfterExit tells whether a container that ended with the exit code is to
// run again: the first of its rules that matches decides, then its own restart
// policy, then the pod's, where anything but OnFailure and Never means Always.
// Rules of a container without a policy of its own are not looked at.
func RestartAfterExit(pod *v1.Pod, container *v1.Container, exitCode int32) bool {
	if rule := MatchingRule(container, exitCode); rule != nil {
		switch rule.Action {
		case v1.ContainerRestartRuleActionRestart, v1.ContainerRestartRuleActionRestartAllContainers:
			return true
		}
	}
	switch effectivePolicy(pod, container) {
	case v1.RestartPolicyNever:
		return false
	case v1.RestartPolicyOnFailure:
		return exitCode != 0
	}
	return true
}

// ShouldRestart tells whether the container, going by its newest instance, is to
// be started: yes if it has none, was made or lost, no if it runs, and
// [RestartAfterExit] if it ended. In a pod that is being deleted nothing is.
func ShouldRestart(pod *v1.Pod, container *v1.Container, status *PodStatus) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	newest := status.Container(container.Name)
	switch {
	case newest == nil:
		return true
	case newest.State == StateRunning:
		return false
	case newest.State == StateExited:
		return RestartAfterExit(pod, container, newest.ExitCode)
	}
	return true
}

// IsRestartable tells whether the container may run again after some exit code
// or other. A rule for all containers of the pod does not count.
func IsRestartable(pod *v1.Pod, container *v1.Container) bool {
	if container.RestartPolicy != nil && hasRule(container, v1.ContainerRestartRuleActionRestart) {
		return true
	}
	return effectivePolicy(pod, container) != v1.RestartPolicyNever
}

// MatchingRule returns the first restart rule of the container that the exit code
// matches, or nil. A rule without exit codes matches none, and those of a container
// without a restart policy of its own don't count.
func MatchingRule(container *v1.Container, exitCode int32) *v1.ContainerRestartRule {
	if container.RestartPolicy == nil {
		return nil
	}
	for i := range container.RestartPolicyRules {
		rule := &container.RestartPolicyRules[i]
		if rule.ExitCodes == nil {
			continue
		}
		listed := slices.Contains(rule.ExitCodes.Values, exitCode)
		switch rule.ExitCodes.Operator {
		case v1.ContainerRestartRuleOnExitCodesOpIn:
			if listed {
				return rule
			}
		case v1.ContainerRestartRuleOnExitCodesOpNotIn:
			if !listed {
				return rule
			}
		}
	}
	return nil
}

// TriggersRestartAll tells whether a container that ended with the exit code asks
// for all containers of its pod to be restarted.
func TriggersRestartAll(container *v1.Container, exitCode int32) bool {
	rule := MatchingRule(container, exitCode)
	return rule != nil && rule.Action == v1.ContainerRestartRuleActionRestartAllContainers
}

// HasRestartAllRule tells whether any container of the pod has a rule that
// restarts all of them.
func HasRestartAllRule(pod *v1.Pod) bool {
	for c := range eachContainer(pod) {
		if hasRule(c, v1.ContainerRestartRuleActionRestartAllContainers) {
			return true
		}
	}
	return false
}

// RestartAllTriggered tells whether the newest instance of any container of the
// pod ended so that all are to be restarted. The pod's condition
// AllContainersRestarting is not looked at: that one is set already is for the
// caller to know.
func RestartAllTriggered(pod *v1.Pod, status *PodStatus) bool {
	for c := range eachContainer(pod) {
		newest := status.Container(c.Name)
		if newest != nil && newest.State == StateExited && TriggersRestartAll(c, newest.ExitCode) {
			return true
		}
	}
	return false
}

// effectivePolicy is the container's own restart policy, or else the pod's.
func effectivePolicy(pod *v1.Pod, container *v1.Container) v1.RestartPolicy {
	if container.RestartPolicy != nil {
		return v1.RestartPolicy(*container.RestartPolicy)
	}
	return pod.Spec.RestartPolicy
}

func hasRule(container *v1.Container, action v1.ContainerRestartRuleAction) bool {
	return slices.ContainsFunc(container.RestartPolicyRules, func(r v1.ContainerRestartRule) bool {
		return r.Action == action
	})
}

// eachContainer yields the init containers of the pod, then the regular ones.
func eachContainer(pod *v1.Pod) iter.Seq[*v1.Container] {
	return func(yield func(*v1.Container) bool) {
		for i := range pod.Spec.InitContainers {
			if !yield(&pod.Spec.InitContainers[i]) {
				return
			}
		}
		for i := range pod.Spec.Containers {
			if !yield(&pod.Spec.Containers[i]) {
				return
			}
		}
	}
}
