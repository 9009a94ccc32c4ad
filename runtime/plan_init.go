package runtime

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// initialize decides for the init containers, sidecars among them, and tells
// whether the regular containers may run.
//
// It goes from the last to the first: the last one of which there is an instance
// tells how far the pod has come. Plain ones before it are done, whatever is left
// of them to see, for they may have been removed; sidecars before it must run.
func (p *planner) initialize() (initialized bool) {
	containers := p.Pod.Spec.InitContainers
	if len(containers) == 0 {
		return true
	}
	s := &p.inits
	s.initialized = p.regularActive()
	s.reached = s.initialized
	for i := len(containers) - 1; i >= 0; i-- {
		c := &containers[i]
		instance := p.initInstance(c.Name)
		switch {
		case instance == nil:
			if s.reached && IsSidecar(c) {
				s.start(i)
			}
			continue
		case IsSidecar(c):
			p.sidecar(i, instance)
		case !s.reached:
			p.plainInit(i, instance)
		}
		if p.actions.KillPod {
			return false
		}
		s.reached = true
	}
	if !s.reached {
		s.start(0)
	}
	slices.Reverse(s.starts)
	for _, i := range s.starts {
		p.startInit(i)
	}
	return s.initialized
}

// initScan is the state of going through the init containers.
type initScan struct {
	starts []int // indexes to start, last first
	// reached is set once a container was found that was started: those
	// before it have had their turn.
	reached bool
	// initialized is set once the last one was found to be done.
	initialized bool
}

func (s *initScan) start(i int) { s.starts = append(s.starts, i) }

// initDone notes that container i lets the next one start.
func (p *planner) initDone(i int) {
	switch {
	case i == len(p.Pod.Spec.InitContainers)-1:
		p.inits.initialized = true
	case !p.inits.reached:
		p.inits.start(i + 1)
	}
}

func (p *planner) sidecar(i int, instance *ContainerStatus) {
	switch instance.State {
	case StateCreated, StateExited:
		p.inits.start(i)
	case StateRunning:
		p.runningSidecar(i, instance)
	default:
		p.restartInit(i, instance, KillUnknown, `Init container is in "unknown" state, try killing it before restart`)
	}
}

func (p *planner) runningSidecar(i int, instance *ContainerStatus) {
	c := &p.Pod.Spec.InitContainers[i]
	if c.StartupProbe != nil {
		switch p.Probes.Startup[instance.ID] {
		case VerdictSuccess:
		case VerdictFailure:
			p.restartInit(i, instance, KillStartupProbe, fmt.Sprintf("Init container %s failed startup probe", c.Name))
			return
		default:
			return // the next one waits for the verdict
		}
	}
	p.initDone(i)
	switch {
	case hashChanged(c, instance):
		p.restartInit(i, instance, KillOther, fmt.Sprintf("Init container %s definition changed", c.Name))
	case c.LivenessProbe != nil && p.Probes.Liveness[instance.ID] == VerdictFailure:
		p.restartInit(i, instance, KillLivenessProbe, fmt.Sprintf("Init container %s failed liveness probe", c.Name))
	case p.restartsForResize(c, instance):
		p.restartInit(i, instance, KillOther, fmt.Sprintf(messageResize, c.Name))
	}
}

// plainInit decides for the plain init container whose turn it is.
func (p *planner) plainInit(i int, instance *ContainerStatus) {
	c := &p.Pod.Spec.InitContainers[i]
	switch instance.State {
	case StateRunning:
	case StateCreated:
		p.inits.start(i)
	case StateExited:
		switch {
		case !initFailed(instance):
			p.initDone(i)
		case ShouldRestart(p.Pod, c, p.Status):
			p.inits.start(i)
		default:
			p.actions.KillPod = true
		}
	default:
		if effectivePolicy(p.Pod, c) == v1.RestartPolicyNever {
			p.actions.KillPod = true
			return
		}
		p.restartInit(i, instance, KillUnknown, `Init container is in "unknown" state, try killing it before restart`)
	}
}

func (p *planner) restartInit(i int, instance *ContainerStatus, reason KillReason, message string) {
	p.kill(&p.Pod.Spec.InitContainers[i], instance, reason, message)
	p.inits.start(i)
}

// initFailed tells whether an init container that ended did not do its work. One
// that was out of memory did not, even if it says that it did.
func initFailed(instance *ContainerStatus) bool {
	return instance.ExitCode != 0 || instance.Reason == "OOMKilled"
}

func (p *planner) startInit(i int) {
	c := &p.Pod.Spec.InitContainers[i]
	p.actions.Init = append(p.actions.Init, p.Backoff.Start(p.Pod, c, p.Status, p.Now))
}

// initInstance returns the newest instance of the init container in the sandbox
// that is in use. One of a sandbox before that tells nothing of this one.
func (p *planner) initInstance(name string) *ContainerStatus {
	instance := p.Status.Container(name)
	if instance == nil || !p.inSandbox(instance) {
		return nil
	}
	return instance
}

// regularActive tells whether a regular container was started in the sandbox that
// is in use, which means that the init containers were done. One that ended does
// not count: after a reboot it may be of the sandbox before.
func (p *planner) regularActive() bool {
	for i := range p.Pod.Spec.Containers {
		c := p.Status.Container(p.Pod.Spec.Containers[i].Name)
		if c != nil && (c.State == StateCreated || c.State == StateRunning) && p.inSandbox(c) {
			return true
		}
	}
	return false
}

// inSandbox tells whether the instance is in the sandbox that is in use, for all
// that is known.
func (p *planner) inSandbox(c *ContainerStatus) bool {
	return c.SandboxID == "" || c.SandboxID == p.actions.SandboxID
}
