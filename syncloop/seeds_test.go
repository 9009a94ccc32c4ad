package syncloop_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

var (
	fromSeed = flag.Uint64("from", 1, "first seed of TestSeeds")
	seeds    = flag.Uint64("seeds", 60, "number of seeds of TestSeeds")
)

// TestSeeds lets chance rule a node, with faults all around the loop and agents
// that die, and then gives it peace: it must come to what is wanted.
func TestSeeds(t *testing.T) {
	n := *seeds
	if testing.Short() {
		n = min(n, 10)
	}
	for seed := *fromSeed; seed < *fromSeed+n; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newChance(t, seed)
				c.start()
				defer func() { c.stop() }()
				for range 120 {
					c.step()
					c.check()
				}
				c.peace()
			})
		})
	}
}

// chance is a world whose events are drawn from a seed.
type chance struct {
	*world
	rnd     *rand.Rand
	desired map[types.UID]*v1.Pod
	source  map[types.UID]string
	names   int
	faults  faults
}

// faults are drawn from a source of their own, for many goroutines ask.
type faults struct {
	mu    sync.Mutex
	rnd   *rand.Rand
	often float64
}

func (f *faults) strike() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rnd.Float64() < f.often
}

func (f *faults) set(often float64) {
	f.mu.Lock()
	f.often = often
	f.mu.Unlock()
}

func (f *faults) delay() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rnd.Float64() >= f.often {
		return 0
	}
	return time.Duration(f.rnd.IntN(8000)) * time.Millisecond
}

func newChance(t *testing.T, seed uint64) *chance {
	c := &chance{
		rnd:     rand.New(rand.NewPCG(seed, 1)),
		desired: map[types.UID]*v1.Pod{},
		source:  map[types.UID]string{},
		faults:  faults{rnd: rand.New(rand.NewPCG(seed, 2)), often: 0.1},
	}
	around := func(ctx context.Context) error {
		if err := runtimetest.Wait(ctx, c.faults.delay()); err != nil {
			return err
		}
		if c.faults.strike() {
			return runtimetest.ErrInjected
		}
		return nil
	}
	c.world = newWorld(t, func(cfg *syncloop.Config) {
		rt := cfg.Runtime
		if c.rnd.IntN(3) == 0 {
			rt = struct {
				runtime.Runtime
				runtime.Cleaner
			}{rt, rt.(runtime.Cleaner)}
		}
		cfg.Runtime = runtimetest.Intercept(rt, runtimetest.Funcs{
			Before: func(ctx context.Context, _ runtimetest.Call) error { return around(ctx) },
			After: func(_ context.Context, _ runtimetest.Call, err error) error {
				if err == nil && c.faults.strike() {
					return runtimetest.ErrInjected
				}
				return err
			},
		})
		cfg.Sources = []string{"file", "api"}
		cfg.MaxWorkers = c.rnd.IntN(2) * 4
	}, room("8", []admission.Outcome{admission.Reject, admission.Retry}[c.rnd.IntN(2)]))
	c.sink.Before = func(ctx context.Context, _ syncloop.StatusUpdate) error { return around(ctx) }
	c.store.BeforeCommit = func(ctx context.Context, _ syncloop.Batch) error { return around(ctx) }
	c.config.Store = c.store
	return c
}

// start begins an agent and tells it all that is wanted.
func (c *chance) start() {
	c.config.Admission = &admission.Chain{Ledger: admission.NewLedger(), Checks: c.config.Admission.Checks}
	c.world.start()
	for _, source := range []string{"file", "api"} {
		c.sendFrom(source, podmanager.OpAdd, c.of(source)...)
	}
}

func (c *chance) of(source string) (pods []*v1.Pod) {
	for uid, p := range c.desired {
		if c.source[uid] == source {
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, func(a, b *v1.Pod) int { return compare(a.UID, b.UID) })
	return pods
}

func compare(a, b types.UID) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (c *chance) newPod() (*v1.Pod, string) {
	c.names++
	script := []runtimetest.Script{
		{}, {StopAfter: 3 * time.Second}, {IgnoresTerm: true},
		runtimetest.RunsFor(20*time.Second, 0), runtimetest.RunsFor(5*time.Second, 1), runtimetest.ExitsWith(2),
		{StartDelay: 4 * time.Second},
	}[c.rnd.IntN(7)]
	p := pod(fmt.Sprintf("p%d", c.names), running(script), grace(int64(c.rnd.IntN(20))),
		policy([]v1.RestartPolicy{v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever}[c.rnd.IntN(3)]),
		cpu(fmt.Sprint(c.rnd.IntN(3))))
	if c.rnd.IntN(8) == 0 {
		p.Spec.ActiveDeadlineSeconds = new(int64(c.rnd.IntN(60)))
	}
	if c.rnd.IntN(3) == 0 {
		p.Spec.InitContainers = []v1.Container{{Name: "init", Command: runtimetest.RunsFor(time.Second, 0).Command()}}
	}
	if c.rnd.IntN(2) == 0 {
		p.Name = fmt.Sprintf("static%d", c.rnd.IntN(4))
		static(p)
		return p, "file"
	}
	return p, "api"
}

func (c *chance) pick() *v1.Pod {
	if len(c.desired) == 0 {
		return nil
	}
	uids := make([]types.UID, 0, len(c.desired))
	for uid := range c.desired {
		uids = append(uids, uid)
	}
	slices.Sort(uids)
	return c.desired[uids[c.rnd.IntN(len(uids))]]
}

// step does one thing that may happen to a node.
func (c *chance) step() {
	p := c.pick()
	kind := c.rnd.IntN(20)
	if p == nil && kind > 3 {
		kind = 0
	}
	switch kind {
	case 0, 1, 2, 3:
		if len(c.desired) < 12 {
			p, source := c.newPod()
			c.want(p, source)
			c.sendFrom(source, podmanager.OpAdd, p)
		}
	case 4, 5, 6:
		c.unwant(p)
		if c.rnd.IntN(3) == 0 { // it comes again under its UID
			sleep(time.Duration(c.rnd.IntN(5000)) * time.Millisecond)
			again := p.DeepCopy()
			c.want(again, c.source[p.UID])
			c.sendFrom(c.source[p.UID], podmanager.OpAdd, again)
		}
	case 7:
		changed := p.DeepCopy()
		changed.Labels = map[string]string{"n": fmt.Sprint(c.rnd.IntN(100))}
		c.desired[p.UID] = changed
		c.sendFrom(c.source[p.UID], podmanager.OpUpdate, changed)
	case 8:
		if c.source[p.UID] == "api" {
			deleted := p.DeepCopy()
			now := metav1.Now()
			deleted.DeletionTimestamp, deleted.DeletionGracePeriodSeconds = &now, new(int64(c.rnd.IntN(10)))
			c.desired[p.UID] = deleted
			c.sendFrom("api", podmanager.OpDelete, deleted)
		}
	case 9:
		uid := p.UID
		verdict := &podstatus.Verdict{Reason: "Evicted", Message: "chance"}
		loop := c.SyncLoop
		go func() {
			_ = loop.Kill(context.Background(), uid, syncloop.KillOptions{Evict: true, Verdict: verdict, Now: true})
		}()
		synctest.Wait()
	case 10:
		_ = c.fake.Exit(p.UID, "c", int32(c.rnd.IntN(2)))
	case 11:
		_ = c.fake.FailSandbox(p.UID)
	case 12:
		c.fake.Forget(p.UID)
	case 13:
		c.fake.Invent(runtime.PodRef{UID: types.UID(fmt.Sprintf("stray%d", c.rnd.IntN(3))), Namespace: "x", Name: "stray"}, "c")
	case 14:
		_ = c.fake.LoseTrack(p.UID, "c")
	case 15, 16:
		// Ended in good order, or killed: then what was not written is lost.
		c.faults.set(float64(c.rnd.IntN(2)))
		c.stop()
		c.faults.set(0.1)
		sleep(time.Duration(1+c.rnd.IntN(3000)) * time.Millisecond)
		c.start()
	default:
		sleep(time.Duration(c.rnd.IntN(30000)) * time.Millisecond)
	}
	synctest.Wait()
}

func (c *chance) want(p *v1.Pod, source string) {
	c.desired[p.UID], c.source[p.UID] = p, source
}

func (c *chance) unwant(p *v1.Pod) {
	delete(c.desired, p.UID)
	c.sendFrom(c.source[p.UID], podmanager.OpRemove, p)
}

// check is what holds at any time.
func (c *chance) check() {
	byName := map[string]types.UID{}
	for _, uid := range c.listed() {
		st := c.observed(uid)
		running := map[string]bool{}
		for i := range st.Containers {
			if k := &st.Containers[i]; k.State == runtime.StateRunning {
				require.False(c.t, running[k.Name], "two instances of container %s of pod %s run", k.Name, uid)
				running[k.Name] = true
			}
		}
		if p := c.desired[uid]; p != nil && podmanager.IsStatic(p) && len(running) > 0 {
			name := podmanager.FullName(p)
			require.Empty(c.t, byName[name], "two static pods named %s run", name)
			byName[name] = uid
		}
	}
	if v := c.sink.Violations(); len(v) > 0 {
		for uid := range c.desired {
			for _, u := range c.sink.History(uid) {
				c.t.Logf("%s %d %s %s finished %t", uid, u.Version, u.Status.Phase, u.Status.Reason, u.Finished)
			}
		}
		require.Empty(c.t, v)
	}
}

// peace ends all faults: the node must come to what is wanted, in a bounded time.
func (c *chance) peace() {
	c.faults.set(0)
	sleep(8 * time.Minute)
	c.check()
	listed := c.listed()
	for _, uid := range listed {
		require.Contains(c.t, c.desired, uid, "pod %s is left over: %+v", uid, first(c.Pod(uid)))
	}
	require.Len(c.t, c.Pods(), len(c.desired))
	entered := 0
	for uid, p := range c.desired {
		v, ok := c.Pod(uid)
		require.True(c.t, ok, "pod %s is not known", uid)
		status := c.sink.Status(uid)
		require.Equal(c.t, *v.Status, status, "the sink has the last status of %s", uid)
		require.NoError(c.t, v.LastError, "pod %s", uid)
		live := c.observed(uid).Running()
		switch {
		case podstatus.Terminal(status.Phase):
			require.False(c.t, live, "pod %s has ended but runs: %+v", uid, v)
			require.Contains(c.t, []lifecycle.Stage{lifecycle.Finished, ""}, v.Stage)
		case v.Waiting != "":
			require.False(c.t, live, "pod %s waits but runs: %+v", uid, v)
		default:
			entered++
			require.Equal(c.t, lifecycle.Sync, v.Stage, "pod %s: %+v", uid, v)
			require.Nil(c.t, p.DeletionTimestamp)
			require.NotEmpty(c.t, c.observed(uid).Containers, "pod %s", uid)
		}
		if p.DeletionTimestamp != nil {
			u, _ := c.sink.Last(uid)
			require.True(c.t, u.Finished && !u.MayRun, "pod %s may be deleted", uid)
		}
	}
	if n := c.entered(); entered != n {
		c.t.Logf("entered %d, should be %d", n, entered)
		for uid, p := range c.desired {
			v, _ := c.Pod(uid)
			c.t.Logf("pod %s stage %s phase %s in ledger %t deleted %t waiting %q", uid, v.Stage, v.Status.Phase, c.config.Admission.Ledger.Has(uid), p.DeletionTimestamp != nil, v.Waiting)
		}
		require.Equal(c.t, entered, n, "the ledger holds what runs")
	}
	for uid := range c.desired {
		_, ok := c.store.Record(uid)
		v, _ := c.Pod(uid)
		if !ok {
			for _, u := range c.sink.History(uid) {
				c.t.Logf("%s %d %s %s finished %t", uid, u.Version, u.Status.Phase, u.Status.Reason, u.Finished)
			}
		}
		require.True(c.t, ok, "the store remembers pod %s: stage %s, %s, admitted %t", uid, v.Stage, v.Status.Phase, v.Admitted)
	}
	records, _ := c.store.Len()
	require.Equal(c.t, len(c.desired), records, "the store remembers nothing else")
}

func first[A, B any](a A, _ B) A { return a }
