package runtime

import v1 "k8s.io/api/core/v1"

// resets lists the instances to remove for a restart of all containers: regular
// ones and then init containers, those whose exit asks for it last. Ephemeral
// containers stay.
func resets(pod *v1.Pod, status *PodStatus) []Reset {
	var others, triggers []Reset
	add := func(containers []v1.Container) {
		for i := range containers {
			for j := range status.Containers {
				c := &status.Containers[j]
				if c.Name != containers[i].Name {
					continue
				}
				reset := Reset{Name: c.Name, ID: c.ID, Kill: c.State != StateExited}
				if c.State == StateExited && TriggersRestartAll(&containers[i], c.ExitCode) {
					triggers = append(triggers, reset)
				} else {
					others = append(others, reset)
				}
			}
		}
	}
	add(pod.Spec.Containers)
	add(pod.Spec.InitContainers)
	return append(others, triggers...)
}

// superfluous lists the dead instances that no one needs: those that a newer one
// of the same name has taken the place of, save the newest that ended, which tells
// the last state. For a pod that gets a new sandbox it is every init container, so
// that none passes for one of the new sandbox.
func superfluous(pod *v1.Pod, status *PodStatus, newSandbox bool) []string {
	var ids []string
	for i := range status.Containers {
		c := &status.Containers[i]
		newer := &PodStatus{Containers: status.Containers[:i]}
		if newSandbox && isInit(pod, c.Name) || !c.mayRun() && replaced(c, newer) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

func replaced(c *ContainerStatus, newer *PodStatus) bool {
	if c.State == StateExited {
		_, ended := lastEnd(newer, c.Name, nil)
		return ended
	}
	return newer.Container(c.Name) != nil
}

func isInit(pod *v1.Pod, name string) bool {
	for i := range pod.Spec.InitContainers {
		if pod.Spec.InitContainers[i].Name == name {
			return true
		}
	}
	return false
}

// emptySandboxes lists the dead sandboxes but the newest that hold no container
// once the removed ones are gone. Where the sandbox of a container is not known,
// any may hold it, and none is listed.
func emptySandboxes(status *PodStatus, removed []string) []string {
	if len(status.Sandboxes) < 2 {
		return nil
	}
	gone := make(map[string]bool, len(removed))
	for _, id := range removed {
		gone[id] = true
	}
	used := make(map[string]bool)
	for i := range status.Containers {
		if c := &status.Containers[i]; !gone[c.ID] {
			used[c.SandboxID] = true
		}
	}
	if used[""] {
		return nil
	}
	var ids []string
	for _, s := range status.Sandboxes[1:] {
		if !s.Ready && !used[s.ID] {
			ids = append(ids, s.ID)
		}
	}
	return ids
}
