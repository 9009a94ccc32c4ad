package simtest

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/runtime"
)

// probing probes the containers of one agent, in a plan without probes of its own:
// real trackers, whose attempts are made by events of the plan.
type probing struct {
	mu      sync.Mutex
	pods    map[types.UID]map[probeKey]*tracked
	dirty   []*tracked
	changed chan struct{}
}

type probeKey struct {
	container string
	kind      probe.Kind
}

type tracked struct {
	probe.Tracker
	key   probe.Key
	kind  probe.Kind
	dirty bool
}

func newProbing() *probing {
	return &probing{pods: map[types.UID]map[probeKey]*tracked{}, changed: make(chan struct{}, 1)}
}

// Set implements [syncloop.Probes].
func (p *probing) Set(ref runtime.PodRef, containers ...probe.Container) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.pods[ref.UID]
	p.pods[ref.UID] = map[probeKey]*tracked{}
	for _, c := range containers {
		for _, one := range c.Probes {
			key := probeKey{c.Name, one.Kind}
			t := old[key]
			if t == nil {
				t = &tracked{
					Tracker: probe.NewTracker(one.Kind, one.Settings, 0), kind: one.Kind,
					key: probe.Key{Pod: ref, Container: c.Name, Probe: one.Name},
				}
			}
			p.pods[ref.UID][key] = t
			state := c.State
			state.Started = true // no plan has startup probes
			p.follow(t, t.Look(time.Now(), state))
		}
	}
}

// Remove implements [syncloop.Probes].
func (p *probing) Remove(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pods, uid)
}

// Changed implements [syncloop.Probes].
func (p *probing) Changed() <-chan struct{} { return p.changed }

// Take implements [syncloop.Probes].
func (p *probing) Take() (taken []probe.Published) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.dirty {
		t.dirty = false
		taken = append(taken, probe.Published{Key: t.key, Kind: t.kind, ContainerID: t.ContainerID(), Verdict: t.Verdict()})
	}
	p.dirty = nil
	return taken
}

func (p *probing) follow(t *tracked, step probe.Step) {
	if !step.Changed {
		return
	}
	if !t.dirty {
		t.dirty = true
		p.dirty = append(p.dirty, t)
	}
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// attempt makes an attempt of a probe come to a result, and returns the instance
// that it was made of; empty if it is not to be made now.
func (p *probing) attempt(uid types.UID, container string, kind probe.Kind, result probe.Result) (id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.pods[uid][probeKey{container, kind}]
	if t == nil || t.Due().IsZero() {
		return ""
	}
	p.follow(t, t.Record(time.Now(), probe.Attempt{Response: probe.Response{Result: result}}))
	return t.ContainerID()
}

// waiting tells whether there is something to take.
func (p *probing) waiting() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.dirty) > 0
}

// probe lets a probe of a pod's first container come to a result.
func (w *world) probe(source, name string, kind probe.Kind, result probe.Result) {
	p := w.target(source, name)
	if p == nil || w.agent == nil || w.cfg.Probes {
		return
	}
	id := w.agent.probing.attempt(p.UID, "c0", kind, result)
	if id != "" {
		p.health(id).published(kind, result) // once is enough
	}
}

// once is a probe of which one attempt makes a verdict.
func once() *v1.Probe { return &v1.Probe{FailureThreshold: 1} }
