package simtest

import (
	goruntime "runtime"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/podmanager/checkpoint"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/synclooptest"
)

// Config says what is put to the test. Its zero value is the library itself, over
// fakes.
type Config struct {
	// Runtime makes an empty runtime, which outlives the agents of its node; nil makes a
	// [runtimetest.Fake]. Its containers behave as [Script] says to the letter, for an
	// exit code of 143, or of 137 with the Reason Error, is taken for a stop, and their
	// hooks as [Hook] does. It does no I/O that is not part of its bubble, and waits on
	// nothing but channels and time. One that is a [Breaker] is broken, too.
	Runtime func() runtime.Runtime
	// Store makes an empty store; nil makes a [synclooptest.Store].
	Store func() syncloop.Store
	// Checkpoints makes an empty place for checkpoints, and returns how each agent
	// opens it anew; they are the store too, then. Nil has none.
	Checkpoints func() func() *checkpoint.Folder
	// Checks judge pods; nil has admission.NodeFit alone. All nodes share them, at the
	// same time: one that keeps something of its own is made anew in Change.
	Checks []admission.Check
	// Evict chooses the pods to evict when the node runs short; nil chooses
	// one that may be evicted, now and then.
	Evict func(pods []*syncloop.PodView) []types.UID
	// Pressure has memory run short now and then. Each agent has an
	// eviction.Manager then, which evicts and keeps pods out.
	Pressure bool
	// Preempt has critical pods take the place of others, and all pods reserve
	// something.
	Preempt bool
	// Change has the last word on the configuration of each agent; nil leaves
	// it.
	Change func(*syncloop.Config)

	// Resizes has running pods ask for other resources, too. It is no part of
	// a plan by default, so that each seed means what it meant before.
	Resizes bool
	// Probes has containers with startup, readiness and liveness probes, which a
	// probe.Manager makes. Without it each container has a liveness probe and some
	// a readiness probe, whose few attempts are events.
	Probes bool
	// Hooks has containers with postStart and preStop hooks, which take their time,
	// fail and hang, and the agent killed while they run.
	Hooks bool
	// Events is how many events a plan has, beside its first pods; default 30.
	Events int
}

func (c Config) withDefaults() Config {
	if c.Runtime == nil {
		c.Runtime = func() runtime.Runtime { return runtimetest.NewFake(runtimetest.FakeConfig{Script: Script, Hook: Hook}) }
	}
	if c.Store == nil {
		c.Store = func() syncloop.Store { return &synclooptest.Store{} }
	}
	if c.Checks == nil {
		c.Checks = []admission.Check{{Name: "NodeFit", Handler: admission.NodeFit{}}}
	}
	if c.Events <= 0 {
		c.Events = 30
	}
	return c
}

// Run lets a node live through each of so many seeds, and reports those that break
// a promise as errors of the test, with the shortest way to it. It leaves the rest out
// after the third, and when go test's time is nearly up, which is an error too. With -v
// it tells how it gets on. As many nodes live at a time as there are processors. It
// returns what the runs were made of.
func Run(t *testing.T, cfg Config, from, seeds uint64) Stats {
	t.Helper()
	r := &runs{began: time.Now(), told: time.Now(), next: from, end: from + seeds}
	if deadline, ok := t.Deadline(); ok {
		r.until = deadline.Add(-lastSeed)
	}
	t.Run("nodes", func(t *testing.T) {
		for range goruntime.GOMAXPROCS(0) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for seed, ok := r.take(); ok; seed, ok = r.take() {
					failure, stats := Check(t, cfg, seed)
					if failure != nil {
						t.Error(failure.String())
					}
					if progress := r.add(stats, failure != nil); progress != "" {
						t.Log(progress)
					}
				}
			})
		}
	})
	t.Log(r.progress())
	if r.next < r.end && r.timeUp() {
		t.Errorf("the time of go test is up before seed %d: -timeout 0 gives all the time there is", r.next)
	}
	return r.total
}

// lastSeed is how long before the end of go test's time no seed is begun any more: the
// way to a failure takes seconds to shorten.
const lastSeed = 30 * time.Second

// Check lets a node live through one seed. The failure is nil if all promises
// were kept; the test itself does not fail.
func Check(t *testing.T, cfg Config, seed uint64) (*Failure, Stats) {
	t.Helper()
	cfg = cfg.withDefaults()
	p := newPlan(seed, cfg)
	broken, stats := liveThrough(t, cfg, p, nil)
	if broken == nil {
		return nil, stats
	}
	return shrink(t, cfg, p, *broken), stats
}

// liveThrough lets a node live through a plan, in a bubble of its own.
func liveThrough(t *testing.T, cfg Config, p *plan, tr *trace) (broken *Violation, stats Stats) {
	synctest.Test(t, func(*testing.T) {
		w := newWorld(cfg, p, tr)
		w.live()
		broken, stats = w.broken.Load(), w.stats
	})
	return broken, stats
}
