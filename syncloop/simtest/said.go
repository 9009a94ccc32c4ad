package simtest

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// said checks what the agent says of a pod, and keeps it.
func (w *world) said(u syncloop.StatusUpdate) {
	p := w.pods[u.Pod.UID]
	if p == nil {
		return
	}
	if w.trace != nil {
		w.trace.note("%s is said to be %s", p.UID, inShort(u))
	}
	if text := leak(u.Status); text != "" {
		w.fail(KeepsSecrets, "the status of pod %s says %q", p.UID, text)
	}
	if podstatus.Terminal(u.Status.Phase) && !u.MayRun && p.running && p.lives == 0 && !p.wasDisturbed() {
		w.fail(StopsInTime, "pod %s is said to have stopped while it runs", p.UID)
	}
	if old := p.said; old != nil {
		w.compare(p, old, &u)
	}
	p.said, p.saidBy = &u, w.agent
}

func (p *podState) wasDisturbed() bool {
	for _, i := range p.instances {
		if i.disturbed {
			return true
		}
	}
	return p.source == ""
}

// compare checks a status against the one before.
func (w *world) compare(p *podState, old, next *syncloop.StatusUpdate) {
	if next.Version < old.Version {
		w.fail(Converges, "an older status of pod %s comes after a newer one", p.UID)
	}
	left := podstatus.Terminal(old.Status.Phase) && next.Status.Phase != old.Status.Phase
	if old.MayRun && p.saidBy != w.agent {
		left = false // nobody was to act upon it, and whoever said it is gone
	}
	if left && p.lives == 0 {
		w.fail(PhaseIsFinal, "pod %s was said to be %s, and now to be %s", p.UID, old.Status.Phase, next.Status.Phase)
	}
	fewer := w.compareRestarts(p, next.Status)
	if fewer != "" && p.lives == 0 {
		w.fail(RestartsGrow, "container %s of pod %s is said to have been restarted less often than before", fewer, p.UID)
	}
	if isReady(old.Status) && !isReady(next.Status) && w.sameRuns(p, old.Status, next.Status) {
		w.fail(RestartTouchesNothing, "pod %s is said to be unready, and nothing has happened to it", p.UID)
	}
	if left || fewer != "" || old.Finished && !next.Finished {
		p.lives = max(p.lives-1, 0)
		clear(p.restarts)
	}
}

// compareRestarts returns a container that is said to have been restarted less
// often than before.
func (w *world) compareRestarts(p *podState, s *v1.PodStatus) (fewer string) {
	for _, list := range [][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := range list {
			c := &list[i]
			if c.RestartCount < p.restarts[c.Name] {
				fewer = c.Name
			}
			p.restarts[c.Name] = c.RestartCount
		}
	}
	return fewer
}

func isReady(s *v1.PodStatus) bool {
	for i := range s.Conditions {
		if s.Conditions[i].Type == v1.PodReady {
			return s.Conditions[i].Status == v1.ConditionTrue
		}
	}
	return false
}

// sameRuns tells whether the same instances run in two statuses, of a pod that is
// to run and whose readiness probes did not fail.
func (w *world) sameRuns(p *podState, a, b *v1.PodStatus) bool {
	if !p.wanted || p.lives > 0 || p.deleting || p.ending || podstatus.Terminal(b.Phase) || p.wasDisturbed() ||
		len(a.ContainerStatuses) != len(b.ContainerStatuses) || len(a.InitContainerStatuses) != len(b.InitContainerStatuses) {
		return false
	}
	return w.sameRunning(p, a.InitContainerStatuses, b.InitContainerStatuses) && w.sameRunning(p, a.ContainerStatuses, b.ContainerStatuses)
}

// sameRunning tells whether all that runs in the one list runs in the other.
func (w *world) sameRunning(p *podState, a, b []v1.ContainerStatus) bool {
	for i := range b {
		x, y := &a[i], &b[i]
		if x.State.Running == nil && !regular(p.pod, x.Name) {
			continue
		}
		if p.instances[y.Name] == nil || p.health(bareID(y.ContainerID)).wasUnready {
			return false
		}
		if x.State.Running == nil || y.State.Running == nil || x.ContainerID != y.ContainerID {
			return false
		}
	}
	return true
}

// inShort is a status in a few words.
func inShort(u syncloop.StatusUpdate) string {
	text := string(u.Status.Phase)
	if u.Status.Reason != "" {
		text += " " + u.Status.Reason
	}
	if isReady(u.Status) {
		text += " ready"
	}
	for _, list := range [][]v1.ContainerStatus{u.Status.InitContainerStatuses, u.Status.ContainerStatuses} {
		for i := range list {
			c := &list[i]
			text += fmt.Sprintf(" %s#%d:", c.Name, c.RestartCount)
			switch {
			case c.State.Running != nil:
				text += "running"
			case c.State.Terminated != nil:
				text += fmt.Sprintf("ended(%d)", c.State.Terminated.ExitCode)
			case c.State.Waiting != nil:
				text += c.State.Waiting.Reason
			}
		}
	}
	if u.MayRun {
		text += " mayrun"
	}
	if u.Finished {
		text += " finished"
	}
	return text
}
