package synclooptest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/synclooptest"
)

// manage opens a probe.Manager.
func manage(cfg probe.Config) synclooptest.OpenProbes {
	return func(ctx context.Context, prober probe.Prober) (syncloop.Probes, error) {
		cfg.Prober = prober
		m, err := probe.NewManager(cfg)
		if err == nil {
			go func() { _ = m.Run(ctx) }()
		}
		return m, err
	}
}

func TestManagerKeepsTheRulesOfProbes(t *testing.T) {
	synclooptest.TestProbes(t, manage(probe.Config{}))
}

// The plainest probes that keep the rules: a goroutine looks at all of them, again and
// again.
func TestPlainProbesKeepTheRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, synclooptest.CheckProbes(t.Context(), func(ctx context.Context, prober probe.Prober) (syncloop.Probes, error) {
			p := &plainProbes{prober: prober, changed: make(chan struct{}, 1), pods: map[types.UID]*plainPod{}}
			go p.run(ctx)
			return p, nil
		}))
	})
}

type plainProbes struct {
	prober  probe.Prober
	changed chan struct{}

	mu   sync.Mutex
	pods map[types.UID]*plainPod
}

type plainPod struct {
	ref        runtime.PodRef
	containers []probe.Container
	probes     map[probe.Key]*plainProbe
}

type plainProbe struct {
	probe.Tracker
	kind        probe.Kind
	busy, dirty bool
}

func (p *plainProbes) Set(ref runtime.PodRef, containers ...probe.Container) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.pods[ref.UID]
	pod := &plainPod{ref, containers, map[probe.Key]*plainProbe{}}
	p.pods[ref.UID] = pod
	for i := range containers {
		for _, wanted := range containers[i].Probes {
			key := probe.Key{Pod: ref, Container: containers[i].Name, Probe: wanted.Name}
			one := &plainProbe{Tracker: probe.NewTracker(wanted.Kind, wanted.Settings, 0), kind: wanted.Kind}
			if old != nil && old.probes[key] != nil {
				one = old.probes[key]
			}
			one.SetSettings(wanted.Settings)
			pod.probes[key] = one
		}
		p.look(pod, &containers[i])
	}
}

func (p *plainProbes) look(pod *plainPod, c *probe.Container) {
	for _, wanted := range c.Probes {
		key := probe.Key{Pod: pod.ref, Container: c.Name, Probe: wanted.Name}
		state, startup := c.State, pod.probes[probe.Key{Pod: pod.ref, Container: c.Name, Probe: string(probe.Startup)}]
		state.NoAddress = c.IP == "" && wanted.Action.Exec == nil
		if wanted.Kind != probe.Startup && !state.Started {
			state.Started = startup == nil || startup.ContainerID() == state.ContainerID && startup.Verdict() == runtime.VerdictSuccess
		}
		p.say(pod.probes[key], pod.probes[key].Look(time.Now(), state))
	}
}

func (p *plainProbes) say(one *plainProbe, step probe.Step) {
	if !step.Changed {
		return
	}
	one.dirty = true
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

func (p *plainProbes) Remove(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pods, uid)
}

func (p *plainProbes) Changed() <-chan struct{} { return p.changed }

func (p *plainProbes) Take() (taken []probe.Published) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pod := range p.pods {
		for key, one := range pod.probes {
			if one.dirty {
				one.dirty = false
				taken = append(taken, probe.Published{Key: key, Kind: one.kind, ContainerID: one.ContainerID(), Verdict: one.Verdict()})
			}
		}
	}
	return taken
}

func (p *plainProbes) run(ctx context.Context) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			p.begin(ctx, now)
		}
	}
}

func (p *plainProbes) begin(ctx context.Context, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pod := range p.pods {
		for i := range pod.containers {
			c := &pod.containers[i]
			for _, wanted := range c.Probes {
				key := probe.Key{Pod: pod.ref, Container: c.Name, Probe: wanted.Name}
				one := pod.probes[key]
				if due := one.Due(); one.busy || due.IsZero() || due.After(now) {
					continue
				}
				one.busy = true
				target := probe.Target{Pod: pod.ref, Container: c.Name, ContainerID: one.ContainerID(), Probe: wanted.Name, IP: c.IP, Action: wanted.Action}
				go p.attempt(ctx, one, target, wanted.Timeout)
			}
		}
	}
}

func (p *plainProbes) attempt(ctx context.Context, one *plainProbe, target probe.Target, timeout time.Duration) {
	a := probe.Try(ctx, p.prober, target, timeout)
	p.mu.Lock()
	defer p.mu.Unlock()
	one.busy = false
	pod := p.pods[target.Pod.UID]
	if pod == nil || one.ContainerID() != target.ContainerID || one.Due().IsZero() {
		return // nobody wants to know any more
	}
	p.say(one, one.Record(time.Now(), a))
	for i := range pod.containers {
		p.look(pod, &pod.containers[i])
	}
}

// spoilt is a manager with something wrong between it and the suite.
type spoilt struct {
	syncloop.Probes
	set     func(c *probe.Container)
	take    func([]probe.Published) []probe.Published
	changed chan struct{}
	keep    bool // pods that are removed
	frozen  bool // what was said of a pod first
	known   map[types.UID]bool
}

func (s *spoilt) Set(ref runtime.PodRef, containers ...probe.Container) {
	if len(containers) == 0 && s.keep || s.frozen && s.known[ref.UID] {
		return
	}
	s.known[ref.UID] = true
	for i := range containers {
		if s.set != nil {
			s.set(&containers[i])
		}
	}
	s.Probes.Set(ref, containers...)
}

func (s *spoilt) Remove(uid types.UID) {
	if !s.keep {
		s.Probes.Remove(uid)
	}
}

func (s *spoilt) Changed() <-chan struct{} {
	if s.changed != nil {
		return s.changed
	}
	return s.Probes.Changed()
}

func (s *spoilt) Take() []probe.Published {
	taken := s.Probes.Take()
	if s.take != nil {
		return s.take(taken)
	}
	return taken
}

func each(change func(*probe.Published)) func([]probe.Published) []probe.Published {
	return func(taken []probe.Published) []probe.Published {
		for i := range taken {
			change(&taken[i])
		}
		return taken
	}
}

// Each deliberately broken one fails, and by the rule that it breaks.
func TestProbesSuiteFindsBrokenProbes(t *testing.T) {
	var last []probe.Published
	for name, c := range map[string]struct {
		rule string
		spoilt
		probe.Config
	}{
		"changes IDs":   {rule: "verdict", spoilt: spoilt{take: each(func(p *probe.Published) { p.ContainerID = "fake://" + p.ContainerID })}},
		"never signals": {rule: "verdict", spoilt: spoilt{changed: make(chan struct{})}},
		"says what there is": {rule: "beginning", spoilt: spoilt{take: func(taken []probe.Published) []probe.Published {
			return append(taken, probe.Published{Kind: probe.Readiness, ContainerID: "web-1", Verdict: runtime.VerdictFailure})
		}}},
		"repeats itself": {rule: "change", spoilt: spoilt{take: func(taken []probe.Published) []probe.Published {
			if len(taken) > 0 {
				last = taken
			}
			return last
		}}},
		"one failure is enough": {rule: "thresholds", spoilt: spoilt{set: func(c *probe.Container) { c.Probes[len(c.Probes)-1].FailureThreshold = 1 }}},
		"has no gate":           {rule: "gate", spoilt: spoilt{set: func(c *probe.Container) { c.State.Started = true }}},
		"goes on asking": {rule: "hold", spoilt: spoilt{
			set: func(c *probe.Container) {
				for i := range c.Probes {
					if c.Probes[i].Kind == probe.Liveness {
						c.Probes[i].Kind = probe.Readiness
					}
				}
			},
			take: each(func(p *probe.Published) { p.Kind = probe.Kind(p.Probe) }),
		}},
		"knows one instance": {rule: "instance", spoilt: spoilt{set: func(c *probe.Container) { c.State.ContainerID = c.Name + "-1" }}},
		"believes nobody":    {rule: "inherited", spoilt: spoilt{set: func(c *probe.Container) { c.State.Started, c.State.Ready = false, false }}},
		"asks the dead":      {rule: "running", spoilt: spoilt{set: func(c *probe.Container) { c.State.Running = true }}},
		"asks the dying":     {rule: "terminating", spoilt: spoilt{set: func(c *probe.Container) { c.State.Terminating = false }}},
		"forgets nothing":    {rule: "removed", spoilt: spoilt{keep: true}},
		"is frozen":          {rule: "settings", spoilt: spoilt{frozen: true}},
		"asks itself":        {rule: "address", spoilt: spoilt{set: func(c *probe.Container) { c.IP = "127.0.0.1" }}},
		"one at a time":      {rule: "others", Config: probe.Config{MaxInFlight: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := synclooptest.CheckProbes(t.Context(), func(ctx context.Context, prober probe.Prober) (syncloop.Probes, error) {
					s := c.spoilt
					s.known = map[types.UID]bool{}
					if s.changed != nil {
						s.changed = make(chan struct{})
					}
					var err error
					s.Probes, err = manage(c.Config)(ctx, prober)
					return &s, err
				})
				require.Contains(t, conformance.Broken(err), c.rule, "%v", err)
			})
		})
	}
}

// Whoever probes by other means has the suite look at it, with a prober of the suite's.
func ExampleCheckProbes() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err := synclooptest.CheckProbes(ctx, func(ctx context.Context, prober probe.Prober) (syncloop.Probes, error) {
		m, err := probe.NewManager(probe.Config{Prober: prober})
		if err == nil {
			go func() { _ = m.Run(ctx) }()
		}
		return forgetful{m}, err
	})
	fmt.Println(conformance.Broken(err))
	// Output:
	// [removed]
}

// forgetful does not know that pods go.
type forgetful struct{ *probe.Manager }

func (forgetful) Remove(types.UID) {}
