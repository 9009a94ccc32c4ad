package podruntime_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/podruntime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
)

// flaky is a backend that fails a part of its calls while on is set, before or
// after they took effect.
type flaky struct {
	*runtimetest.FakeBackend
	on  atomic.Bool
	mu  sync.Mutex
	rng *rand.Rand
}

func (f *flaky) fails() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.on.Load() && f.rng.IntN(6) == 0
}

func try[T any](f *flaky, call func() (T, error)) (out T, err error) {
	if f.fails() {
		return out, runtimetest.ErrInjected
	}
	out, err = call()
	if err == nil && f.fails() {
		var none T
		return none, runtimetest.ErrInjected
	}
	return out, err
}

func try0(f *flaky, call func() error) error {
	_, err := try(f, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

func (f *flaky) CreateSandbox(ctx context.Context, cfg runtime.SandboxConfig) (string, error) {
	return try(f, func() (string, error) { return f.FakeBackend.CreateSandbox(ctx, cfg) })
}

func (f *flaky) StopSandbox(ctx context.Context, id string) error {
	return try0(f, func() error { return f.FakeBackend.StopSandbox(ctx, id) })
}

func (f *flaky) RemoveSandbox(ctx context.Context, id string) error {
	return try0(f, func() error { return f.FakeBackend.RemoveSandbox(ctx, id) })
}

func (f *flaky) CreateContainer(ctx context.Context, sandbox string, cfg runtime.ContainerConfig) (string, error) {
	return try(f, func() (string, error) { return f.FakeBackend.CreateContainer(ctx, sandbox, cfg) })
}

func (f *flaky) StartContainer(ctx context.Context, id string) error {
	return try0(f, func() error { return f.FakeBackend.StartContainer(ctx, id) })
}

func (f *flaky) StopContainer(ctx context.Context, id string, grace time.Duration) error {
	return try0(f, func() error { return f.FakeBackend.StopContainer(ctx, id, grace) })
}

func (f *flaky) RemoveContainer(ctx context.Context, id string) error {
	return try0(f, func() error { return f.FakeBackend.RemoveContainer(ctx, id) })
}

func (f *flaky) ListContainers(ctx context.Context, filter runtime.Filter) ([]runtime.Container, error) {
	return try(f, func() ([]runtime.Container, error) { return f.FakeBackend.ListContainers(ctx, filter) })
}

func (f *flaky) ContainerStatus(ctx context.Context, id string) (runtime.Container, error) {
	return try(f, func() (runtime.Container, error) { return f.FakeBackend.ContainerStatus(ctx, id) })
}

// While the backend fails, at most one instance of a container runs; afterwards
// every pod converges, and all of it can be removed.
func TestConvergesAfterFaults(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { faultyLife(t, seed) })
		})
	}
}

func faultyLife(t *testing.T, seed uint64) {
	f := &flaky{
		FakeBackend: runtimetest.NewFakeBackend(runtimetest.FakeBackendConfig{Script: runtimetest.ByName(scripts{
			"setup": runtimetest.RunsFor(time.Second, 0), "crash": runtimetest.RunsFor(20*time.Second, 1), "stubborn": stubborn,
		})}),
		rng: rand.New(rand.NewPCG(seed, 1)),
	}
	n := newNode(t, nil, podruntime.Config{Backend: f})
	pod := newPod("web", container("main"), container("crash"), container("stubborn"))
	pod.Spec.InitContainers = []v1.Container{container("setup"), sidecar("proxy")}
	f.on.Store(true)
	for step := range 60 {
		st, err := n.PodStatus(t.Context(), pod.UID)
		if err != nil {
			continue
		}
		requireOneInstance(t, st)
		if step%20 == 19 {
			_ = n.kill(pod, 5*time.Second)
		} else {
			_, _ = n.SyncPod(t.Context(), runtime.SyncRequest{Pod: pod, Status: st})
		}
		time.Sleep(time.Duration(seed%7+1) * time.Second)
	}
	f.on.Store(false)
	deadline := time.Now().Add(10 * time.Minute)
	for !converged(n, pod) {
		require.True(t, time.Now().Before(deadline), "the pod does not converge: %v", n.states(pod))
		_, _ = n.sync(pod)
		time.Sleep(time.Second)
	}
	require.NoError(t, n.kill(pod, time.Second))
	require.NoError(t, n.RemovePod(t.Context(), pod.UID))
	list, err := n.ListPods(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)
}

func requireOneInstance(t *testing.T, st *runtime.PodStatus) {
	t.Helper()
	running := map[string]int{}
	for _, c := range st.Containers {
		if c.State == runtime.StateRunning {
			running[c.Name]++
			require.Equal(t, 1, running[c.Name], "instances of %s", c.Name)
		}
	}
}

func converged(n *node, pod *v1.Pod) bool {
	st := n.status(pod)
	for _, name := range []string{"proxy", "main", "crash", "stubborn"} {
		if c := st.Container(name); c == nil || c.State != runtime.StateRunning {
			return false
		}
	}
	return true
}

// Pods live side by side, and calls for one that is slow delay no other.
func TestManyPodsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, scripts{"slow": {StartDelay: time.Hour}}, podruntime.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		stuck := newPod("stuck", container("slow"))
		status := n.status(stuck)
		go func() { _, _ = n.SyncPod(ctx, runtime.SyncRequest{Pod: stuck, Status: status}) }()
		begin := time.Now()
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				pod := newPod(fmt.Sprint("pod-", i), container("a"), container("b"))
				for range 3 {
					if _, err := n.sync(pod); err != nil {
						t.Error(err)
					}
					if _, err := n.ListPods(t.Context()); err != nil {
						t.Error(err)
					}
				}
				if err := n.kill(pod, time.Second); err != nil {
					t.Error(err)
				}
				if err := n.RemovePod(t.Context(), pod.UID); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.Zero(t, time.Since(begin))
		cancel()
	})
}
