package runtime

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Plan decides what one pass over a pod should do: which containers to start,
// kill and remove, and whether its sandbox must be replaced. It is the kubelet's
// computePodActions with what the kubelet decides on the way of carrying it out:
// back-off, restart counts, grace, what to remove. It is pure: equal input,
// equal actions.
func Plan(in PlanInput) Actions {
	if in.Pod == nil {
		return Actions{Backoff: in.Backoff}
	}
	if in.Status == nil {
		in.Status = &PodStatus{}
	}
	p := planner{PlanInput: in}
	p.Backoff = in.Backoff.Observe(in.Pod, in.Status)
	p.actions.Backoff = p.Backoff

	replace, attempt, id := SandboxChanged(p.Pod, p.Status)
	p.actions.KillPod, p.actions.CreateSandbox = replace, replace
	p.actions.SandboxID, p.actions.Attempt = id, attempt
	switch {
	case p.RestartAll:
		p.actions.Reset = resets(p.Pod, p.Status)
	case replace:
		p.replaceSandbox()
	default:
		p.useSandbox()
	}
	p.finish()
	return p.actions
}

// planner gathers the actions of one plan.
type planner struct {
	PlanInput
	actions Actions
	inits   initScan
}

// replaceSandbox starts the pod from the beginning in a new sandbox, unless it
// has nothing left to do there.
func (p *planner) replaceSandbox() {
	if SandboxLost(p.Pod, p.Status) {
		p.actions.CreateSandbox = false
		return
	}
	var unfinished []*v1.Container
	for i := range p.Pod.Spec.Containers {
		c := &p.Pod.Spec.Containers[i]
		if effectivePolicy(p.Pod, c) != v1.RestartPolicyOnFailure || !succeeded(p.Status.Container(c.Name)) {
			unfinished = append(unfinished, c)
		}
	}
	switch {
	case len(unfinished) == 0 && p.anyRegular(StateCreated, StateRunning, StateExited):
		p.actions.CreateSandbox = false
	case len(p.Pod.Spec.InitContainers) > 0:
		p.startInit(0)
	default:
		for _, c := range unfinished {
			p.startRegular(c)
		}
	}
}

// useSandbox brings the containers nearer to the spec in the sandbox that is there.
func (p *planner) useSandbox() {
	for i := range p.Pod.Spec.EphemeralContainers {
		e := &p.Pod.Spec.EphemeralContainers[i]
		c := v1.Container(e.EphemeralContainerCommon)
		if p.Status.Container(c.Name) == nil {
			start := p.Backoff.Start(p.Pod, &c, p.Status, p.Now)
			start.Target = e.TargetContainerName
			p.actions.Ephemeral = append(p.actions.Ephemeral, start)
		}
	}
	if !p.initialize() || p.actions.KillPod {
		return
	}
	kept := 0
	for i := range p.Pod.Spec.Containers {
		if p.regular(&p.Pod.Spec.Containers[i]) {
			kept++
		}
	}
	if kept == 0 && len(p.actions.Containers) == 0 {
		// Sidecars don't keep a finished pod alive.
		p.actions.KillPod = true
		p.actions.Init = nil
	}
}

// regular decides for one regular container, and tells whether it stays as it is
// and keeps the pod alive.
func (p *planner) regular(c *v1.Container) bool {
	instance := p.Status.Container(c.Name)
	if instance == nil || instance.State != StateRunning {
		if ShouldRestart(p.Pod, c, p.Status) {
			p.startRegular(c)
			if instance != nil && instance.mayRun() {
				p.kill(c, instance, KillUnknown, `Container is in "unknown" state, try killing it before restart`)
			}
		}
		return false
	}
	restart := effectivePolicy(p.Pod, c) != v1.RestartPolicyNever
	reason, message := KillOther, ""
	switch {
	case hashChanged(c, instance):
		restart, message = true, "definition changed"
	case p.Probes.Liveness[instance.ID] == VerdictFailure:
		reason, message = KillLivenessProbe, "failed liveness probe"
	case p.Probes.Startup[instance.ID] == VerdictFailure:
		reason, message = KillStartupProbe, "failed startup probe"
	case p.restartsForResize(c, instance):
		p.startRegular(c)
		p.kill(c, instance, KillOther, fmt.Sprintf(messageResize, c.Name))
		return false
	default:
		return true
	}
	message = fmt.Sprintf("Container %s %s", c.Name, message)
	if restart {
		message += ", will be restarted"
		p.startRegular(c)
	}
	p.kill(c, instance, reason, message)
	return false
}

// messageResize tells why a container is restarted whose policy says so.
const messageResize = "Container %s resize requires restart"

// startRegular starts a container, unless it ended for good and only its instance
// is not there any more, or not known to have ended.
func (p *planner) startRegular(c *v1.Container) {
	if p.Ended[c.Name] {
		return
	}
	p.actions.Containers = append(p.actions.Containers, p.Backoff.Start(p.Pod, c, p.Status, p.Now))
}

func (p *planner) kill(c *v1.Container, instance *ContainerStatus, reason KillReason, message string) {
	p.actions.Kill = append(p.actions.Kill, Kill{
		ID: instance.ID, Name: c.Name, Reason: reason, Message: message, Grace: Grace(p.Pod, c, reason),
	})
}

// anyRegular tells whether the newest instance of any regular container is in one
// of the states.
func (p *planner) anyRegular(states ...State) bool {
	for i := range p.Pod.Spec.Containers {
		if c := p.Status.Container(p.Pod.Spec.Containers[i].Name); c != nil && slices.Contains(states, c.State) {
			return true
		}
	}
	return false
}

func succeeded(instance *ContainerStatus) bool {
	return instance != nil && instance.State == StateExited && instance.ExitCode == 0
}

// finish derives from the decision what goes with it: sandboxes, removals, the
// time to come back, events.
func (p *planner) finish() {
	a := &p.actions
	if !a.KillPod && !p.RestartAll {
		p.killStrays()
		p.resizes()
	}
	slices.SortFunc(a.Kill, func(x, y Kill) int { return cmp.Compare(x.ID, y.ID) })
	if a.KillPod && (a.CreateSandbox || p.Status.Running() || readySandboxes(p.Status) > 0) {
		for i := range p.Status.Sandboxes {
			a.StopSandboxes = append(a.StopSandboxes, p.Status.Sandboxes[i].ID)
		}
	}
	if a.CreateSandbox && a.SandboxID != "" {
		a.Events = append(a.Events, Event{
			Type: v1.EventTypeNormal, Reason: "SandboxChanged",
			Message: "Pod sandbox changed, it will be killed and re-created.",
		})
	}
	if len(a.Reset) == 0 || a.KillPod {
		a.Remove = superfluous(p.Pod, p.Status, a.CreateSandbox)
	}
	a.RemoveSandboxes = emptySandboxes(p.Status, a.Remove)
	for _, starts := range [][]Start{a.Ephemeral, a.Init, a.Containers} {
		for _, s := range starts {
			p.noteWait(s)
		}
	}
}

// killStrays ends instances that run, or may, although a newer one of their name
// exists, or is to be started because they are of a sandbox before. A runtime that
// keeps its promises has none.
func (p *planner) killStrays() {
	for c := range eachContainer(p.Pod) {
		newest := p.Status.Container(c.Name)
		for i := range p.Status.Containers {
			stray := &p.Status.Containers[i]
			if stray.Name != c.Name || !stray.mayRun() {
				continue
			}
			if stray != newest || isInit(p.Pod, c.Name) && !p.inSandbox(stray) {
				p.kill(c, stray, KillOther, "Stopping container "+c.Name)
			}
		}
	}
}

func (p *planner) noteWait(s Start) {
	if !s.Waits() {
		return
	}
	p.actions.RetryAt = earlier(p.actions.RetryAt, s.WaitUntil)
	p.actions.Events = append(p.actions.Events, Event{
		Container: s.Container.Name, Type: v1.EventTypeWarning, Reason: "BackOff",
		Message: fmt.Sprintf("Back-off restarting failed container %s in pod %s", s.Container.Name, RefOf(p.Pod)),
	})
}

// earlier returns the earlier of two times of which a zero one is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
