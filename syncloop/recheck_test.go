package syncloop_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/syncloop"
)

func readmit(policy syncloop.Readmit) func(*syncloop.Config) {
	return func(c *syncloop.Config) { c.Readmit = policy }
}

// A critical pod that runs on a node that has become smaller is asked for again:
// others give way, and it runs on meanwhile, as in the kubelet.
func TestRecheckedCriticalPodRunsOnWhileOthersMakeWay(t *testing.T) {
	for _, policy := range []syncloop.Readmit{syncloop.ReadmitRecheck, syncloop.ReadmitFail} {
		inWorld(t, func(t *testing.T, w *world) {
			web := pod("web", guaranteed("1"), stubborn, grace(30))
			critical := pod("critical", cpu("1"), priority(admission.CriticalPriority), created(time.Hour))
			w.add(web, critical)
			before := w.observed(critical.UID).Containers[0]
			w.stop()
			preempting("1")(&w.config)
			w.start()
			w.add(web, critical)
			for range 5 {
				status := w.sink.Status(critical.UID)
				require.Equal(t, v1.PodRunning, status.Phase)
				require.Equal(t, v1.ConditionTrue, condition(status, v1.PodReady).Status, "%s", policy)
				require.Nil(t, w.waits(critical.UID))
				sleep(10 * time.Second)
			}
			require.Equal(t, v1.PodFailed, w.phase(web.UID))
			require.Equal(t, before, w.observed(critical.UID).Containers[0])
			require.Equal(t, 1, w.entered())
		}, preempting("2"), readmit(policy))
	}
}

// Nobody knows yet who may give way: a critical pod that runs goes on.
func TestRecheckedCriticalPodRunsOnWhileSourcesAreSilent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web, critical := pod("web", cpu("1")), pod("critical", cpu("1"), static)
		w.add(web)
		w.sendFrom("file", podmanager.OpAdd, critical)
		w.stop()
		preempting("1")(&w.config)
		w.start()
		w.sendFrom("file", podmanager.OpAdd, critical)
		sleep(time.Minute)
		require.Nil(t, w.waits(critical.UID))
		require.Equal(t, v1.ConditionTrue, condition(w.sink.Status(critical.UID), v1.PodReady).Status)
		require.True(t, w.observed(web.UID).Running())
		w.add(web)
		sleep(time.Minute)
		require.Equal(t, "OutOfcpu", w.sink.Status(web.UID).Reason, "it is asked for again itself")
		require.Equal(t, v1.PodRunning, w.phase(critical.UID))
	}, preempting("2"), readmit(syncloop.ReadmitRecheck), func(c *syncloop.Config) { c.Sources = []string{"file", "test"} })
}

// inventory is an Allocator that notes who has something.
type inventory struct {
	mu   sync.Mutex
	held map[string]bool
}

func (i *inventory) Allocate(_ context.Context, pod *v1.Pod) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.held[pod.Name] = true
	return nil
}

func (i *inventory) Free(pod *v1.Pod) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.held, pod.Name)
}

func (i *inventory) has(name string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.held[name]
}

// What a pod has that runs is nobody else's before it has stopped, whatever is said
// of it when it is asked for again.
func TestRecheckedPodKeepsWhatIsReservedUntilItHasStopped(t *testing.T) {
	for _, outcome := range []admission.Outcome{admission.Retry, admission.Reject} {
		inv := &inventory{held: map[string]bool{}}
		chain := func(cpus string) func(*syncloop.Config) {
			return func(c *syncloop.Config) {
				room(cpus, outcome)(c)
				c.Admission.Checks = append(c.Admission.Checks, admission.Check{Name: "Inventory", Handler: admission.Allocation{Allocator: inv}})
			}
		}
		inWorld(t, func(t *testing.T, w *world) {
			web := pod("web", cpu("2"), stubborn, grace(30))
			w.add(web)
			require.True(t, inv.has("web"))
			w.stop()
			chain("1")(&w.config)
			w.start()
			w.add(web)
			sleep(29 * time.Second)
			require.True(t, w.observed(web.UID).Running())
			require.True(t, inv.has("web"), "it runs: %s", outcome)
			require.Equal(t, 1, w.entered())
			if outcome == admission.Retry {
				w.remove(web)
				sleep(30 * time.Second)
			}
			sleep(2 * time.Second)
			require.False(t, inv.has("web"), "%s", outcome)
			require.Zero(t, w.entered())
		}, chain("2"), readmit(syncloop.ReadmitRecheck))
	}
}
