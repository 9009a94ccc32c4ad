// Package probetest has a scripted prober, a driver that takes a probe.Tracker
// through time, and a suite for anyone's Prober.
package probetest

import (
	"context"
	"sync"

	"github.com/kubeparts/kubeparts/probe"
)

// Prober answers from a script, by container name or by container and probe
// ("web/readiness"), where the latter goes first. It is safe for concurrent
// use; the zero value says Success to everything. It does not look at the
// action of a target, and keeps no time.
type Prober struct {
	mu     sync.Mutex
	script map[string][]Answer
	probes map[string]int
}

// Answer is one answer of a scripted prober.
type Answer struct {
	probe.Response
	Err error
	// Hang makes the probe wait for the end of its context, whose error it
	// then returns.
	Hang bool
}

// Script sets the answers for a container or one of its probes; each serves one probe, and the last
// one all that follow.
func (p *Prober) Script(name string, answers ...Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.script == nil {
		p.script = make(map[string][]Answer)
	}
	p.script[name] = answers
}

// Probes is how often the container, or one of its probes, was probed.
func (p *Prober) Probes(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.probes[name]
}

// Probe implements [probe.Prober].
func (p *Prober) Probe(ctx context.Context, target probe.Target) (probe.Response, error) {
	if err := ctx.Err(); err != nil {
		return probe.Response{}, err
	}
	a := p.next(target)
	if a.Hang {
		<-ctx.Done()
		return probe.Response{}, ctx.Err()
	}
	return a.Response, a.Err
}

func (p *Prober) next(target probe.Target) Answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.probes == nil {
		p.probes = make(map[string]int)
	}
	name, single := target.Container, target.Container+"/"+target.Probe
	p.probes[name]++
	p.probes[single]++
	if _, ok := p.script[single]; ok {
		name = single
	}
	answers := p.script[name]
	if len(answers) == 0 {
		return Answer{Response: probe.Response{Result: probe.Success}}
	}
	if len(answers) > 1 {
		p.script[name] = answers[1:]
	}
	return answers[0]
}
