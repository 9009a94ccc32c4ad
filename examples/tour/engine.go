package main

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// engine carries out plans for one pod in no time: what a runtime does, without
// one. Its clock is a field, and stands still unless a walk moves it.
type engine struct {
	pod     *v1.Pod
	status  runtime.PodStatus
	probes  runtime.ProbeVerdicts
	backoff runtime.Backoff
	now     time.Time
	made    int
}

func newEngine(pod *v1.Pod) *engine {
	return &engine{pod: pod, status: runtime.PodStatus{PodRef: runtime.RefOf(pod)}, now: noon}
}

// plan asks what is to be done now.
func (e *engine) plan() runtime.Actions {
	a := runtime.Plan(runtime.PlanInput{
		Pod: e.pod, Status: &e.status, Probes: e.probes, Backoff: e.backoff, Now: e.now,
	})
	e.backoff = a.Backoff
	return a
}

// carryOut does it: containers that are started run, those that are killed end.
func (e *engine) carryOut(a runtime.Actions) {
	for _, k := range a.Kill {
		e.end(k.ID, 137)
	}
	if a.KillPod {
		for i := range e.status.Containers {
			e.end(e.status.Containers[i].ID, 0)
		}
		for i := range e.status.Sandboxes {
			e.status.Sandboxes[i].Ready = false
		}
	}
	if a.CreateSandbox {
		e.status.Sandboxes = append(e.status.Sandboxes, runtime.SandboxStatus{
			ID: fmt.Sprintf("s%d", a.Attempt), Attempt: a.Attempt, Ready: true,
		})
	}
	if !a.KillPod || a.CreateSandbox {
		e.start(a.Init)
		e.start(a.Containers)
	}
	e.status.Sort()
}

func (e *engine) start(starts []runtime.Start) {
	for _, s := range starts {
		if s.Waits() {
			continue
		}
		e.backoff = e.backoff.Started(s, e.now)
		e.made++
		e.status.Containers = append(e.status.Containers, runtime.ContainerStatus{
			ID: fmt.Sprintf("c%d", e.made), Name: s.Container.Name, State: runtime.StateRunning,
			CreatedAt: e.now.Add(time.Duration(e.made)), StartedAt: e.now,
			RestartCount: s.RestartCount, Hash: runtime.ContainerHash(s.Container), Image: s.Container.Image,
		})
	}
}

// exit ends the container of a name by itself.
func (e *engine) exit(name string, code int32) { e.end(e.status.Container(name).ID, code) }

func (e *engine) end(id string, code int32) {
	for i := range e.status.Containers {
		if c := &e.status.Containers[i]; c.ID == id && c.State == runtime.StateRunning {
			c.State, c.ExitCode, c.FinishedAt, c.Reason = runtime.StateExited, code, e.now, "Completed"
			if code != 0 {
				c.Reason = "Error"
			}
		}
	}
}

// pass makes one pass and shows what went in and came out.
func (e *engine) pass(p *page) {
	p.in("%s", showContainers(&e.status))
	a := e.plan()
	p.out("%s", showActions(a))
	e.carryOut(a)
}

// showContainers prints the newest instance of each container.
func showContainers(s *runtime.PodStatus) string {
	if len(s.Containers) == 0 {
		return "nothing is there"
	}
	t, had := &table{}, map[string]bool{}
	for _, c := range s.Containers {
		if had[c.Name] {
			continue
		}
		had[c.Name] = true
		state := string(c.State)
		if c.State == runtime.StateExited {
			state += fmt.Sprintf(" %d", c.ExitCode)
		}
		t.row(c.Name, state, fmt.Sprintf("restarts %d", c.RestartCount))
	}
	return t.String()
}

// showActions prints what a plan asks for, in the order of its execution.
func showActions(a runtime.Actions) string {
	var lines []string
	if len(a.StopSandboxes) > 0 {
		lines = append(lines, "stop all of the pod")
	}
	for _, k := range a.Kill {
		if a.KillPod {
			break // all of the pod is stopped anyway
		}
		lines = append(lines, fmt.Sprintf("kill %s within %s: %s", k.Name, k.Grace, k.Message))
	}
	if a.CreateSandbox {
		lines = append(lines, fmt.Sprintf("create sandbox %d", a.Attempt))
	}
	for _, starts := range [][]runtime.Start{a.Init, a.Containers} {
		for _, s := range starts {
			lines = append(lines, showStart(s))
		}
	}
	if lines == nil {
		return "nothing"
	}
	return joined(lines)
}

func showStart(s runtime.Start) string {
	if s.Waits() {
		return fmt.Sprintf("%s waits until %s\n%s: %s", s.Container.Name, clock(s.WaitUntil), s.Reason, s.Message)
	}
	return fmt.Sprintf("start %s, restart count %d", s.Container.Name, s.RestartCount)
}
