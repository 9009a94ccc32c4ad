package podstatus

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// Reasons of conditions.
const (
	reasonPodCompleted     = "PodCompleted"
	reasonPodFailed        = "PodFailed"
	reasonNotReady         = "ContainersNotReady"
	reasonNotInitialized   = "ContainersNotInitialized"
	reasonGatesNotReady    = "ReadinessGatesNotReady"
	reasonRestartAllStart  = "RestartAllContainersStarted"
	messageRestartAllStart = "container exited with restart policy rule"
)

// owned tells whether the kubelet alone writes conditions of a type.
func owned(t v1.PodConditionType) bool {
	switch t {
	case v1.PodScheduled, v1.PodReady, v1.PodInitialized, v1.ContainersReady,
		v1.PodReadyToStartContainers, v1.AllContainersRestarting,
		v1.PodResizePending, v1.PodResizeInProgress:
		return true
	}
	return false
}

// findCondition returns the condition of a type, or nil.
func findCondition(conditions []v1.PodCondition, t v1.PodConditionType) *v1.PodCondition {
	for i := range conditions {
		if conditions[i].Type == t {
			return &conditions[i]
		}
	}
	return nil
}

// isTrue tells whether there is a condition of the type, and it is true.
func isTrue(conditions []v1.PodCondition, t v1.PodConditionType) bool {
	c := findCondition(conditions, t)
	return c != nil && c.Status == v1.ConditionTrue
}

// setCondition replaces the condition of its type, or appends it.
func setCondition(conditions []v1.PodCondition, c v1.PodCondition) []v1.PodCondition {
	if found := findCondition(conditions, c.Type); found != nil {
		*found = c
		return conditions
	}
	return append(conditions, c)
}

// conditions sets the conditions, in the kubelet's order: those of others, then
// its own. The readiness gates see what stands before Ready in that order.
func (b *builder) conditions() {
	const always = 5 // of most pods all that there are
	b.status.Conditions = make([]v1.PodCondition, 0, always)
	for i := range b.api.Conditions {
		if c := &b.api.Conditions[i]; !owned(c.Type) {
			b.status.Conditions = append(b.status.Conditions, *c)
		}
	}
	if !Terminal(b.status.Phase) {
		b.status.Conditions = append(b.status.Conditions, b.in.Resize...)
	}
	if c := findCondition(b.old.Conditions, v1.DisruptionTarget); c != nil {
		b.status.Conditions = setCondition(b.status.Conditions, *c)
	}
	b.applyDisruption()
	b.add(b.readyToStart())
	b.add(b.initializedCondition())
	containers := b.containersReady()
	b.add(b.readyCondition(containers))
	b.add(containers)
	b.add(v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionTrue})
	if runtime.HasRestartAllRule(b.in.Pod) {
		b.status.Conditions = append(b.status.Conditions, b.allRestarting())
	}
}

// add appends a condition that was made for this generation of the pod.
func (b *builder) add(c v1.PodCondition) {
	c.ObservedGeneration = b.in.Pod.Generation
	b.status.Conditions = append(b.status.Conditions, c)
}

// applyDisruption says that the pod was ended by its node, where a verdict does.
func (b *builder) applyDisruption() {
	if b.sentenced() && b.verdict.Disruption != "" {
		b.status.Conditions = setCondition(b.status.Conditions, v1.PodCondition{
			Type:               v1.DisruptionTarget,
			Status:             v1.ConditionTrue,
			Reason:             v1.PodReasonTerminationByKubelet,
			Message:            b.verdict.Disruption,
			ObservedGeneration: b.in.Pod.Generation,
		})
	}
}

// readyToStart tells whether the sandbox is up.
func (b *builder) readyToStart() v1.PodCondition {
	changed, _, _ := runtime.SandboxChanged(b.in.Pod, b.in.Observed)
	return v1.PodCondition{Type: v1.PodReadyToStartContainers, Status: conditionStatus(!changed)}
}

// initializedCondition tells whether the init containers are through. Once they
// were, a restart of them does not take it back.
func (b *builder) initializedCondition() v1.PodCondition {
	c := v1.PodCondition{Type: v1.PodInitialized, Status: v1.ConditionTrue}
	if b.status.Phase == v1.PodSucceeded {
		c.Reason = reasonPodCompleted
		return c
	}
	if b.anyRegularRan() {
		return c
	}
	incomplete := b.names(func(e *entry) bool {
		return e.kind == plainInit && !e.out.Ready || e.kind == sidecar && !*e.out.Started
	})
	if len(incomplete) == 0 || isTrue(b.old.Conditions, v1.PodInitialized) {
		return c
	}
	c.Status = v1.ConditionFalse
	c.Reason = reasonNotInitialized
	c.Message = "containers with incomplete status: [" + strings.Join(incomplete, " ") + "]"
	return c
}

// anyRegularRan tells whether a regular container runs or has ended.
func (b *builder) anyRegularRan() bool {
	return slices.ContainsFunc(b.ix, func(e entry) bool {
		return e.kind == regular && e.out.State.Waiting == nil
	})
}

// containersReady tells whether all containers that serve are ready.
func (b *builder) containersReady() v1.PodCondition {
	c := v1.PodCondition{Type: v1.ContainersReady, Status: v1.ConditionFalse}
	switch b.status.Phase {
	case v1.PodSucceeded:
		c.Reason = reasonPodCompleted
		return c
	case v1.PodFailed:
		c.Reason = reasonPodFailed
		return c
	}
	unready := b.names(func(e *entry) bool {
		return (e.kind == sidecar || e.kind == regular) && !e.out.Ready
	})
	if len(unready) > 0 {
		c.Reason = reasonNotReady
		c.Message = "containers with unready status: [" + strings.Join(unready, " ") + "]"
		return c
	}
	c.Status = v1.ConditionTrue
	return c
}

// readyCondition tells whether the pod serves: its containers do, and everyone whom
// it named as a gate agrees.
func (b *builder) readyCondition(containers v1.PodCondition) v1.PodCondition {
	c := containers
	c.Type = v1.PodReady
	if c.Status != v1.ConditionTrue {
		return c
	}
	var closed []string
	for _, gate := range b.in.Pod.Spec.ReadinessGates {
		switch found := findCondition(b.status.Conditions, gate.ConditionType); {
		case found == nil:
			closed = append(closed, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType))
		case found.Status != v1.ConditionTrue:
			closed = append(closed, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", gate.ConditionType, found.Status))
		}
	}
	if len(closed) > 0 {
		c.Status = v1.ConditionFalse
		c.Reason = reasonGatesNotReady
		c.Message = strings.Join(closed, ", ")
	}
	return c
}

// allRestarting tells whether a rule that restarts all containers is being
// carried out. It alone bears no generation.
func (b *builder) allRestarting() v1.PodCondition {
	c := v1.PodCondition{Type: v1.AllContainersRestarting, Status: v1.ConditionFalse}
	switch {
	case b.status.Phase == v1.PodSucceeded:
		c.Reason = reasonPodCompleted
	case b.status.Phase == v1.PodFailed:
		c.Reason = reasonPodFailed
	case b.in.RestartAll:
		c.Status = v1.ConditionTrue
		c.Reason = reasonRestartAllStart
		c.Message = messageRestartAllStart
	}
	return c
}

// names lists the containers that match, in the order of the spec.
func (b *builder) names(match func(*entry) bool) []string {
	var names []string
	for i := range b.ix {
		if match(&b.ix[i]) {
			names = append(names, b.ix[i].spec.Name)
		}
	}
	return names
}

func conditionStatus(ok bool) v1.ConditionStatus {
	if ok {
		return v1.ConditionTrue
	}
	return v1.ConditionFalse
}
