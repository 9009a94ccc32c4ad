package probe_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/probe/probetest"
)

// Of what containers say, a host that observes them gets all; else there is no more
// kept than is ever shown, or ten thousand would fill the memory.
func TestLittleIsKeptOfOutputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, probe.Config{})
		w.prober.Script("app", probetest.Answer{Response: probe.Response{Result: probe.Success, Output: strings.Repeat("x", 1<<20)}})
		w.Set(ref("a"), probe.Container{Name: "app", State: running("1"), Probes: []probe.Probe{
			named(probe.Readiness, probe.Settings{}), {Name: "disk", Kind: probe.Observe},
		}})
		w.pass(time.Minute)
		kept := map[string]int{}
		for _, p := range w.Take() {
			kept[p.Probe] = len(p.Output)
			if p.Probe == "readiness" {
				require.True(t, strings.HasSuffix(probe.Printable(p.Output), "..."), "one sees that it is cut")
			}
		}
		require.Equal(t, map[string]int{"readiness": 1028, "disk": probe.OutputLimit}, kept)
		require.Len(t, w.attempts[0].Output, probe.OutputLimit, "hooks see all")
	})
}

// The text of an error is as much a container's as its output.
func TestLongErrorsAreNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := errors.New(strings.Repeat("x", 1<<20))
		w := newWorld(t, probe.Config{Prober: probe.Func(func(context.Context, probe.Target) (probe.Response, error) {
			return probe.Response{}, long
		})})
		w.Set(ref("a"), probe.Container{Name: "app", State: running("1"), Probes: []probe.Probe{
			named(probe.Readiness, probe.Settings{}), {Name: "disk", Kind: probe.Observe},
		}})
		w.pass(time.Minute)
		for _, x := range w.Explain("a") {
			require.Len(t, x.Err.Error(), 1028, x.Probe)
		}
		require.Len(t, w.Take(), 1, "the same error is no news")
		w.pass(time.Minute)
		require.Empty(t, w.Take())
	})
}

// What a container says reaches an event cut and escaped, once.
func TestEventsArePrintable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, probe.Config{})
		w.prober.Script("app", probetest.Answer{Response: probe.Response{Result: probe.Failure, Output: "\x1b]0;pwned\a\xff\u202e" + strings.Repeat("\x00", 1<<14)}})
		w.prober.Script("redirects", probetest.Answer{Response: probe.Response{Result: probe.Warning, Output: "\x1bc"}})
		w.prober.Script("errs", probetest.Answer{Err: errors.New("\x1bc %s")})
		w.prober.Script("cannot tell", probetest.Answer{Response: probe.Response{Result: probe.Unknown, Output: "?"}})
		for _, name := range []string{"app", "redirects", "errs", "cannot tell"} {
			w.Set(ref(name), probe.Container{Name: name, State: running("1"), Probes: []probe.Probe{named(probe.Liveness, probe.Settings{FailureThreshold: 1000})}})
		}
		w.pass(50 * time.Second)
		slices.Sort(w.events)
		require.Len(t, w.events, 3)
		require.True(t, strings.HasPrefix(w.events[0], `spec.containers{app} Warning Unhealthy Liveness probe failed: \x1b]0;pwned\a\xff\u202e\x00\x00`), w.events[0])
		require.True(t, strings.HasSuffix(w.events[0], `\x00...`))
		require.Less(t, len(w.events[0]), 1200)
		require.Equal(t, []string{
			`spec.containers{errs} Warning Unhealthy Liveness probe errored and resulted in unknown state: \x1bc %s`,
			`spec.containers{redirects} Warning ProbeWarning Liveness probe warning: \x1bc`,
		}, w.events[1:])
		require.Greater(t, w.Explain("cannot tell")[0].Streak, 3, "who cannot tell has failed, and nobody is told")
	})
}

// An error is tried three times at once, each time with the whole timeout; any answer
// ends that.
func TestErrorsAreTriedThreeTimes(t *testing.T) {
	erring, hanging := probetest.Answer{Err: errors.New("no")}, probetest.Answer{Hang: true}
	for name, c := range map[string]struct {
		answers []probetest.Answer
		probes  int
		took    time.Duration
		result  probe.Result
	}{
		"success":               {[]probetest.Answer{answer(probe.Success)}, 1, 0, probe.Success},
		"failure":               {[]probetest.Answer{answer(probe.Failure)}, 1, 0, probe.Failure},
		"unknown":               {[]probetest.Answer{answer(probe.Unknown)}, 1, 0, probe.Unknown},
		"error, then a failure": {[]probetest.Answer{erring, answer(probe.Failure)}, 2, 0, probe.Failure},
		"errors":                {[]probetest.Answer{erring}, 3, 0, probe.Unknown},
		"hangs":                 {[]probetest.Answer{hanging}, 3, 15 * time.Second, probe.Unknown},
		"hangs, then works":     {[]probetest.Answer{hanging, hanging, answer(probe.Success)}, 3, 10 * time.Second, probe.Success},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// By hand, and by a Manager; the timeout is longer than the period.
				byHand := new(probetest.Prober)
				byHand.Script("app", c.answers...)
				began := time.Now()
				a := probe.Try(t.Context(), byHand, probe.Target{Container: "app"}, 5*time.Second)
				require.Equal(t, c.took, time.Since(began))
				require.Equal(t, c.probes, byHand.Probes("app"))
				require.Equal(t, c.result, a.Result)

				w := newWorld(t, probe.Config{})
				w.prober.Script("app", c.answers...)
				w.Set(ref("a"), probe.Container{Name: "app", State: running("1"), Probes: []probe.Probe{
					named(probe.Readiness, probe.Settings{Period: 3 * time.Second, Timeout: 5 * time.Second}),
				}})
				w.pass(100 * time.Millisecond)
				if c.took > 0 {
					w.pass(c.took)
				}
				require.Len(t, w.attempts, 1)
				require.Equal(t, c.probes, w.prober.Probes("app"))
				require.Equal(t, c.took, w.attempts[0].Took)
				require.Equal(t, c.result, w.attempts[0].Result)
			})
		})
	}
}

// What was not taken is replaced by what is newer, and nobody waits for a host that
// takes nothing.
func TestVerdictsThatAreNotTakenAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, probe.Config{})
		w.prober.Script("app", answer(probe.Success), answer(probe.Failure), answer(probe.Success), answer(probe.Failure))
		w.Set(ref("a"), probe.Container{Name: "app", State: running("1"), Probes: []probe.Probe{
			named(probe.Readiness, probe.Settings{Period: time.Second, FailureThreshold: 1}),
		}})
		w.pass(10 * time.Second)
		require.GreaterOrEqual(t, w.made(), 10)
		<-w.Changed()
		require.Equal(t, []string{"readiness=failure"}, w.verdicts(), "the newest one, once")
		require.Empty(t, w.Changed())
		w.pass(10 * time.Second)
		require.Empty(t, w.verdicts())
	})
}

// Ten thousand that an agent finds when it comes are spread over their period.
func TestProbesAreSpreadOverThePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, probe.Config{})
		old := probe.State{ContainerID: "1", Running: true, StartedAt: time.Now().Add(-time.Hour)}
		for i := range 10_000 {
			w.Set(ref(fmt.Sprint("pod-", i)), probe.Container{Name: "app", State: old, Probes: []probe.Probe{named(probe.Liveness, probe.Settings{})}})
		}
		for second := range 20 {
			before := w.made()
			w.pass(time.Second)
			require.InDelta(t, 1000, w.made()-before, 150, "in second %d", second)
		}
	})
}

// Probes whose periods are whole seconds begin together, ten times a second, each on
// time: an agent that wakes up seldom costs little.
func TestProbesKeepTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		beats := make(map[time.Time]int)
		w := newWorld(t, probe.Config{Prober: probe.Func(func(context.Context, probe.Target) (probe.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			beats[time.Now()]++
			return probe.Response{Result: probe.Success}, nil
		})})
		old := probe.State{ContainerID: "1", Running: true, StartedAt: time.Now().Add(-time.Hour)}
		periods := []time.Duration{time.Second, 7 * time.Second, 10 * time.Second}
		for i := range 3000 {
			<-time.After(time.Millisecond / 3)
			settings := probe.Settings{Period: periods[i%len(periods)]}
			w.Set(ref(fmt.Sprint("pod-", i)), probe.Container{Name: "app", State: old, Probes: []probe.Probe{named(probe.Liveness, settings)}})
		}
		w.pass(20 * time.Second)
		require.Greater(t, w.made(), 20_000)
		require.LessOrEqual(t, len(beats), 10*21+1)
		for _, a := range w.attempts {
			require.Zero(t, a.Late)
		}
	})
}

// A thousand that hang for as long as their manifest lets them, be that an hour, delay
// nobody who comes, also if he takes his time to answer.
func TestThousandThatHangForLongDelayNoOther(t *testing.T) {
	failure := func(error) (probe.Response, error) { return probe.Response{Result: probe.Failure}, nil }
	anError := func(err error) (probe.Response, error) { return probe.Response{}, err }
	for name, c := range map[string]struct {
		hang    time.Duration
		ends    func(error) (probe.Response, error)
		answers time.Duration
		late    time.Duration
	}{
		"an hour, and others are quick":        {time.Hour, failure, 0, 50 * time.Millisecond},
		"an hour, and others are slow":         {time.Hour, anError, 900 * time.Millisecond, 50 * time.Millisecond},
		"three tries, and others are quick":    {time.Second, anError, 0, 50 * time.Millisecond},
		"three tries, and others are not":      {time.Second, anError, 300 * time.Millisecond, time.Second},
		"half a minute, and others take a bit": {30 * time.Second, failure, 300 * time.Millisecond, 50 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, probe.Config{Prober: probe.Func(func(ctx context.Context, target probe.Target) (probe.Response, error) {
					answers := c.answers
					if target.Container == "hangs" {
						answers = 2 * time.Hour
					}
					if answers == 0 { // without a timer: see golang/go#78156
						return probe.Response{Result: probe.Success}, nil
					}
					select {
					case <-time.After(answers):
						return probe.Response{Result: probe.Success}, nil
					case <-ctx.Done():
						return c.ends(ctx.Err())
					}
				})})
				old := probe.State{ContainerID: "1", Running: true, StartedAt: time.Now().Add(-time.Hour)}
				for i := range 1000 {
					w.Set(ref(fmt.Sprint("bad", i)), probe.Container{Name: "hangs", State: old, Probes: []probe.Probe{
						named(probe.Readiness, probe.Settings{Timeout: c.hang}),
					}})
				}
				w.pass(2 * time.Minute)
				for i := range 100 {
					w.Set(ref(fmt.Sprint("good", i)), probe.Container{Name: "answers", State: running("1"), Probes: []probe.Probe{
						named(probe.Readiness, probe.Settings{}),
					}})
				}
				w.pass(2 * time.Minute)
				w.mu.Lock()
				defer w.mu.Unlock()
				good := 0
				for _, a := range w.attempts {
					if a.Container == "answers" {
						good++
						require.LessOrEqual(t, a.Late, c.late)
					}
				}
				require.InDelta(t, 1250, good, 60)
			})
		})
	}
}

// However many hang for long, those in flight are bounded, and few of one pod.
func TestThoseThatHangAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, probe.Config{MaxInFlight: 16})
		w.prober.Script("hangs", probetest.Answer{Hang: true})
		for i := range 500 {
			w.Set(ref(fmt.Sprint(i)), probe.Container{Name: "hangs", State: running("1"), Probes: []probe.Probe{
				named(probe.Readiness, probe.Settings{Timeout: time.Hour}),
			}})
		}
		for range 100 {
			w.pass(time.Second)
			require.LessOrEqual(t, w.Stats().InFlight, 17*16)
		}
		require.Equal(t, 16*16+12, w.Stats().InFlight, "sixteen times the places, and those of the new ones")
		w.stop()
		require.Zero(t, w.Stats().InFlight)
	})
}

// crew is a prober of which each call does something else, and which sees that the
// bounds are kept.
type crew struct {
	t      *testing.T
	mu     sync.Mutex
	draw   *rand.Rand
	flying map[string]int // by pod
	all    int
	most   int
}

const crewMost, crewMostPerPod = 20, 3

func (c *crew) Probe(ctx context.Context, target probe.Target) (probe.Response, error) {
	c.mu.Lock()
	c.flying[target.Pod.Name]++
	c.all++
	if c.all > c.most || c.flying[target.Pod.Name] > crewMostPerPod {
		c.t.Errorf("%d in flight, %d of %s", c.all, c.flying[target.Pod.Name], target.Pod.Name)
	}
	what, lasts := c.draw.IntN(8), time.Duration(1+c.draw.IntN(600))*time.Millisecond
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.flying[target.Pod.Name]--
		c.all--
	}()
	switch what {
	case 0:
		<-ctx.Done()
		return probe.Response{}, ctx.Err()
	case 1:
		<-ctx.Done()
		return probe.Response{Result: probe.Failure}, nil
	case 2, 3:
		select {
		case <-time.After(lasts):
		case <-ctx.Done():
		}
		return probe.Response{Result: probe.Success}, nil
	case 4:
		panic("oops")
	case 5:
		return probe.Response{}, errors.New("no port called web")
	case 6:
		return probe.Response{Result: probe.Failure}, nil
	}
	return probe.Response{Result: probe.Success}, nil
}

// Pods come, change and go while their probes fail in every way: the bounds are kept,
// nothing is forgotten in flight, and who stays is probed on.
func TestBoundsAreKeptInAStorm(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				draw := rand.New(rand.NewPCG(seed, 0))
				c := &crew{t: t, draw: rand.New(rand.NewPCG(seed, 1)), flying: map[string]int{}, most: crewMost}
				longest := 500
				if seed%2 == 1 { // what flies for more than a second has no place
					longest, c.most = 5000, 5*crewMost
				}
				w := newWorld(t, probe.Config{Prober: c, MaxInFlight: crewMost, MaxInFlightPerPod: crewMostPerPod})
				crowded := false
				kinds := []probe.Kind{probe.Startup, probe.Readiness, probe.Liveness, probe.Observe}
				for step := range 300 {
					pod := ref(fmt.Sprint("pod", draw.IntN(12)))
					var containers []probe.Container
					for i := range draw.IntN(6) {
						container := probe.Container{Name: fmt.Sprint(i), State: probe.State{
							ContainerID: fmt.Sprint(draw.IntN(3)), Running: draw.IntN(5) > 0, Started: draw.IntN(2) > 0,
							Ready: draw.IntN(2) > 0, Terminating: draw.IntN(8) == 0, Over: draw.IntN(20) == 0,
							StartedAt: time.Now().Add(time.Duration(draw.IntN(7200)-3600) * time.Second),
						}}
						for range draw.IntN(4) {
							kind := kinds[draw.IntN(4)]
							container.Probes = append(container.Probes, named(kind, probe.Settings{
								Period: time.Duration(draw.IntN(2000)-10) * time.Millisecond, Timeout: time.Duration(draw.IntN(longest)) * time.Millisecond,
							}))
						}
						containers = append(containers, container)
					}
					w.Set(pod, containers...)
					if step%7 == 0 {
						w.Take()
					}
					w.pass(time.Duration(1+draw.IntN(100)) * time.Millisecond)
					s := w.Stats()
					require.LessOrEqual(t, s.InFlight, c.most)
					crowded = crowded || s.Waiting > 0
				}
				require.True(t, crowded, "the bounds were reached")
				for i := range 12 {
					w.Remove(ref(fmt.Sprint("pod", i)).UID)
				}
				synctest.Wait()
				require.Equal(t, probe.Stats{}, w.Stats())
				require.Zero(t, c.all)
				// None of that is in the way of who comes then.
				before := w.made()
				w.Set(ref("late"), probe.Container{Name: "app", State: running("1"), Probes: []probe.Probe{named(probe.Observe, probe.Settings{Period: time.Second})}})
				w.pass(time.Minute)
				require.Greater(t, w.made(), before+15)
			})
		})
	}
}
