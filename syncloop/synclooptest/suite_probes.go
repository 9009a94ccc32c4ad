package synclooptest

import (
	"context"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/probe/probetest"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop"
)

// OpenProbes makes a [syncloop.Probes] that asks containers with the given prober, as
// often as they say, until the context ends.
type OpenProbes func(ctx context.Context, prober probe.Prober) (syncloop.Probes, error)

// TestProbes checks each rule of a [syncloop.Probes] in a subtest, each with one of its
// own. What is slow about it is slow for the suite: it makes probes every 20 ms.
func TestProbes(t *testing.T, open OpenProbes) {
	t.Helper()
	probesRules.Test(t, func(*testing.T) conformance.Open[*probed] { return open.subject }, conformance.Options{})
}

// CheckProbes is [TestProbes] without package testing: the error joins a
// [RuleError] for each rule that is broken.
func CheckProbes(ctx context.Context, open OpenProbes) error {
	return probesRules.Check(ctx, open.subject, conformance.Options{})
}

var probesRules = conformance.Rules[*probed]{
	{Name: "verdict", Text: "a verdict is told of its pod, container, kind and instance, the ID as it was given", Check: checkProbesVerdict},
	{Name: "beginning", Text: "what an instance begins with is no change: nothing is told before an attempt", Check: checkProbesBeginning},
	{Name: "change", Text: "a verdict is told once, and again when it has changed", Check: checkProbesChange},
	{Name: "thresholds", Text: "as many attempts in a row make a verdict as the probe says", Check: checkProbesThresholds},
	{Name: "gate", Text: "readiness and liveness wait for the startup probe of their instance", Check: checkProbesGate},
	{Name: "hold", Text: "after liveness has failed nobody asks until the next instance runs", Check: checkProbesHold},
	{Name: "instance", Text: "the next instance begins anew, and nothing is told of the one before", Check: checkProbesInstance},
	{Name: "inherited", Text: "what has started and is ready when it is first seen is so until its probes say otherwise", Check: checkProbesInherited},
	{Name: "running", Text: "what does not run is not asked", Check: checkProbesRunning},
	{Name: "terminating", Text: "of a pod that stops only readiness goes on being asked", Check: checkProbesTerminating},
	{Name: "removed", Text: "a pod that was removed is not asked, and nothing is told of it", Check: checkProbesRemoved},
	{Name: "settings", Text: "what Set says of a probe replaces what was said before", Check: checkProbesSettings},
	{Name: "address", Text: "a probe that needs an address waits until there is one", Check: checkProbesAddress},
	{Name: "others", Text: "probes that hang hold up neither those of other pods nor a call", Check: checkProbesOthers},
}

const (
	often = 20 * time.Millisecond
	// verdictWithin is how long a verdict may take that a few attempts make.
	verdictWithin = 10 * time.Second
)

var (
	works  = probetest.Answer{Response: probe.Response{Result: probe.Success}}
	broken = probetest.Answer{Response: probe.Response{Result: probe.Failure, Output: "broken"}}
	silent = probetest.Answer{Hang: true}
)

// probed is what is put to the test, and who answers it.
type probed struct {
	syncloop.Probes
	prober *probetest.Prober
}

func (open OpenProbes) subject(ctx context.Context) (*probed, func() error, error) {
	prober := &probetest.Prober{}
	p, err := open(ctx, prober)
	return &probed{p, prober}, nil, err
}

func podRef(name string) runtime.PodRef {
	return runtime.PodRef{Namespace: "default", Name: name, UID: types.UID("uid-" + name)}
}

// instance is a container that runs, with probes of some kinds.
func instance(name, id string, kinds ...probe.Kind) probe.Container {
	c := probe.Container{Name: name, State: probe.State{ContainerID: id, Running: true, StartedAt: time.Now()}}
	for _, kind := range kinds {
		c.Probes = append(c.Probes, probe.Probe{
			Name: string(kind), Kind: kind,
			Settings: probe.Settings{Period: often, Timeout: verdictWithin, FailureThreshold: 1},
			Action:   v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"check"}}},
		})
	}
	return c
}

// heard waits for a verdict, and takes it.
func (p *probed) heard(ctx context.Context, container, id string, kind probe.Kind, verdict runtime.Verdict) error {
	limit := time.NewTimer(verdictWithin)
	defer limit.Stop()
	var others []probe.Published
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
			return fmt.Errorf("nobody said %s of %s of %s, but %+v", verdict, kind, id, others)
		case <-p.Changed():
		}
		for _, said := range p.Take() {
			if said.Container == container && said.Kind == kind && said.ContainerID == id && said.Verdict == verdict {
				return nil
			}
			others = append(others, said)
		}
	}
}

// asked waits until a probe was asked so many times more.
func (p *probed) asked(ctx context.Context, name string, times int) error {
	limit, tick := time.NewTimer(verdictWithin), time.NewTicker(often/2)
	defer limit.Stop()
	defer tick.Stop()
	for want := p.prober.Probes(name) + times; p.prober.Probes(name) < want; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
			return fmt.Errorf("%s is not asked", name)
		case <-tick.C:
		}
	}
	return nil
}

// quiet lets some periods pass and fails if a probe was asked meanwhile. An attempt
// that had begun may end first.
func (p *probed) quiet(ctx context.Context, name string) error {
	if err := pause(ctx, 5*often); err != nil {
		return err
	}
	before := p.prober.Probes(name)
	if err := pause(ctx, 10*often); err != nil {
		return err
	}
	if after := p.prober.Probes(name); after != before {
		return fmt.Errorf("%s was asked %d times", name, after-before)
	}
	return nil
}

// untold fails if there is anything to take.
func (p *probed) untold() error {
	if said := p.Take(); len(said) > 0 {
		return fmt.Errorf("told: %+v", said)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func checkProbesVerdict(ctx context.Context, p *probed) error {
	p.prober.Script("sick", broken)
	p.Set(podRef("a"), instance("web", "web-1", probe.Startup, probe.Readiness), instance("sick", "sick-1", probe.Liveness))
	for _, want := range []struct {
		container, id string
		kind          probe.Kind
		verdict       runtime.Verdict
	}{
		{"web", "web-1", probe.Startup, runtime.VerdictSuccess},
		{"web", "web-1", probe.Readiness, runtime.VerdictSuccess},
	} {
		if err := p.heard(ctx, want.container, want.id, want.kind, want.verdict); err != nil {
			return err
		}
	}
	p.Remove(podRef("a").UID)
	p.Set(podRef("b"), instance("sick", "sick-2", probe.Liveness))
	return p.heard(ctx, "sick", "sick-2", probe.Liveness, runtime.VerdictFailure)
}
