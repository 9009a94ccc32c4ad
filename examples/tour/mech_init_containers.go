package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
)

func walkInitContainers(_ context.Context, p *page) error {
	p.intro(`Plan takes a pod, what is observed of it and the time, and says what one pass
		should do. It is asked again after each pass. Init containers run one after the
		other; the others wait until the last one has ended well.`)
	e := newEngine(newPod("web", inits("fetch", "migrate"), containers("server", "logger")))

	p.step("Nothing is there", "runtime.Plan")
	e.pass(p)
	p.why("A pod needs a sandbox, the place that its containers share, and then its first container.")

	p.step("fetch runs", "runtime.Plan")
	e.pass(p)

	p.step("fetch has ended well", "runtime.Plan")
	e.exit("fetch", 0)
	e.pass(p)

	p.step("migrate fails", "runtime.Plan")
	e.exit("migrate", 1)
	e.pass(p)
	p.why(`The pod's restart policy is Always, so migrate is tried again. It is the first
		restart, which does not wait. fetch is not repeated.`)

	p.step("migrate has ended well", "runtime.Plan")
	e.exit("migrate", 0)
	e.pass(p)
	p.why("The regular containers start together.")

	p.step("An init container that may not be repeated", "runtime.Plan")
	once := newEngine(newPod("job", policy(v1.RestartPolicyNever), inits("fetch"), containers("main")))
	once.carryOut(once.plan())
	once.exit("fetch", 1)
	once.pass(p)
	p.why("With the policy Never the pod has failed: main can never start.")
	return nil
}
