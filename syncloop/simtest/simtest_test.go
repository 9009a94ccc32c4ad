package simtest_test

import (
	"flag"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/simtest"
)

var (
	from  = flag.Uint64("from", 1, "the first seed of TestSeeds")
	seeds = flag.Uint64("seeds", 0, "how many seeds a test takes; 0 takes a few, and fewer with the race detector")
	full  = flag.Bool("full", false, "take one seed, and print the whole trace of its failure")
)

// A simulated node makes much garbage and keeps little: to collect less often
// saves a third of the time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// run lets nodes live through n seeds, or fewer of them with the race detector, or as
// many as the flags say.
func run(t *testing.T, cfg simtest.Config, n, race uint64) simtest.Stats {
	t.Helper()
	switch {
	case *full:
		keepsPromises(t, cfg, *from)
		return simtest.Stats{}
	case *seeds > 0:
		n = *seeds
	case raceEnabled:
		n = race
	}
	total := simtest.Run(t, cfg, *from, n)
	require.Positive(t, total.Simulated)
	return total
}

// asked tells whether the flags say which seeds a test takes, so that nobody knows what
// comes about in them.
func asked() bool { return *full || *seeds > 0 }

// keepsPromises lets a node live through one seed.
func keepsPromises(t *testing.T, cfg simtest.Config, seed uint64) {
	t.Helper()
	failure, _ := simtest.Check(t, cfg, seed)
	if failure == nil {
		return
	}
	text := failure.String()
	if *full {
		text += strings.Join(failure.Trace, "\n")
	}
	t.Error(text)
}

// The node, its faults and the promises: see the package comment. For more:
//
//	go test ./syncloop/simtest -run TestSeeds -v -timeout 0 -from 1 -seeds 100000
func TestSeeds(t *testing.T) { run(t, simtest.Config{}, 1000, 50) }

// The same with an eviction manager, and memory that is short at times.
func TestPressureComesAndGoes(t *testing.T) {
	total := run(t, simtest.Config{Pressure: true}, 60, 15)
	require.True(t, total.Evicted > 0 || asked())
}

// Critical pods take the place of others, and every pod reserves something.
func TestCriticalPodsPreempt(t *testing.T) {
	total := run(t, simtest.Config{Preempt: true}, 60, 15)
	t.Logf("%d pods were preempted", total.Preempted)
	require.True(t, total.Preempted > 0 || asked())
}

// Seeds that found something, by what they found. Package syncloop has a test of
// its own for each, in found_test.go; the seeds lead there as long as plans are
// drawn as they were.
func TestFoundSeeds(t *testing.T) {
	for name, seed := range map[string]uint64{
		"a finished pod that is deleted is answered":             69,
		"a pod without sandbox keeps its room over a restart":    2000,
		"a record that is behind undoes no end":                  304,
		"a stop for a deadline goes on after its agent":          105410,
		"a sentence is not followed by an older word":            1880,
		"a verdict on a deadline is a reason to stop":            180,
		"a deletion while remains are removed":                   71155,
		"a pod that lost its sandbox and gets no other":          1402,
		"a pod that was ready just before the agent ended":       35570,
		"a sidecar after the one that ended by itself":           92109,
		"a stray that comes again":                               91595,
		"back-off outlives the sandbox":                          2050,
		"a first end that went with its sandbox does not count":  300122,
		"readiness of sidecars":                                  2,
		"restart counts survive a record that is behind":         539,
		"the ledger holds what runs from the first list on":      159,
		"the ledger holds what runs, of one list too":            279,
		"the remains of an end that was taken up are removed":    778,
		"the successor waits for a pod whose stop an agent left": 324,
		"the successor waits for a pod that nobody wrote down":   20505,
		"what ended well before the runtime forgot its pod":      25702,
		"what is lost, of a pod that never restarts":             264,
	} {
		t.Run(name, func(t *testing.T) { keepsPromises(t, simtest.Config{}, seed) })
	}
}

// What seeds found about probes.
func TestFoundSeedsWithProbes(t *testing.T) {
	for name, seed := range map[string]uint64{
		"an instance is not ready because the one before was":              51,
		"what only the API remembers of an instance is not taken back":     2365,
		"a failure that nobody was told of, when a late mirror says ready": 5969,
		"readiness is said beside an illegal transition":                   5524,
		"readiness of two instances while the word of one is on its way":   1042,
		"a word on an instance that came too late is none on the next one": 7000182,
		"a pod that comes again while it stops, with a record behind":      2100559,
	} {
		t.Run(name, func(t *testing.T) { keepsPromises(t, simtest.Config{Probes: true}, seed) })
	}
}

// everything is a node with all that a plan may have.
var everything = simtest.Config{Hooks: true, Probes: true, Resizes: true, Pressure: true, Preempt: true}

// What seeds found about hooks.
func TestFoundSeedsWithHooks(t *testing.T) {
	for name, found := range map[string]struct {
		cfg  simtest.Config
		seed uint64
	}{
		"a pod that was being stopped is wanted again":                           {simtest.Config{Hooks: true}, 303133},
		"a shutdown before the sources spoke forgets nothing":                    {everything, 501371},
		"a mirror is told nothing unseen":                                        {everything, 600721},
		"a mirror has to wait for the hook of its static pod":                    {simtest.Config{Hooks: true}, 3079},
		"a sidecar ends before a container whose preStop hook used the grace up": {everything, 95},
	} {
		t.Run(name, func(t *testing.T) { keepsPromises(t, found.cfg, found.seed) })
	}
}

// What seeds found about pods that ask for other resources.
func TestFoundSeedsWithResizes(t *testing.T) {
	for name, seed := range map[string]uint64{
		"a pod that is let in just before a shutdown":                 930033,
		"a pod that nobody remembers is counted by its own status":    20,
		"room is free although the source's status is older":          6,
		"a grant that was remembered and not said goes on afterwards": 296,
		"the back-off of a sidecar goes on in a new sandbox":          920857,
		"what two agents stop is counted by what it was granted":      930623,
	} {
		t.Run(name, func(t *testing.T) { keepsPromises(t, simtest.Config{Resizes: true}, seed) })
	}
}

// Running pods ask for other resources amid all that.
func TestNodesWithResizes(t *testing.T) { run(t, simtest.Config{Resizes: true}, 40, 15) }

// Hooks that take their time, fail and hang, and an agent that is killed while they run.
func TestNodesWithHooks(t *testing.T) {
	var ran atomic.Int64
	run(t, simtest.Config{Hooks: true, Runtime: func() runtime.Runtime {
		return runtimetest.NewFake(runtimetest.FakeConfig{Script: simtest.Script, Hook: func(i runtimetest.Instance) runtimetest.Script {
			ran.Add(1)
			return simtest.Hook(i)
		}})
	}}, 100, 10)
	t.Logf("%d hooks", ran.Load())
	require.True(t, ran.Load() > 0 || asked())
}

// Probes of all kinds, that fail, hang, can't be made and waver.
func TestNodesWithProbes(t *testing.T) {
	total := run(t, simtest.Config{Probes: true}, 100, 10)
	t.Logf("%d attempts", total.Attempts)
	require.True(t, total.Attempts > 0 || asked())
}

// All of that at once.
func TestNodesWithEverything(t *testing.T) {
	total := run(t, everything, 60, 10)
	require.True(t, total.Attempts > 0 && total.Evicted > 0 && total.Preempted > 0 || raceEnabled || asked())
}

// Without a store an agent knows what its sources and its runtime tell.
func TestNodesWithoutAStore(t *testing.T) {
	run(t, simtest.Config{Change: func(c *syncloop.Config) { c.Store = nil }}, 40, 10)
}
