package simtest

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/runtime"
)

// Probes of a plan that has them: what containers are probed with, how they take
// it by nature, and what happens to that for a while.

// addProbes gives the containers of a pod probes, in the place of those that events
// alone make. It draws by itself: the rest of the pod is as it is without.
func (p *planner) addProbes(pod *v1.Pod) {
	d := newDraw(p.seed, 1000+uint64(p.pods))
	for c := range containers(&pod.Spec) {
		c.StartupProbe, c.ReadinessProbe, c.LivenessProbe = nil, nil, nil
		if d.chance(40) {
			c.StartupProbe = p.newProbe(d)
			c.Args = append(c.Args, nature(probe.Startup, one[time.Duration](d, 0, 0, 1, 3, 20)*p.pace.probes))
		}
		if d.chance(60) {
			c.ReadinessProbe = p.newProbe(d)
			c.ReadinessProbe.SuccessThreshold = one(d, int32(0), 1, 3)
			c.Args = append(c.Args, nature(probe.Readiness, one[time.Duration](d, 0, 0, 1, 5, never)*p.pace.probes))
		}
		if d.chance(50) {
			c.LivenessProbe = p.newProbe(d)
			c.Args = append(c.Args, nature(probe.Liveness, one[time.Duration](d, never, never, never, never, 30)*p.pace.probes))
		}
	}
}

// containers are those of a pod that may be probed, and those that may not be:
// probes of the latter are nobody's concern.
func containers(spec *v1.PodSpec) func(yield func(*v1.Container) bool) {
	return func(yield func(*v1.Container) bool) {
		for _, list := range [][]v1.Container{spec.InitContainers, spec.Containers} {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// newProbe draws a probe.
func (p *planner) newProbe(d draw) *v1.Probe {
	period := int32(p.pace.probes / time.Second)
	drawn := &v1.Probe{
		PeriodSeconds: period * one(d, int32(1), 2, 5), InitialDelaySeconds: period * one(d, int32(0), 0, 0, 1, 3),
		TimeoutSeconds: one(d, int32(0), 1, 3, 20), FailureThreshold: one(d, int32(0), 1, 1, 2, 5),
	}
	if d.chance(50) {
		drawn.TCPSocket = &v1.TCPSocketAction{}
	} else {
		drawn.Exec = &v1.ExecAction{Command: []string{"check"}}
	}
	return drawn
}

// never is more probes than there are in a life.
const never = 1 << 20

// nature is an argument of a container: its startup and readiness probes succeed
// when it has run for so long, its liveness probe fails from then on.
func nature(kind probe.Kind, after time.Duration) string {
	return fmt.Sprintf("%s-after=%s", kind, after)
}

// byNature is what a probe of an instance comes to that has run for so long.
func byNature(c *v1.Container, kind probe.Kind, ran time.Duration) probe.Result {
	for _, arg := range c.Args {
		text, ok := strings.CutPrefix(arg, string(kind)+"-after=")
		after, err := time.ParseDuration(text)
		if ok && err == nil && (ran < after) != (kind == probe.Liveness) {
			return probe.Failure
		}
	}
	return probe.Success
}

// mood is what becomes of the attempts of a probe for a while.
type mood int

const (
	fails mood = iota
	errs
	hangs
	wavers
	recovers
	moods
)

var moodNames = [moods]string{"fails", "can't be made", "hangs", "wavers", "is well by nature"}

// moodOf says of whom a mood is: attempts of one kind, of a container.
type moodOf struct {
	pod       string // its UID
	container string
	kind      probe.Kind
}

// lasting is a mood and its end.
type lasting struct {
	mood
	until time.Time
}

// addMoods has probes fail and worse in between. It draws by itself, too.
func (p *planner) addMoods() {
	d := newDraw(p.seed, 4)
	var all []event
	for _, e := range p.events {
		if source := one(d, podmanager.SourceAPI, podmanager.SourceFile); len(p.names[source]) > 0 && d.chance(60) {
			name, container := one(d, p.names[source]...), one(d, "c0", "c0", "c1", "i0", "i1")
			kind := one(d, probe.Startup, probe.Readiness, probe.Readiness, probe.Liveness)
			m, lasts := mood(d.IntN(int(moods))), d.between(p.pace.probes, 30*p.pace.probes)
			all = append(all, event{e.at, fmt.Sprintf("%s of %s of %s %s for %s", kind, container, name, moodNames[m], lasts), true, func(w *world) {
				if t := w.target(source, name); t != nil {
					w.moods[moodOf{string(t.UID), container, kind}] = lasting{m, time.Now().Add(lasts)}
				}
			}})
		}
		all = append(all, e)
	}
	p.events = all
}

// mood is that of an attempt now; recovers if there is none.
func (w *world) mood(of moodOf) mood {
	if m, ok := w.moods[of]; ok && m.until.After(time.Now()) && !w.calm {
		return m.mood
	}
	return recovers
}

// describeProbes says in a few words what a container is probed with.
func describeProbes(c *v1.Container) (text string) {
	for _, p := range []struct {
		kind probe.Kind
		*v1.Probe
	}{{probe.Startup, c.StartupProbe}, {probe.Readiness, c.ReadinessProbe}, {probe.Liveness, c.LivenessProbe}} {
		if p.Probe != nil && p.ProbeHandler != (v1.ProbeHandler{}) { // which those of events do not have
			s := probe.SettingsOf(p.Probe)
			text += fmt.Sprintf(" %s[every %s after %s, %d/%d]", p.kind, s.Period, s.InitialDelay, s.SuccessThreshold, s.FailureThreshold)
		}
	}
	return text
}

// probed tells whether probes of a container are made.
func probed(pod *v1.Pod, c *v1.Container) bool { return runtime.IsSidecar(c) || regular(pod, c.Name) }
