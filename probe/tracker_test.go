package probe

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// A start that the status tells has no reading of the clock that nobody sets. Were
// the schedule to go by it, no probe would be made for as long as the clock is set
// back.
func TestScheduleGoesByTheClockThatNobodySets(t *testing.T) {
	for name, started := range map[string]time.Duration{"just now": -time.Second, "long ago": -time.Hour, "in a year": 365 * 24 * time.Hour} {
		now := time.Now()
		tracker := NewTracker(Readiness, Settings{}, 0.5)
		tracker.Look(now, State{ContainerID: "1", Running: true, Started: true, StartedAt: now.Add(started).Round(0)})
		for range 3 {
			due := tracker.Due()
			require.NotEqual(t, due.Round(0).String(), due.String(), "%s: due has its monotonic reading", name)
			require.Less(t, due.Sub(now), 20*time.Second, name)
			now = due
			tracker.Record(now, Attempt{Response: Response{Result: Success}})
		}
	}
}

// The new settings hold for the attempt that was planned by the old ones.
func TestNewSettingsMoveTheNextAttempt(t *testing.T) {
	now := time.Now()
	state := State{ContainerID: "1", Running: true, Started: true, StartedAt: now}
	for name, c := range map[string]struct {
		attempts int
		attempt  Attempt
		change   func(*Settings)
		want     time.Duration
	}{
		"shorter delay":              {0, Attempt{}, func(s *Settings) { s.InitialDelay = time.Minute }, time.Minute},
		"longer delay":               {0, Attempt{}, func(s *Settings) { s.InitialDelay = 2 * time.Hour }, 2 * time.Hour},
		"period before the first":    {0, Attempt{}, func(s *Settings) { s.Period = time.Second }, time.Hour},
		"period":                     {1, Attempt{Response: Response{Result: Success}}, func(s *Settings) { s.Period = time.Minute }, time.Hour + time.Minute},
		"period of one that errs":    {1, Attempt{Err: ErrTimedOut}, func(s *Settings) { s.Period = time.Minute }, time.Hour + time.Minute},
		"delay after the first time": {1, Attempt{Err: ErrTimedOut}, func(s *Settings) { s.InitialDelay = 0 }, 3 * time.Hour},
	} {
		s := Settings{InitialDelay: time.Hour, Period: 2 * time.Hour}
		tracker := NewTracker(Readiness, s, 0)
		tracker.Look(now, state)
		for range c.attempts {
			tracker.Record(tracker.Due(), c.attempt)
		}
		c.change(&s)
		tracker.SetSettings(s)
		require.Equal(t, c.want, tracker.Due().Sub(now), name)
	}
}

// An instance may be known long before it starts: its image is read, or its engine
// slow. Its delay counts from the start all the same, and it starts with a clean slate.
func TestDelayCountsFromTheStartOfAnInstanceThatWasKnownBefore(t *testing.T) {
	for kind, initial := range map[Kind]runtime.Verdict{
		Startup: runtime.VerdictUnknown, Readiness: runtime.VerdictFailure, Liveness: runtime.VerdictSuccess, Observe: runtime.VerdictUnknown,
	} {
		settings := Settings{InitialDelay: 30 * time.Second}
		tracker := NewTracker(kind, settings, 0.5)
		now := time.Now()
		tracker.Look(now, State{ContainerID: "1"})
		require.Zero(t, tracker.Due(), kind)
		settings.InitialDelay = 20 * time.Second
		tracker.SetSettings(settings)
		now = now.Add(time.Minute)
		running := State{ContainerID: "1", Running: true, Started: kind != Startup, StartedAt: now.Add(-time.Second)}
		tracker.Look(now, running)
		require.Equal(t, 19*time.Second, tracker.Due().Sub(now), kind)
		require.Equal(t, initial, tracker.Verdict(), kind)
		tracker.Look(now.Add(time.Second), running)
		require.Equal(t, 19*time.Second, tracker.Due().Sub(now), kind)
	}
}

// Whatever numbers a manifest has, the next attempt is a little ahead.
func TestSettingsWithoutSense(t *testing.T) {
	for name, s := range map[string]Settings{
		"below zero": {InitialDelay: -time.Hour, Period: -time.Second, Timeout: -1, SuccessThreshold: -5, FailureThreshold: -5},
		"zero":       {},
		"tiny":       {Period: 1, Timeout: 1},
		"of the API": SettingsOf(&v1.Probe{
			InitialDelaySeconds: -1 << 31, PeriodSeconds: -1 << 31, TimeoutSeconds: -1 << 31, SuccessThreshold: -1 << 31, FailureThreshold: -1 << 31,
		}),
		"long, of the API": SettingsOf(&v1.Probe{
			InitialDelaySeconds: 1<<31 - 1, PeriodSeconds: 1<<31 - 1, TimeoutSeconds: 1<<31 - 1, SuccessThreshold: 1<<31 - 1, FailureThreshold: 1<<31 - 1,
		}),
		"huge": {InitialDelay: 1<<63 - 1, Period: 1<<63 - 1, Timeout: 1<<63 - 1, SuccessThreshold: 1<<31 - 1, FailureThreshold: 1<<31 - 1},
	} {
		got := s.withDefaults()
		require.GreaterOrEqual(t, got.InitialDelay, time.Duration(0), name)
		require.GreaterOrEqual(t, got.Period, minPeriod, name)
		require.Positive(t, got.Timeout, name)
		require.Positive(t, got.SuccessThreshold, name)
		require.Positive(t, got.FailureThreshold, name)
		now := time.Now()
		tracker := NewTracker(Liveness, s, 0.9)
		tracker.Look(now, State{ContainerID: "1", Running: true, Started: true, StartedAt: now})
		late := NewTracker(Liveness, s, 0.9)
		late.Look(now, State{ContainerID: "1", Running: true, Started: true})
		require.False(t, late.Due().Before(now.Add(got.InitialDelay)), name)
		for range 5 {
			require.False(t, tracker.Due().IsZero(), name)
			now = tracker.Due()
			tracker.Record(now, Attempt{Response: Response{Result: Success}})
			require.True(t, tracker.Due().After(now), name)
		}
	}
}

// A host that does not take what changed, or not for long, has no memory filled by
// pods that come and go.
func TestNothingIsKeptOfPodsThatWent(t *testing.T) {
	m, err := NewManager(Config{Prober: Func(nil)})
	require.NoError(t, err)
	ready := Container{Name: "app", State: State{ContainerID: "1", Running: true, Started: true, Ready: true}, Probes: []Probe{{Name: "readiness", Kind: Readiness}}}
	for i := range 10_000 {
		uid := types.UID(strconv.Itoa(i))
		m.Set(runtime.PodRef{UID: uid}, ready)
		if i%100 != 0 {
			m.Remove(uid)
		}
	}
	require.LessOrEqual(t, len(m.dirty), 200)
	require.Len(t, m.Take(), 100)
	m.Remove("100")
	require.Empty(t, m.Take())
}

// Only regular containers and sidecars are probed, a port is the first of its name,
// and a set of one name twice is one container.
func TestWhoIsProbed(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	all := v1.Container{StartupProbe: &v1.Probe{}, ReadinessProbe: &v1.Probe{}, LivenessProbe: &v1.Probe{}}
	called := func(name string, c v1.Container) v1.Container { c.Name = name; return c }
	sidecar := called("sidecar", all)
	sidecar.RestartPolicy = &always
	pod := &v1.Pod{Spec: v1.PodSpec{
		InitContainers: []v1.Container{called("init", all), sidecar},
		Containers:     []v1.Container{called("app", all), {Name: "bare"}, called("app", all)},
		EphemeralContainers: []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{
			Name: "debug", LivenessProbe: &v1.Probe{},
		}}},
	}}
	m, err := NewManager(Config{Prober: Func(nil)})
	require.NoError(t, err)
	for range 2 {
		m.Set(runtime.PodRef{UID: "a"}, PodContainers(pod, nil)...)
		var got []string
		for _, x := range m.Explain("a") {
			got = append(got, x.Container+"/"+x.Probe)
		}
		require.Equal(t, []string{
			"sidecar/startup", "sidecar/readiness", "sidecar/liveness", "app/startup", "app/readiness", "app/liveness",
		}, got)
		require.Equal(t, 6, m.Stats().Probes)
	}
}

// What waits for something else than its time is nowhere but in the set: no place in
// the heap, no timer.
func TestWhoWaitsCostsNothing(t *testing.T) {
	m, err := NewManager(Config{Prober: Func(nil)})
	require.NoError(t, err)
	old := State{ContainerID: "1", Running: true, Started: true, StartedAt: time.Now().Add(-time.Hour)}
	network := v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{}}
	for name, c := range map[string]Container{
		"unknown":       {Probes: []Probe{{Kind: Liveness}}},
		"not running":   {State: State{ContainerID: "1"}, Probes: []Probe{{Kind: Liveness}}},
		"over":          {State: State{ContainerID: "1", Over: true}, Probes: []Probe{{Kind: Readiness}}},
		"no address":    {State: old, Probes: []Probe{{Kind: Liveness, Action: network}}},
		"has started":   {State: old, Probes: []Probe{{Kind: Startup}}},
		"is terminated": {State: State{ContainerID: "1", Running: true, Terminating: true}, Probes: []Probe{{Kind: Liveness}}},
	} {
		m.Set(runtime.PodRef{UID: types.UID(name)}, c)
		require.Nil(t, m.due.first(), name)
	}
	gated := old
	gated.Started = false
	m.Set(runtime.PodRef{UID: "gated"}, Container{State: gated, Probes: []Probe{{Name: "s", Kind: Startup}, {Name: "l", Kind: Liveness}, {Name: "r", Kind: Readiness}}})
	require.Len(t, m.due.slots, 1, "the startup probe alone")
	require.Equal(t, 9, m.Stats().Probes)
}

// What was published of an instance is not taken for a word on the next one.
func TestWhatWasNotTakenIsOfTheInstanceBefore(t *testing.T) {
	m, err := NewManager(Config{Prober: Func(nil)})
	require.NoError(t, err)
	said := func(state State) Container {
		return Container{Name: "app", State: state, Probes: []Probe{{Name: "startup", Kind: Startup}}}
	}
	m.Set(runtime.PodRef{UID: "1"}, said(State{ContainerID: "1", Running: true, Started: true}))
	m.Set(runtime.PodRef{UID: "1"}, said(State{ContainerID: "2", Running: true, Terminating: true}))
	require.Empty(t, m.Take())
	m.Set(runtime.PodRef{UID: "2"}, said(State{ContainerID: "1", Running: true, Started: true}))
	require.Len(t, m.Take(), 1)
}
