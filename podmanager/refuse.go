package podmanager

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// firstOfEach drops from a list the pods that can't be taken, and all but the
// first of each full name and each UID. It says so in events.
func (c *merge) firstOfEach(pods []*v1.Pod) []*v1.Pod {
	list := make([]*v1.Pod, 0, len(pods))
	had := newIdentities(len(pods))
	for _, pod := range pods {
		if !c.usable(pod) {
			continue
		}
		if twice := had.add(pod); twice != "" {
			c.refuse(pod, twice)
			continue
		}
		list = append(list, pod)
	}
	return list
}

// lastOfEach drops from deltas the pods that can't be taken, and what a later
// delta of the same full name or UID makes out of date.
func (c *merge) lastOfEach(pods []*v1.Pod) []*v1.Pod {
	list := make([]*v1.Pod, 0, len(pods))
	had := newIdentities(len(pods))
	for _, pod := range slices.Backward(pods) {
		if c.usable(pod) && had.add(pod) == "" {
			list = append(list, pod)
		}
	}
	slices.Reverse(list)
	return list
}

// usable tells whether a pod is one at all.
func (c *merge) usable(pod *v1.Pod) bool {
	if pod == nil {
		return false
	}
	if pod.UID == "" {
		c.refuse(pod, "missing pod UID")
		return false
	}
	return true
}

// refuse records that a pod is not taken, in the kubelet's words.
func (c *merge) refuse(pod *v1.Pod, why string) {
	c.events = append(c.events, Event{
		Pod:    pod,
		Type:   v1.EventTypeWarning,
		Reason: ReasonFailedValidation,
		Message: fmt.Sprintf("Error validating pod %s(%s) from %s due to %s, ignoring",
			FullName(pod), pod.UID, c.name, why),
	})
}

// identities are the full names and UIDs that a list has had so far.
type identities struct {
	names map[string]struct{}
	uids  map[types.UID]struct{}
}

func newIdentities(size int) identities {
	return identities{make(map[string]struct{}, size), make(map[types.UID]struct{}, size)}
}

// add takes a pod in, or says what another one has in common with it.
func (h identities) add(pod *v1.Pod) (twice string) {
	name := FullName(pod)
	if _, ok := h.names[name]; ok {
		return fmt.Sprintf("duplicate pod name %q", pod.Name)
	}
	if _, ok := h.uids[pod.UID]; ok {
		return fmt.Sprintf("duplicate pod UID %q", pod.UID)
	}
	h.names[name] = struct{}{}
	h.uids[pod.UID] = struct{}{}
	return ""
}
