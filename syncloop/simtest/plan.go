package simtest

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/probe"
)

// plan is what is to happen to a node. It is drawn from the seed before anything
// happens, so that parts of it can be left out.
type plan struct {
	seed       uint64
	pace       pace
	watches    bool
	maxWorkers int
	cpu        int64 // of the node, in millicores
	events     []event
}

// event is something that the world does at a time.
type event struct {
	at    time.Duration
	name  string
	fault bool
	do    func(w *world)
}

// pace is how fast the node lives.
type pace struct {
	resync, housekeeping, relist time.Duration
	// gaps is how much time passes between two events, at most, in the long run.
	gaps time.Duration
	// probes is the shortest period of a probe.
	probes time.Duration
}

// bound is how long after its last fault a node may take to come to rest: the
// runtime has been listed, everything has been looked at, and the longest
// back-off is over.
func (p pace) bound() time.Duration {
	return p.relist + p.resync*3/2 + 2*p.housekeeping + 12*time.Minute
}

var paces = []pace{
	{resync: time.Minute, housekeeping: 2 * time.Second, gaps: time.Minute, probes: 2 * time.Second},
	{resync: 5 * time.Minute, housekeeping: 10 * time.Second, gaps: 10 * time.Minute, probes: 15 * time.Second},
	{resync: 2 * time.Hour, housekeeping: 5 * time.Minute, gaps: 4 * time.Hour, probes: 5 * time.Minute},
}

// planner draws a plan.
type planner struct {
	draw
	*plan
	at time.Duration
	// names are of the pods so far, by source.
	names map[string][]string
	pods  int
	cfg   Config
}

func newPlan(seed uint64, cfg Config) *plan {
	d := newDraw(seed, 1)
	p := &planner{draw: d, plan: &plan{seed: seed}, names: map[string][]string{}, cfg: cfg}
	p.pace = one(d, paces[0], paces[0], paces[1], paces[2])
	p.watches = d.chance(80)
	p.pace.relist = 5 * time.Minute
	if !p.watches {
		p.pace.relist = min(2*p.pace.housekeeping, 30*time.Second)
	} else if p.pace.gaps > time.Hour {
		p.pace.relist = time.Hour
	}
	p.maxWorkers = one(d, 0, 0, 1, 3)
	p.cpu = int64(one(d, 2000, 4000, 8000, 100000))
	for range 2 + d.IntN(5) {
		p.addPod()
	}
	for range cfg.Events {
		p.pass()
		if d.chance(35) {
			p.changePods()
		} else {
			p.fault()
		}
	}
	p.addShutdown()
	if cfg.Resizes {
		p.addResizes()
	}
	if cfg.Probes {
		p.addMoods()
	}
	if cfg.Hooks {
		p.addCuts()
	}
	if cfg.Pressure {
		p.addPressure()
	}
	return p.plan
}

// pass lets some time pass.
func (p *planner) pass() {
	switch n := p.IntN(100); {
	case n < 40:
	case n < 70:
		p.at += p.between(0, 2*time.Second)
	case n < 90:
		p.at += p.between(0, time.Minute)
	default:
		p.at += p.between(0, p.pace.gaps)
	}
}

func (p *planner) event(fault bool, name string, do func(w *world)) {
	p.events = append(p.events, event{p.at, name, fault, do})
}

// somePod draws the name of a pod, and its source.
func (p *planner) somePod() (name, source string) {
	source = one(p.draw, podmanager.SourceAPI, podmanager.SourceAPI, podmanager.SourceFile, podmanager.SourceHTTP)
	if len(p.names[source]) == 0 {
		source = podmanager.SourceAPI
	}
	if len(p.names[source]) == 0 {
		return "", source
	}
	return one(p.draw, p.names[source]...), source
}

func (p *planner) addPod() {
	source := one(p.draw, podmanager.SourceAPI, podmanager.SourceAPI, podmanager.SourceFile, podmanager.SourceHTTP)
	p.pods++
	name := fmt.Sprintf("%s%d", source, p.pods)
	if source == podmanager.SourceHTTP && len(p.names[podmanager.SourceFile]) > 0 && p.chance(30) {
		other := one(p.draw, p.names[podmanager.SourceFile]...)
		if !slices.Contains(p.names[source], other) {
			name = other // two sources, one name
		}
	}
	pod := newPod(p.draw, name, source)
	if p.cfg.Probes {
		p.addProbes(pod)
	}
	if p.cfg.Hooks {
		p.addHooks(pod)
	}
	if source == podmanager.SourceHTTP {
		pod.UID += "h"
		pod.Annotations[podmanager.AnnotationHash] = string(pod.UID)
	}
	p.names[source] = append(p.names[source], name)
	p.event(false, source+" has pod "+name+": "+describe(pod), func(w *world) { w.put(source, pod) })
}

func (p *planner) changePods() {
	if p.chance(30) && p.pods < 12 {
		p.addPod()
		return
	}
	name, source := p.somePod()
	switch p.IntN(6) {
	case 0:
		p.event(false, source+" drops "+name, func(w *world) { w.drop(source, name) })
	case 1:
		seconds := int64(p.IntN(40))
		p.event(false, fmt.Sprintf("%s deletes %s with %ds", source, name, seconds), func(w *world) {
			if pod := w.source(source).named(name); pod != nil && source == podmanager.SourceAPI {
				w.api.markDeleted(pod, seconds)
			} else {
				w.drop(source, name)
			}
		})
	case 2:
		p.event(false, source+" has "+name+" with another UID", func(w *world) { w.replace(source, name) })
	case 3:
		p.event(false, source+" has "+name+" back", func(w *world) { w.bringBack(source, name) })
	case 4:
		n := p.IntN(1000)
		p.event(false, source+" changes a label of "+name, func(w *world) {
			w.change(source, name, func(pod *v1.Pod) { pod.Labels = map[string]string{"version": fmt.Sprint(n)} })
		})
	default:
		if source != podmanager.SourceAPI {
			return
		}
		image := fmt.Sprintf("image:%d", p.IntN(1000))
		p.event(false, source+" changes the image of "+name, func(w *world) {
			w.change(source, name, func(pod *v1.Pod) { pod.Spec.Containers[0].Image = image })
		})
	}
}

// fault draws a fault.
func (p *planner) fault() {
	name, source := p.somePod()
	d := p.between(time.Second, one(p.draw, 5*time.Second, time.Minute, 10*time.Minute))
	n := p.IntN(100)
	switch {
	case n < 12:
		c, code := fmt.Sprintf("c%d", p.IntN(2)), one(p.draw, int32(0), 1, 42)
		p.event(true, fmt.Sprintf("container %s of %s exits with %d", c, name, code), func(w *world) { w.exit(source, name, c, code) })
	case n < 15:
		p.event(true, "the runtime loses track of c0 of "+name, func(w *world) { w.loseTrack(source, name, "c0") })
	case n < 19:
		p.event(true, "the sandbox of "+name+" fails", func(w *world) { w.failSandbox(source, name) })
	case n < 21:
		p.event(true, "the runtime forgets "+name, func(w *world) { w.forget(source, name) })
	case n < 24:
		p.pods++
		uid := types.UID(fmt.Sprintf("stray%d", p.pods))
		p.event(true, "the runtime invents "+string(uid), func(w *world) { w.invent(uid) })
	case n < 45:
		s := spell(p.IntN(int(spells)))
		p.event(true, fmt.Sprintf("%s for %s", spellNames[s], d), func(w *world) { w.cast(s, d) })
	case n < 55:
		what := one(p.draw, "SyncPod", "SyncPod", "KillPod", "KillPod", "PodStatus", "RemovePod", "RemoveVolumes")
		times, hangs := 1+p.IntN(4), time.Duration(0)
		f := fate{fails: p.chance(60), late: p.chance(40)}
		if !f.fails || p.chance(30) {
			hangs = d
		}
		p.event(true, fmt.Sprintf("%s of %s is disturbed %d times, for %s, %s", what, name, times, hangs, f), func(w *world) {
			w.disturb(source, name, callFault{what: what, times: times, fate: f, hangs: hangs})
		})
	case n < 60:
		p.event(true, fmt.Sprintf("source %s is silent for %s", source, d), func(w *world) { w.source(source).silent = time.Now().Add(d) })
	case n < 64:
		p.event(true, "source "+source+" says all again", func(w *world) { w.source(source).again() })
	case n < 68:
		cpu := int64(one(p.draw, 500, 1000, 3000, 6000))
		p.event(true, fmt.Sprintf("the node has %dm cpu", cpu), func(w *world) { w.resize(cpu) })
	case n < 71:
		p.event(true, "somebody deletes a mirror", func(w *world) { w.deleteMirror() })
	case n < 75:
		p.event(true, "the node runs short", func(w *world) { w.evict() })
	case n < 82:
		kind, v := one(p.draw, probe.Readiness, probe.Readiness, probe.Liveness), one(p.draw, probe.Success, probe.Failure)
		p.event(true, fmt.Sprintf("%s of %s: %s", kind, name, v), func(w *world) { w.probe(source, name, kind, v) })
	case n < 85:
		p.event(true, fmt.Sprintf("the agent gets no time for %s", d), func(w *world) { w.stall(d) })
	case n < 90:
		p.event(true, fmt.Sprintf("the agent is stopped for %s", d), func(w *world) { w.stop(d) })
	default:
		after := p.IntN(40)
		p.event(true, fmt.Sprintf("the agent is to be killed after %d actions, for %s", after, d), func(w *world) {
			w.killIn = after + 1
			w.upAgain = time.Now().Add(d)
		})
	}
}

// describe says in a few words what a pod is.
func describe(pod *v1.Pod) string {
	text := string(pod.Spec.RestartPolicy) + fmt.Sprintf(" grace=%s", grace(pod))
	if pod.Spec.ActiveDeadlineSeconds != nil {
		text += fmt.Sprintf(" deadline=%ds", *pod.Spec.ActiveDeadlineSeconds)
	}
	if critical(pod) {
		text += " critical"
	}
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			c := &list[i]
			text += fmt.Sprintf(" %s%v%v", c.Name, c.Command[1:], c.Args)
			if c.RestartPolicy != nil {
				text += " restart=" + string(*c.RestartPolicy)
			}
			if len(c.RestartPolicyRules) > 0 {
				text += " rule=" + string(c.RestartPolicyRules[0].Action)
			}
			if probed(pod, c) {
				text += describeProbes(c)
			}
			text += describeHooks(c)
		}
	}
	return text
}
