package admission

import (
	"cmp"

	v1 "k8s.io/api/core/v1"
)

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
	return rankOf(preemptor, nil).over(rankOf(pod, nil))
}

// rank is what decides who gives way.
type rank struct {
	critical bool
	// ranked: it has a priority.
	ranked   bool
	priority int32
}

// rankOf goes by the rule for critical pods; nil is [IsCritical].
func rankOf(pod *v1.Pod, critical func(*v1.Pod) bool) rank {
	if critical == nil {
		critical = IsCritical
	}
	r := rank{critical: critical(pod)}
	if p := cmp.Or(pod, nobody).Spec.Priority; p != nil {
		r.ranked, r.priority = true, *p
	}
	return r
}

func (r rank) over(other rank) bool {
	return r.critical && !other.critical || r.ranked && other.ranked && r.priority > other.priority
}
