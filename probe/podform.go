package probe

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// PodContainers is the set of containers that a pod wants probed, with what its
// status says of them; the status may be nil. Regular containers and sidecars can
// have probes, in the order startup, readiness, liveness; others have none even
// if their spec names some.
//
// A container is in the set as soon as its pod is known, long before it runs, so
// that nobody takes it for one without probes.
//
// The status is the one that was said last. After the agent started anew it is
// how readiness outlives it: an instance that the status calls ready, or started,
// is taken for that until probes say otherwise.
func PodContainers(pod *v1.Pod, status *v1.PodStatus) []Container {
	var set []Container
	if status == nil {
		status = &v1.PodStatus{}
	}
	p := podForm{pod: pod, status: status, over: status.Phase == v1.PodSucceeded || status.Phase == v1.PodFailed}
	p.restartsAll = runtime.HasRestartAllRule(pod) && p.restartAllTriggered()
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; runtime.IsSidecar(c) {
			set = p.add(set, c, true)
		}
	}
	for i := range pod.Spec.Containers {
		set = p.add(set, &pod.Spec.Containers[i], false)
	}
	return set
}

type podForm struct {
	pod    *v1.Pod
	status *v1.PodStatus
	over   bool
	// restartsAll: a container of the pod ended so that all are to be
	// restarted.
	restartsAll bool
}

func (p *podForm) add(set []Container, c *v1.Container, init bool) []Container {
	probes := probesOf(c)
	if len(probes) == 0 {
		return set
	}
	container := Container{
		Name: c.Name, Init: init,
		IP: p.status.PodIP, Ports: c.Ports, Probes: probes,
		State: p.state(c, init),
	}
	if c.LivenessProbe != nil && c.LivenessProbe.Exec != nil || c.ReadinessProbe != nil && c.ReadinessProbe.Exec != nil ||
		c.StartupProbe != nil && c.StartupProbe.Exec != nil {
		container.Env = c.Env
	}
	return append(set, container)
}

func probesOf(c *v1.Container) []Probe {
	var probes []Probe
	for _, p := range [...]struct {
		kind  Kind
		probe *v1.Probe
	}{{Startup, c.StartupProbe}, {Readiness, c.ReadinessProbe}, {Liveness, c.LivenessProbe}} {
		if p.probe != nil {
			probes = append(probes, Probe{Name: string(p.kind), Kind: p.kind, Settings: SettingsOf(p.probe), Action: p.probe.ProbeHandler})
		}
	}
	return probes
}

// state reads the container's status. One of a pod that is over has no instance
// that counts.
func (p *podForm) state(c *v1.Container, init bool) State {
	if p.over {
		return State{Over: true}
	}
	status := p.statusOf(c.Name)
	if status == nil || status.ContainerID == "" {
		return State{}
	}
	s := State{
		ContainerID: bareID(status.ContainerID),
		Running:     status.State.Running != nil,
		Started:     status.Started != nil && *status.Started,
		Ready:       status.Ready,
		Terminating: p.pod.DeletionTimestamp != nil,
	}
	if s.Running {
		s.StartedAt = status.State.Running.StartedAt.Time
	}
	if ended := status.State.Terminated; ended != nil && !init {
		s.Over = !runtime.RestartAfterExit(p.pod, c, ended.ExitCode) && !p.restartsAll
	}
	return s
}

func (p *podForm) restartAllTriggered() bool {
	for _, list := range [...][]v1.Container{p.pod.Spec.InitContainers, p.pod.Spec.Containers} {
		for i := range list {
			s := p.statusOf(list[i].Name)
			if s != nil && s.State.Terminated != nil && runtime.TriggersRestartAll(&list[i], s.State.Terminated.ExitCode) {
				return true
			}
		}
	}
	return false
}

func (p *podForm) statusOf(name string) *v1.ContainerStatus {
	for _, list := range [...][]v1.ContainerStatus{p.status.ContainerStatuses, p.status.InitContainerStatuses} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// bareID is a container's ID as its runtime gave it: process://id is id.
func bareID(id string) string {
	if _, bare, ok := strings.Cut(id, "://"); ok {
		return bare
	}
	return id
}
