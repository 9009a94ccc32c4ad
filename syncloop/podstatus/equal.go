package podstatus

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Equal tells whether two statuses say the same about what the kubelet owns:
// its conditions count by type, status, reason and message, in any order; those
// of others and the status of resource claims don't count, nor does nil differ
// from empty. Both are read only, and expected as Compute returns them.
func Equal(a, b *v1.PodStatus) bool {
	return equalConditions(a.Conditions, b.Conditions) &&
		equality.Semantic.DeepEqual(owns(a), owns(b))
}

// owns is a status without what Equal looks at by itself, or not at all. It shares
// memory with the original.
func owns(s *v1.PodStatus) *v1.PodStatus {
	c := *s
	c.Conditions = nil
	c.ResourceClaimStatuses = nil
	c.ExtendedResourceClaimStatus = nil
	c.NodeAllocatableResourceClaimStatuses = nil
	return &c
}

// counts tells whether Equal looks at conditions of a type.
func counts(t v1.PodConditionType) bool { return owned(t) || t == v1.DisruptionTarget }

func equalConditions(a, b []v1.PodCondition) bool {
	n := 0
	for i := range a {
		if !counts(a[i].Type) {
			continue
		}
		n++
		other := findCondition(b, a[i].Type)
		if other == nil || other.Status != a[i].Status || other.Reason != a[i].Reason || other.Message != a[i].Message {
			return false
		}
	}
	for i := range b {
		if counts(b[i].Type) {
			n--
		}
	}
	return n == 0
}
