package simtest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
)

// Hooks of a plan that has them: what hooks containers have, how they fare, and what
// that excuses.

// hookHealsAfter, as an argument of a container, is the attempt from which on its
// hooks succeed.
const hookHealsAfter = "hook-heals-after="

// Hook is how the exec hooks of the simulation fare in a fake: as
// [runtimetest.ByCommand] says, save that those which fail at first may heal.
func Hook(i runtimetest.Instance) runtimetest.Script {
	s := runtimetest.ByCommand(i)
	if healed(i, hookHealsAfter) {
		s.ExitCode = 0
	}
	return s
}

// addHooks gives the containers of a pod hooks. It draws by itself: the rest of the pod
// is as it is without.
func (p *planner) addHooks(pod *v1.Pod) {
	d := newDraw(p.seed, 2000+uint64(p.pods))
	for c := range containers(&pod.Spec) {
		if !probed(pod, c) || d.chance(30) {
			continue // a plain init container may have none
		}
		c.Lifecycle = &v1.Lifecycle{}
		if d.chance(60) {
			c.Lifecycle.PostStart = p.newHook(d)
		}
		if d.chance(60) {
			c.Lifecycle.PreStop = p.newHook(d)
		}
		if d.chance(70) {
			c.Args = append(c.Args, hookHealsAfter+strconv.Itoa(1+d.IntN(3)))
		}
	}
}

// newHook draws a hook. Where workers are few, none takes long: pods that wait for a
// worker would wait for it.
func (p *planner) newHook(d draw) *v1.LifecycleHandler {
	most, s := 40*time.Second, runtimetest.Script{Exits: true}
	if p.maxWorkers > 0 {
		most = 3 * time.Second
	}
	switch d.IntN(8) {
	case 0: // at once
	case 1, 2:
		s.RunFor = d.between(time.Millisecond, most)
	case 3, 4:
		s.RunFor, s.ExitCode = d.between(0, most/4), 1
	case 5:
		return &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 1 + d.Int64N(int64(most/time.Second))}}
	case 6: // for a while, longer than most grace
		s.RunFor = 3 * most
	default: // until the container ends, or is killed
		s.Exits = p.maxWorkers > 0
	}
	return &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: s.Command()}}
}

// addCuts has the agent die now and then soon after something happened, when hooks are
// likely to run. It draws by itself, too.
func (p *planner) addCuts() {
	d := newDraw(p.seed, 5)
	for _, e := range p.events {
		if d.chance(10) {
			away := d.between(time.Millisecond, one(d, time.Second, time.Minute))
			p.events = append(p.events, event{e.at + d.between(0, 30*time.Second), fmt.Sprintf("the agent is killed, for %s", away), true, func(w *world) {
				w.upAgain = time.Now().Add(away)
				w.kill()
			}})
		}
	}
	slices.SortStableFunc(p.events, func(a, b event) int { return int(a.at - b.at) })
}

// describeHooks says in a few words what hooks a container has.
func describeHooks(c *v1.Container) (text string) {
	if c.Lifecycle == nil {
		return ""
	}
	for _, h := range []struct {
		name string
		*v1.LifecycleHandler
	}{{"postStart", c.Lifecycle.PostStart}, {"preStop", c.Lifecycle.PreStop}} {
		switch {
		case h.LifecycleHandler == nil:
		case h.Sleep != nil:
			text += fmt.Sprintf(" %s[sleep %ds]", h.name, h.Sleep.Seconds)
		default:
			text += fmt.Sprintf(" %s%v", h.name, h.Exec.Command[1:])
		}
	}
	return text
}

// postStart is how the hook of an instance fares: that it ends, when, and well or not.
func (p *podState) postStart(c *runtime.ContainerStatus) runtimetest.Script {
	done := runtimetest.Script{Exits: true}
	spec := p.container(c.Name)
	switch {
	case spec == nil || spec.Lifecycle == nil || spec.Lifecycle.PostStart == nil:
		return done
	case spec.Lifecycle.PostStart.Sleep != nil:
		done.RunFor = time.Duration(spec.Lifecycle.PostStart.Sleep.Seconds) * time.Second
		return done
	}
	return Hook(runtimetest.Instance{
		Container: c.Name, Command: spec.Lifecycle.PostStart.Exec.Command, Args: spec.Args,
		Attempt: uint32(c.RestartCount), Init: true,
	})
}

// outlived tells whether each regular container that runs is to stop, so that a sidecar
// may, too. It is killed when the grace is over, and a container whose preStop hook used
// that up still has [runtime.MinGrace].
func (w *world) outlived(p *podState, st *runtime.PodStatus) bool {
	return w.cfg.Hooks && !slices.ContainsFunc(st.Containers, func(c runtime.ContainerStatus) bool {
		i := p.instances[c.Name]
		stays := i == nil || i.id != c.ID || !i.toStop && !p.health(c.ID).failed
		return c.State == runtime.StateRunning && regular(p.pod, c.Name) && stays
	})
}

// hookHangs tells whether the work of a pod waits for a hook, so that a mirror which
// could not be made at first is not made: the kubelet's worker makes it, too.
func (w *world) hookHangs(uid types.UID) bool {
	st, err := w.runtime.PodStatus(context.Background(), uid)
	return err == nil && w.inHook(w.pods[uid], st)
}

// inHook tells whether a pass may be waiting for a postStart hook, or for the end of a
// container whose hook failed: whatever else happens to the pod has to wait for that.
func (w *world) inHook(p *podState, st *runtime.PodStatus) bool {
	return slices.ContainsFunc(st.Containers, func(c runtime.ContainerStatus) bool {
		if !w.hooked(&c) {
			return false
		}
		h := p.postStart(&c)
		return !h.Exits || !time.Now().After(p.hookOver(&c, h))
	})
}

// checkHooks sees that what runs has no postStart hook that failed.
func (w *world) checkHooks(p *podState, st *runtime.PodStatus) {
	for i := range st.Containers {
		c := &st.Containers[i]
		if h := p.postStart(c); w.hooked(c) && h.ExitCode != 0 && time.Now().After(p.hookOver(c, h)) {
			w.fail(Converges, "container %s of pod %s runs on, and its postStart hook failed", c.Name, p.UID)
		}
	}
}

// hooked tells whether this agent began an instance that runs, and its hook. It knows
// nothing of hooks that the one before began.
func (w *world) hooked(c *runtime.ContainerStatus) bool {
	return w.cfg.Hooks && c.State == runtime.StateRunning && !c.StartedAt.Before(w.started)
}

// hookOver is when a postStart hook that ends is over and done with, the end of its
// container included if it failed.
func (p *podState) hookOver(c *runtime.ContainerStatus, h runtimetest.Script) time.Time {
	over := c.StartedAt.Add(h.RunFor)
	if h.ExitCode != 0 {
		over = over.Add(grace(p.pod) + trouble)
	}
	return over
}
