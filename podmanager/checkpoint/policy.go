package checkpoint

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
)

// Annotation asks for a pod to be kept on disk, as in the kubelet 1.9 to 1.18. Its
// value must be "true", nothing else.
const Annotation = "node.kubernetes.io/bootstrap-checkpoint"

// Policy says which pods are kept on disk.
type Policy string

// The policies.
const (
	// Annotated keeps the pods that ask for it by their [Annotation]. It is the
	// default, and what the kubelet did.
	Annotated Policy = "annotated"
	// All keeps every pod.
	All Policy = "all"
	// None keeps no pod; what is remembered of pods is kept all the same.
	None Policy = "none"
)

// Validate tells whether this is a policy; the empty one is [Annotated].
func (p Policy) Validate() error {
	switch p {
	case "", Annotated, All, None:
		return nil
	}
	return fmt.Errorf("checkpoint policy %q: give annotated, all or none", string(p))
}

// Keeps tells whether the pod is kept on disk. Mirror pods never are: they are
// made anew from what they mirror.
func (p Policy) Keeps(pod *v1.Pod) bool {
	if podmanager.IsMirror(pod) {
		return false
	}
	switch p {
	case All:
		return true
	case None:
		return false
	default:
		return pod.Annotations[Annotation] == "true"
	}
}
