// Package probetest has a scripted prober and a suite for anyone's Prober.
package probetest

import (
	"context"
	"sync"

	"github.com/kubeparts/kubeparts/probe"
)

// Prober answers from a script, by container name. It is safe for concurrent
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

// Script sets the answers for a container; each serves one probe, and the last
// one all that follow.
func (p *Prober) Script(container string, answers ...Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.script == nil {
		p.script = make(map[string][]Answer)
	}
	p.script[container] = answers
}

// Probes is how often the container was probed.
func (p *Prober) Probes(container string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.probes[container]
}

// Probe implements [probe.Prober].
func (p *Prober) Probe(ctx context.Context, target probe.Target) (probe.Response, error) {
	if err := ctx.Err(); err != nil {
		return probe.Response{}, err
	}
	a := p.next(target.Container)
	if a.Hang {
		<-ctx.Done()
		return probe.Response{}, ctx.Err()
	}
	return a.Response, a.Err
}

func (p *Prober) next(container string) Answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.probes == nil {
		p.probes = make(map[string]int)
	}
	p.probes[container]++
	answers := p.script[container]
	if len(answers) == 0 {
		return Answer{Response: probe.Response{Result: probe.Success}}
	}
	if len(answers) > 1 {
		p.script[container] = answers[1:]
	}
	return answers[0]
}
