package simtest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/simtest"
)

// brokenProbes are what a manager says, and is told, with something wrong in between.
type brokenProbes struct {
	syncloop.Probes
	set  func(b *brokenProbes, c *probe.Container)
	take func(b *brokenProbes, p probe.Published) []probe.Published
	// runtime is what is wrong with the work on pods instead.
	runtime func(context.Context, runtime.Runtime, runtime.SyncRequest) (runtime.SyncResult, error)

	containers map[types.UID][]probe.Container
}

func (b *brokenProbes) Set(ref runtime.PodRef, containers ...probe.Container) {
	for i := range containers {
		if b.set != nil {
			b.set(b, &containers[i])
		}
	}
	b.containers[ref.UID] = containers
	b.Probes.Set(ref, containers...)
}

func (b *brokenProbes) Take() []probe.Published {
	taken := b.Probes.Take()
	if b.take == nil {
		return taken
	}
	var said []probe.Published
	for _, p := range taken {
		said = append(said, b.take(b, p)...)
	}
	return said
}

// saying returns a take that changes one kind of verdicts.
func saying(kind probe.Kind, verdict runtime.Verdict, say func(b *brokenProbes, p probe.Published) []probe.Published) func(*brokenProbes, probe.Published) []probe.Published {
	return func(b *brokenProbes, p probe.Published) []probe.Published {
		if p.Kind == kind && p.Verdict == verdict {
			return say(b, p)
		}
		return []probe.Published{p}
	}
}

func nothing(*brokenProbes, probe.Published) []probe.Published { return nil }

// ofAnother says of another container of the pod what was to be said of one.
func ofAnother(b *brokenProbes, p probe.Published) []probe.Published {
	for _, c := range b.containers[p.Pod.UID] {
		if c.Name != p.Container && c.State.Running {
			p.Container, p.ContainerID = c.Name, c.State.ContainerID
			break
		}
	}
	return []probe.Published{p}
}

// inherited says the opposite of what an earlier agent found.
func inherited(_ *brokenProbes, p probe.Published) []probe.Published {
	if p.At.IsZero() {
		p.Verdict = runtime.VerdictFailure
	}
	return []probe.Published{p}
}

// as says another verdict.
func as(verdict runtime.Verdict) func(*brokenProbes, probe.Published) []probe.Published {
	return func(_ *brokenProbes, p probe.Published) []probe.Published {
		p.Verdict = verdict
		return []probe.Published{p}
	}
}

// Each promise about probes is seen to be broken by probes that break it.
func TestBrokenProbesAreSeen(t *testing.T) {
	for name, c := range map[string]struct {
		broken brokenProbes
		want   string
	}{
		"ready before its probe": {
			brokenProbes{take: saying(probe.Readiness, runtime.VerdictSuccess, ofAnother)}, "is ready before its readiness probe succeeded",
		},
		"ready though the instance is another": {
			brokenProbes{set: func(_ *brokenProbes, c *probe.Container) { c.State.Ready = c.State.Running }}, "is ready before its readiness probe succeeded",
		},
		"started before its probe": {
			brokenProbes{take: saying(probe.Startup, runtime.VerdictFailure, as(runtime.VerdictSuccess))}, "has started before its startup probe succeeded",
		},
		"no gate": {
			brokenProbes{
				set:  func(_ *brokenProbes, c *probe.Container) { c.State.Started = true },
				take: saying(probe.Startup, runtime.VerdictSuccess, nothing),
			}, "is asked before its startup probe succeeded",
		},
		"restarts what is never to be": {
			brokenProbes{runtime: func(ctx context.Context, rt runtime.Runtime, req runtime.SyncRequest) (runtime.SyncResult, error) {
				req.Pod = req.Pod.DeepCopy()
				req.Pod.Spec.RestartPolicy = v1.RestartPolicyAlways
				return rt.SyncPod(ctx, req)
			}}, "is never to be restarted, and is as its probe failed",
		},
		"flaps with the agent": {
			brokenProbes{take: saying(probe.Readiness, runtime.VerdictSuccess, inherited)}, "is not ready any more, and no probe said so",
		},
		"restarts another": {
			brokenProbes{take: saying(probe.Liveness, runtime.VerdictFailure, ofAnother)}, "was stopped without a reason",
		},
		"restarts nothing after liveness": {
			brokenProbes{take: saying(probe.Liveness, runtime.VerdictFailure, nothing)}, "after its probe failed",
		},
		"restarts nothing after startup": {
			brokenProbes{take: saying(probe.Startup, runtime.VerdictFailure, nothing)}, "after its probe failed",
		},
		"never ready":   {brokenProbes{take: saying(probe.Readiness, runtime.VerdictSuccess, nothing)}, "is not ready although its probe succeeded"},
		"never unready": {brokenProbes{take: saying(probe.Readiness, runtime.VerdictFailure, nothing)}, "is ready although its probe failed"},
		"never started": {brokenProbes{take: saying(probe.Startup, runtime.VerdictSuccess, nothing)}, "has started, and is not said to have"},
		"probed while it stops": {
			brokenProbes{set: func(_ *brokenProbes, c *probe.Container) { c.State.Terminating = false }}, "is asked while its pod stops",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := simtest.Config{Probes: true, Events: 20, Change: func(with *syncloop.Config) {
				b := c.broken
				b.Probes, b.containers = with.Probes, map[types.UID][]probe.Container{}
				with.Probes = &b
			}}
			if c.broken.runtime != nil {
				cfg.Runtime = over(func(*runtimetest.Fake) runtimetest.Funcs { return runtimetest.Funcs{SyncPod: c.broken.runtime} })
			}
			var seen []string
			for seed := uint64(1); seed < 40; seed++ {
				failure, _ := simtest.Check(t, cfg, seed)
				if failure == nil {
					continue
				}
				if seen = append(seen, failure.Violation.Text); strings.Contains(failure.Violation.Text, c.want) {
					t.Log(seed, failure.Violation.Text)
					return
				}
			}
			require.Fail(t, "nothing was seen", "%q", seen)
		})
	}
}
