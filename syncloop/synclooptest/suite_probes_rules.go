package synclooptest

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/runtime"
)

func checkProbesBeginning(ctx context.Context, p *probed) error {
	web := instance("web", "web-1", probe.Startup, probe.Readiness, probe.Liveness)
	for i := range web.Probes {
		web.Probes[i].InitialDelay = time.Hour
	}
	p.Set(podRef("a"), web)
	if err := p.quiet(ctx, "web"); err != nil {
		return err
	}
	return p.untold()
}

func checkProbesChange(ctx context.Context, p *probed) error {
	p.Set(podRef("a"), instance("web", "web-1", probe.Readiness))
	if err := p.heard(ctx, "web", "web-1", probe.Readiness, runtime.VerdictSuccess); err != nil {
		return err
	}
	if err := p.asked(ctx, "web", 5); err != nil {
		return err
	}
	if err := p.untold(); err != nil {
		return err
	}
	p.prober.Script("web", broken)
	return p.heard(ctx, "web", "web-1", probe.Readiness, runtime.VerdictFailure)
}

func checkProbesThresholds(ctx context.Context, p *probed) error {
	web := instance("web", "web-1", probe.Readiness)
	web.Probes[0].FailureThreshold = 3
	p.Set(podRef("a"), web)
	if err := p.heard(ctx, "web", "web-1", probe.Readiness, runtime.VerdictSuccess); err != nil {
		return err
	}
	p.prober.Script("web", broken, broken, works, broken, broken, works)
	if err := p.asked(ctx, "web", 8); err != nil {
		return err
	}
	if err := p.untold(); err != nil {
		return err
	}
	p.prober.Script("web", broken)
	return p.heard(ctx, "web", "web-1", probe.Readiness, runtime.VerdictFailure)
}

func checkProbesGate(ctx context.Context, p *probed) error {
	web := instance("web", "web-1", probe.Startup, probe.Readiness, probe.Liveness)
	web.Probes[0].FailureThreshold = 1 << 20
	p.prober.Script("web/startup", broken)
	p.Set(podRef("a"), web)
	if err := p.asked(ctx, "web/startup", 5); err != nil {
		return err
	}
	for _, kind := range []string{"readiness", "liveness"} {
		if n := p.prober.Probes("web/" + kind); n > 0 {
			return fmt.Errorf("%s was asked %d times before startup succeeded", kind, n)
		}
	}
	p.prober.Script("web/startup", works)
	if err := p.asked(ctx, "web/liveness", 1); err != nil {
		return err
	}
	return p.heard(ctx, "web", "web-1", probe.Readiness, runtime.VerdictSuccess)
}

func checkProbesHold(ctx context.Context, p *probed) error {
	p.prober.Script("web", broken)
	p.Set(podRef("a"), instance("web", "web-1", probe.Liveness))
	if err := p.heard(ctx, "web", "web-1", probe.Liveness, runtime.VerdictFailure); err != nil {
		return err
	}
	if err := p.quiet(ctx, "web"); err != nil {
		return err
	}
	p.Set(podRef("a"), instance("web", "web-2", probe.Liveness))
	return p.heard(ctx, "web", "web-2", probe.Liveness, runtime.VerdictFailure)
}

func checkProbesInstance(ctx context.Context, p *probed) error {
	p.Set(podRef("a"), instance("web", "web-1", probe.Readiness))
	if err := p.heard(ctx, "web", "web-1", probe.Readiness, runtime.VerdictSuccess); err != nil {
		return err
	}
	p.prober.Script("web", silent)
	next := instance("web", "web-2", probe.Readiness)
	next.Probes[0].Timeout = often
	p.Set(podRef("a"), next)
	if err := p.asked(ctx, "web", 3); err != nil {
		return err
	}
	if err := p.untold(); err != nil {
		return err
	}
	p.prober.Script("web", works)
	return p.heard(ctx, "web", "web-2", probe.Readiness, runtime.VerdictSuccess)
}

func checkProbesInherited(ctx context.Context, p *probed) error {
	web := instance("web", "web-1", probe.Startup, probe.Readiness)
	web.Probes[1].FailureThreshold = 3
	web.State.Started, web.State.Ready = true, true
	p.prober.Script("web/readiness", broken, works)
	p.Set(podRef("a"), web)
	if err := p.asked(ctx, "web/readiness", 5); err != nil {
		return err
	}
	for _, said := range p.Take() {
		if said.Verdict != runtime.VerdictSuccess {
			return fmt.Errorf("told: %+v", said)
		}
	}
	if n := p.prober.Probes("web/startup"); n > 0 {
		return fmt.Errorf("startup was asked %d times of a container that has started", n)
	}
	p.prober.Script("web/readiness", broken)
	return p.heard(ctx, "web", "web-1", probe.Readiness, runtime.VerdictFailure)
}

func checkProbesRunning(ctx context.Context, p *probed) error {
	web := instance("web", "web-1", probe.Readiness, probe.Liveness)
	p.Set(podRef("a"), web)
	if err := p.asked(ctx, "web/liveness", 1); err != nil {
		return err
	}
	web.State.Running = false
	p.Set(podRef("a"), web)
	return p.quiet(ctx, "web")
}

func checkProbesTerminating(ctx context.Context, p *probed) error {
	web := instance("web", "web-1", probe.Readiness, probe.Liveness)
	web.State.Started = true
	p.Set(podRef("a"), web)
	if err := p.heard(ctx, "web", "web-1", probe.Readiness, runtime.VerdictSuccess); err != nil {
		return err
	}
	web.State.Terminating = true
	p.Set(podRef("a"), web)
	if err := p.quiet(ctx, "web/liveness"); err != nil {
		return err
	}
	p.prober.Script("web/readiness", broken)
	return p.heard(ctx, "web", "web-1", probe.Readiness, runtime.VerdictFailure)
}

func checkProbesRemoved(ctx context.Context, p *probed) error {
	for _, remove := range []func(){
		func() { p.Remove(podRef("a").UID) },
		func() { p.Set(podRef("a")) },
	} {
		p.prober.Script("web", works)
		p.Set(podRef("a"), instance("web", "web-1", probe.Readiness))
		if err := p.heard(ctx, "web", "web-1", probe.Readiness, runtime.VerdictSuccess); err != nil {
			return err
		}
		remove()
		p.prober.Script("web", broken)
		if err := p.quiet(ctx, "web"); err != nil {
			return err
		}
		if err := p.untold(); err != nil {
			return err
		}
	}
	return nil
}

func checkProbesSettings(ctx context.Context, p *probed) error {
	web := instance("web", "web-1", probe.Readiness)
	web.Probes[0].Period = time.Hour
	p.Set(podRef("a"), web)
	if err := p.heard(ctx, "web", "web-1", probe.Readiness, runtime.VerdictSuccess); err != nil {
		return err
	}
	changed := instance("web", "web-1", probe.Readiness)
	changed.State = web.State
	p.Set(podRef("a"), changed)
	return p.asked(ctx, "web", 3)
}

func checkProbesAddress(ctx context.Context, p *probed) error {
	web := instance("web", "web-1", probe.Readiness)
	web.Probes[0].Action = v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{}}
	p.Set(podRef("a"), web)
	if err := p.quiet(ctx, "web"); err != nil {
		return err
	}
	web.IP = "192.0.2.7"
	p.Set(podRef("a"), web)
	return p.heard(ctx, "web", "web-1", probe.Readiness, runtime.VerdictSuccess)
}

func checkProbesOthers(ctx context.Context, p *probed) error {
	p.prober.Script("hangs", silent)
	for i := range 100 {
		c := instance("hangs", fmt.Sprint("hangs-", i), probe.Liveness)
		c.Probes[0].Timeout = time.Second
		p.Set(podRef(fmt.Sprint("hangs-", i)), c)
	}
	if err := p.asked(ctx, "hangs", 1); err != nil {
		return err
	}
	p.Set(podRef("a"), instance("web", "web-1", probe.Readiness))
	if err := p.heard(ctx, "web", "web-1", probe.Readiness, runtime.VerdictSuccess); err != nil {
		return err
	}
	began := time.Now()
	for i := range 100 {
		p.Remove(podRef(fmt.Sprint("hangs-", i)).UID)
	}
	if took := time.Since(began); took > verdictWithin {
		return errors.New("Remove took " + took.String())
	}
	return nil
}
