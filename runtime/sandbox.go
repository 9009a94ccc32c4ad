package runtime

import v1 "k8s.io/api/core/v1"

// SandboxChanged tells whether the pod needs a new sandbox: it has none, has more
// than one that is ready, or its newest is not ready, has another network mode
// or has lost its address. Attempt is the number of the sandbox to use or to make.
// ID is the newest sandbox, empty when there is none or its network mode differs.
//
// A sandbox whose first address is the empty string lost it; one with no addresses
// at all is of a backend that knows of none, and is fine.
func SandboxChanged(pod *v1.Pod, status *PodStatus) (changed bool, attempt uint32, id string) {
	return false, 0, ""
}
