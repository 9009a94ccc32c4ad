package main

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

func walkSidecars(_ context.Context, p *page) error {
	p.intro(`A sidecar is an init container with a restart policy Always of its own. It is
		started in its turn and not waited for; it is restarted whatever the pod's
		policy says; and it does not keep a finished pod alive.`)
	e := newEngine(newPod("job", policy(v1.RestartPolicyNever), sidecar("proxy"), containers("main")))

	p.step("The sidecar first", "runtime.IsSidecar", "runtime.Plan")
	e.pass(p)

	p.step("It runs, so the rest may start", "runtime.Plan")
	e.pass(p)

	p.step("The sidecar crashes", "runtime.Plan")
	e.exit("proxy", 1)
	e.pass(p)
	p.why("The pod's own policy is Never. The sidecar's counts for it.")

	p.step("main is done", "runtime.Plan")
	e.exit("main", 0)
	e.pass(p)
	p.why("No regular container runs or will run, so the sidecar is stopped, too.")

	p.step("With a startup probe the rest waits for it", "runtime.Plan")
	e = newEngine(newPod("web", sidecar("proxy"), containers("server"), func(p *v1.Pod) {
		p.Spec.InitContainers[0].StartupProbe = &v1.Probe{}
	}))
	e.carryOut(e.plan())
	e.pass(p)
	e.probes.Startup = map[string]runtime.Verdict{"c1": runtime.VerdictSuccess}
	p.in("startup probe of proxy: success")
	p.out("%s", showActions(e.plan()))
	p.why("Whoever relies on a sidecar finds it ready.")
	return nil
}
