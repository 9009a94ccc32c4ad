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
	if status == nil || len(status.Sandboxes) == 0 {
		return true, 0, ""
	}
	newest := &status.Sandboxes[0]
	switch {
	case !newest.Ready, readySandboxes(status) > 1:
		return true, newest.Attempt + 1, newest.ID
	case newest.HostNetwork != pod.Spec.HostNetwork:
		return true, newest.Attempt + 1, ""
	case !newest.HostNetwork && len(newest.IPs) > 0 && newest.IPs[0] == "":
		return true, newest.Attempt + 1, newest.ID
	}
	return false, newest.Attempt, newest.ID
}

// SandboxLost tells whether the pod needs a new sandbox and gets none: its restart
// policy is Never, and a container of it was made in the one before. What did not
// begin in that one never will.
func SandboxLost(pod *v1.Pod, status *PodStatus) bool {
	changed, attempt, _ := SandboxChanged(pod, status)
	return changed && attempt != 0 && pod.Spec.RestartPolicy == v1.RestartPolicyNever && len(status.Containers) > 0
}

func readySandboxes(status *PodStatus) int {
	n := 0
	for i := range status.Sandboxes {
		if status.Sandboxes[i].Ready {
			n++
		}
	}
	return n
}
