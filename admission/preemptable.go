package admission

import v1 "k8s.io/api/core/v1"

// nodeCriticalClass is the priority class of pods that the node itself needs.
const nodeCriticalClass = "system-node-critical"

// IsNodeCritical tells whether a critical pod is of the priority class
// system-node-critical.
func IsNodeCritical(pod *v1.Pod) bool {
	return IsCritical(pod) && pod.Spec.PriorityClassName == nodeCriticalClass
}

// Preemptable tells whether a pod may take the place of another one: it is
// critical and the other is not, or both have a priority and its own is higher.
// A static pod without a priority takes the place of no other critical pod and
// gives way to none.
func Preemptable(preemptor, pod *v1.Pod) bool {
	return preemptable(preemptor, pod, IsCritical(preemptor), IsCritical(pod))
}

func preemptable(preemptor, pod *v1.Pod, critical, otherCritical bool) bool {
	if critical && !otherCritical {
		return true
	}
	mine, other := preemptor.Spec.Priority, pod.Spec.Priority
	return mine != nil && other != nil && *mine > *other
}
