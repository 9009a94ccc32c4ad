package podstatus

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// Reasons and messages of container states that nobody observed.
const (
	reasonCreating      = "ContainerCreating"
	reasonInitializing  = "PodInitializing"
	reasonUnknown       = "ContainerStatusUnknown"
	reasonRestartingAll = "RestartingAllContainers"
	reasonCompleted     = "Completed"

	messageLost      = "The container could not be located when the pod was terminated"
	messageVanished  = "The container could not be located when the pod was deleted.  The container used to be Running"
	messageForgotten = "Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally"

	// lostExitCode stands for the one that nobody saw: that of SIGKILL.
	lostExitCode = 137
)

// containerStatuses fills the three lists of the status, in the order of the
// spec, and gives each entry its place in them.
func (b *builder) containerStatuses() {
	spec := &b.in.Pod.Spec
	b.status.InitContainerStatuses = makeStatuses(len(spec.InitContainers))
	b.status.ContainerStatuses = makeStatuses(len(spec.Containers))
	b.status.EphemeralContainerStatuses = makeStatuses(len(spec.EphemeralContainers))

	var inits, regulars, ephemerals int
	for i := range b.ix {
		e := &b.ix[i]
		switch e.kind {
		case regular:
			e.out = &b.status.ContainerStatuses[regulars]
			regulars++
		case ephemeral:
			e.out = &b.status.EphemeralContainerStatuses[ephemerals]
			ephemerals++
		default:
			e.out = &b.status.InitContainerStatuses[inits]
			inits++
		}
		*e.out = b.containerStatus(e)
		b.applyStartFailure(e)
	}
}

// makeStatuses makes a list that stays nil where there is nothing to list.
func makeStatuses(n int) []v1.ContainerStatus {
	if n == 0 {
		return nil
	}
	return make([]v1.ContainerStatus, n)
}

func (b *builder) containerStatus(e *entry) v1.ContainerStatus {
	if e.newest == nil {
		return b.absentStatus(e)
	}
	status := b.observedStatus(e.newest)
	status.Resources = resourcesNow(e)
	status.AllocatedResources = e.spec.Resources.Requests.DeepCopy()
	unknownAsBefore := false
	if e.old != nil {
		carryOver(&status, e.old, e.newest.State)
		unknownAsBefore = e.newest.State == runtime.StateUnknown && e.old.ContainerID == status.ContainerID
	}
	if e.previous != nil && e.previous.State == runtime.StateExited && !unknownAsBefore {
		status.LastTerminationState.Terminated = b.terminated(e.previous)
	}
	return status
}

// resourcesNow are the resources that a container has: what the runtime says of cpu
// and memory while it runs, and otherwise what the spec says.
func resourcesNow(e *entry) *v1.ResourceRequirements {
	r := e.spec.Resources.DeepCopy()
	if e.newest.State == runtime.StateRunning && e.newest.Resources != nil {
		overlay(&r.Requests, e.newest.Resources.Requests)
		overlay(&r.Limits, e.newest.Resources.Limits)
	}
	return r
}

// overlay puts the cpu and memory of one list in the place of those of another.
func overlay(list *v1.ResourceList, now v1.ResourceList) {
	for _, name := range [...]v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		q, has := now[name]
		if !has {
			delete(*list, name)
			continue
		}
		if was, ok := (*list)[name]; ok && was.Cmp(q) == 0 {
			continue // in the notation of the spec
		}
		if *list == nil {
			*list = v1.ResourceList{}
		}
		(*list)[name] = q
	}
}

// observedStatus is what one instance says by itself.
func (b *builder) observedStatus(c *runtime.ContainerStatus) v1.ContainerStatus {
	status := v1.ContainerStatus{
		Name:         c.Name,
		ContainerID:  b.containerID(c.ID),
		Image:        c.Image,
		ImageID:      c.ImageRef,
		RestartCount: max(c.RestartCount, 0),
	}
	switch c.State {
	case runtime.StateRunning:
		status.State.Running = &v1.ContainerStateRunning{StartedAt: metav1.NewTime(c.StartedAt)}
	case runtime.StateExited:
		status.State.Terminated = b.terminated(c)
	default:
		status.State.Waiting = &v1.ContainerStateWaiting{}
	}
	return status
}

func (b *builder) terminated(c *runtime.ContainerStatus) *v1.ContainerStateTerminated {
	return &v1.ContainerStateTerminated{
		ExitCode:    c.ExitCode,
		Reason:      c.Reason,
		Message:     c.Message,
		StartedAt:   metav1.NewTime(c.StartedAt),
		FinishedAt:  metav1.NewTime(c.FinishedAt),
		ContainerID: b.containerID(c.ID),
	}
}

func (b *builder) containerID(id string) string { return b.in.RuntimeName + "://" + id }

// carryOver adds to an observed status what was said of the container before:
// its last end, where the runtime no longer knows it, and a restart count that
// the runtime may have lost.
func carryOver(status, old *v1.ContainerStatus, state runtime.State) {
	status.LastTerminationState = *old.LastTerminationState.DeepCopy()
	restarts := old.RestartCount
	same := old.ContainerID == status.ContainerID
	switch {
	case old.State.Terminated != nil && !same:
		status.LastTerminationState = v1.ContainerState{Terminated: old.State.Terminated.DeepCopy()}
		if state == runtime.StateRunning {
			restarts++
		}
	case old.State.Terminated != nil && state == runtime.StateUnknown:
		status.State = *old.State.DeepCopy()
	case old.State.Running != nil && state == runtime.StateUnknown:
		status.State = v1.ContainerState{Terminated: lost(messageLost)}
		restarts++
	}
	status.RestartCount = max(status.RestartCount, restarts)
}

// absentStatus is the status of a container that the runtime has no instance of.
func (b *builder) absentStatus(e *entry) v1.ContainerStatus {
	status := absent(e.spec)
	status.State.Waiting = &v1.ContainerStateWaiting{Reason: b.waitingReason}
	old := e.old
	if old != nil {
		status.LastTerminationState = *old.LastTerminationState.DeepCopy()
		status.RestartCount = max(old.RestartCount, 0)
	}
	switch {
	case old != nil && (waitsForAll(old) || b.restartAll && old.ContainerID != ""):
		restartingAll(&status, old)
	case old != nil && old.State.Terminated != nil:
		status = asItEnded(e)
		status.RestartCount = max(old.RestartCount, 0)
	case e.kind == plainInit && b.initialized:
		status.State = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
			Reason:  reasonCompleted,
			Message: messageForgotten,
		}}
	case old != nil && old.State.Running != nil && (old.LastTerminationState.Terminated == nil || removedForAll(old)):
		status.LastTerminationState = v1.ContainerState{Terminated: lost(messageVanished)}
		if b.in.Pod.DeletionTimestamp == nil {
			status.RestartCount++
		}
	}
	return status
}

// asItEnded is what was said last of a container that has ended. Of resources it has
// what the spec says by now: a resize would be counted by the old ones for ever.
func asItEnded(e *entry) v1.ContainerStatus {
	status := *e.old.DeepCopy()
	if status.Resources != nil {
		status.Resources = e.spec.Resources.DeepCopy()
		status.AllocatedResources = e.spec.Resources.Requests.DeepCopy()
	}
	return status
}

// absent is the status of a container as far as its spec gives it.
func absent(spec *v1.Container) v1.ContainerStatus {
	return v1.ContainerStatus{Name: spec.Name, Image: spec.Image}
}

// restartingAll is the status of a container that was removed so that it starts
// anew with all the others, until it does. The removal counts as a restart, once.
func restartingAll(status, old *v1.ContainerStatus) {
	status.State.Waiting.Reason = reasonRestartingAll
	if waitsForAll(old) {
		return
	}
	status.LastTerminationState = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
		ExitCode: lostExitCode,
		Reason:   reasonRestartingAll,
	}}
	status.RestartCount++
}

// waitsForAll tells whether a container was removed to start with all the others
// and has not started since, be it because it can't.
func waitsForAll(old *v1.ContainerStatus) bool {
	return old.State.Waiting != nil && removedForAll(old)
}

// removedForAll tells whether a container ended last by being removed so.
func removedForAll(old *v1.ContainerStatus) bool {
	end := old.LastTerminationState.Terminated
	return end != nil && end.Reason == reasonRestartingAll
}

// lost is the end of a container that nobody saw.
func lost(message string) *v1.ContainerStateTerminated {
	return &v1.ContainerStateTerminated{
		ExitCode: lostExitCode,
		Reason:   reasonUnknown,
		Message:  message,
	}
}

// applyStartFailure shows why a container that should run is not started.
// Without such a reason a dead container is shown as what it is.
func (b *builder) applyStartFailure(e *entry) {
	failure := b.in.StartFailures[e.spec.Name]
	if failure.Reason == "" || !b.wantsStart(e) {
		return
	}
	status := *e.out
	if e.newest == nil {
		status = absent(e.spec)
		status.LastTerminationState = e.out.LastTerminationState
		status.RestartCount = e.out.RestartCount
	}
	if ended := e.out.State.Terminated; ended != nil {
		status.LastTerminationState = v1.ContainerState{Terminated: ended}
	}
	status.State = v1.ContainerState{Waiting: &v1.ContainerStateWaiting{
		Reason:  failure.Reason,
		Message: failure.Message,
	}}
	*e.out = status
}

// wantsStart tells whether the next pass would start the container. A plain init
// container is through if it ended well, or is gone while regular ones are there.
func (b *builder) wantsStart(e *entry) bool {
	if e.kind == plainInit {
		ended := e.out.State.Terminated
		if e.newest == nil && b.initialized || ended != nil && ended.ExitCode == 0 {
			return false
		}
	}
	return runtime.ShouldRestart(b.in.Pod, e.spec, b.in.Observed)
}
