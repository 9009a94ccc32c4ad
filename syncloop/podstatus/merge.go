package podstatus

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Merge makes the status to be written to an API server that has api, when the
// agent says next. Conditions that the kubelet does not own and the status of
// resource claims stay those of api. While mayRun, that is until every
// container of the pod was seen stopped, a terminal phase is held back, with
// its reason and message; held tells so, and Merge is to be called again once
// mayRun changes. Neither argument is written to.
func Merge(api, next *v1.PodStatus, mayRun bool, now time.Time) (merged v1.PodStatus, held bool) {
	merged = *next.DeepCopy()
	ends := Terminal(next.Phase) && !Terminal(api.Phase)
	held = ends && mayRun
	merged.Conditions = mergeConditions(api, next, ends && !mayRun, now)

	claims := api.DeepCopy()
	merged.ResourceClaimStatuses = claims.ResourceClaimStatuses
	merged.ExtendedResourceClaimStatus = claims.ExtendedResourceClaimStatus
	merged.NodeAllocatableResourceClaimStatuses = claims.NodeAllocatableResourceClaimStatuses

	if held {
		merged.Phase, merged.Reason, merged.Message = api.Phase, api.Reason, api.Message
	}
	if Terminal(merged.Phase) {
		unready(&merged)
	}
	return merged, held
}

// mergeConditions keeps the conditions of others and appends the kubelet's. The
// shared one, that the pod was disrupted, is only said in the write that ends
// the pod, and dates from it.
func mergeConditions(api, next *v1.PodStatus, ends bool, now time.Time) []v1.PodCondition {
	var merged []v1.PodCondition
	for _, c := range api.Conditions {
		if !owned(c.Type) {
			merged = append(merged, c)
		}
	}
	for _, c := range next.Conditions {
		switch {
		case owned(c.Type):
			merged = append(merged, c)
		case c.Type == v1.DisruptionTarget && ends:
			c.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
			merged = setCondition(merged, c)
		}
	}
	return merged
}
