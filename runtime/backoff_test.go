package runtime_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeparts/kubeparts/runtime"
)

// crashLoop plays a pod whose one container ends after running for a while, again
// and again, and returns how long each start waited after the end before it.
func crashLoop(t *testing.T, backoff runtime.Backoff, runs ...time.Duration) (waits []time.Duration) {
	t.Helper()
	pod := newPod(always, "c0")
	status := &runtime.PodStatus{Sandboxes: []runtime.SandboxStatus{sandbox(0, true)}}
	clock := now
	for i, run := range runs {
		a := runtime.Plan(runtime.PlanInput{Pod: pod, Status: status, Backoff: backoff, Now: clock})
		require.Len(t, a.Containers, 1)
		end := clock
		if a.Containers[0].Waits() {
			require.Equal(t, a.Containers[0].WaitUntil, a.RetryAt)
			clock = a.RetryAt
			a = runtime.Plan(runtime.PlanInput{Pod: pod, Status: status, Backoff: a.Backoff, Now: clock})
			require.False(t, a.Containers[0].Waits(), "it may start at the time that was named")
		}
		require.EqualValues(t, i, a.Containers[0].RestartCount)
		waits = append(waits, clock.Sub(end))
		backoff = a.Backoff.Started(a.Containers[0], clock)
		started := clock
		clock = clock.Add(run)
		status = &runtime.PodStatus{
			Sandboxes: status.Sandboxes,
			Containers: []runtime.ContainerStatus{{
				ID: "c0", Name: "c0", State: runtime.StateExited, ExitCode: int32(i % 2), RestartCount: int32(i),
				CreatedAt: started, StartedAt: started, FinishedAt: clock,
			}},
		}
	}
	return waits
}

func TestBackoffDoubles(t *testing.T) {
	got := crashLoop(t, runtime.Backoff{}, 1, 1, 1, 1, 1, 1, 1, 1, 1)
	require.Equal(t, seconds(0, 0, 10, 20, 40, 80, 160, 300, 300), got, "the exit code does not matter")
}

func TestBackoffBeginsAnewAfterALongRun(t *testing.T) {
	const long = 10*time.Minute + time.Second
	got := crashLoop(t, runtime.Backoff{}, 1, 1, 1, 10*time.Minute, long, 1, 1)
	require.Equal(t, seconds(0, 0, 10, 20, 40, 0, 10), got)
}

// What had ended before its sandbox was lost did not run until it was started again.
func TestBackoffGoesOnInANewSandbox(t *testing.T) {
	pod := newPod(always, "c0")
	crashed := &runtime.PodStatus{Containers: []runtime.ContainerStatus{{
		ID: "c0", Name: "c0", State: runtime.StateExited, ExitCode: 1, RestartCount: 4, CreatedAt: now, StartedAt: now, FinishedAt: now.Add(time.Second),
	}}}
	backoff := runtime.Backoff{}.Observe(pod, crashed)
	start := backoff.Start(pod, &pod.Spec.Containers[0], &runtime.PodStatus{}, now.Add(time.Hour))
	require.False(t, start.Waits())
	require.EqualValues(t, 5, start.RestartCount)
	require.Equal(t, 160*time.Second, start.NextWait)
}

// kubernetes/kubernetes#57291: the pace can be set.
func TestBackoffConfigIssue57291(t *testing.T) {
	cfg := runtime.BackoffConfig{Base: time.Second, Max: 3 * time.Second, ResetAfter: time.Minute}
	got := crashLoop(t, runtime.Backoff{Config: cfg}, 1, 1, 1, 1, 2*time.Minute, 1)
	require.Equal(t, seconds(0, 0, 1, 2, 3, 0), got)
}

func seconds(n ...int) []time.Duration {
	var ds []time.Duration
	for _, s := range n {
		ds = append(ds, time.Duration(s)*time.Second)
	}
	return ds
}

// The time until a probe kills a container counts as running, too.
func TestBackoffBeginsAnewAfterAKill(t *testing.T) {
	pod := newPod(always, "c0")
	status := observe(pod, "c0=running c0=exited:1")
	begin := func(at time.Time) runtime.Start {
		backoff := runtime.Backoff{}.Started(runtime.Start{Container: &pod.Spec.Containers[0], NextWait: 80 * time.Second}, now)
		return backoff.Start(pod, &pod.Spec.Containers[0], status, at)
	}
	require.Equal(t, 160*time.Second, begin(now.Add(10*time.Minute)).NextWait)
	require.Equal(t, 10*time.Second, begin(now.Add(10*time.Minute+1)).NextWait)
}

// A runtime that does not say when a container ended: its start counts.
func TestBackoffWithoutTimes(t *testing.T) {
	pod := newPod(always, "c0")
	status := observe(pod, "c0=exited:1")
	status.Containers[0].FinishedAt = time.Time{}
	backoff := runtime.Backoff{}.Started(runtime.Start{Container: &pod.Spec.Containers[0], NextWait: time.Minute}, now)
	got := backoff.Start(pod, &pod.Spec.Containers[0], status, now.Add(time.Second))
	require.Equal(t, now.Add(time.Minute), got.WaitUntil)
}

// Another image or other resources begin anew; anything else does not.
func TestBackoffKey(t *testing.T) {
	old := newPod(always, "c0")
	crashed := observe(old, "c0=exited:1")
	backoff := runtime.Backoff{}.Started(runtime.Start{Container: &old.Spec.Containers[0], NextWait: time.Minute}, crashed.Containers[0].CreatedAt)

	for name, c := range map[string]struct {
		change func(*v1.Container)
		waits  bool
	}{
		"nothing": {func(*v1.Container) {}, true},
		"command": {func(c *v1.Container) { c.Command = []string{"x"} }, true},
		"image":   {func(c *v1.Container) { c.Image = "image:2" }, false},
		"resources": {func(c *v1.Container) {
			c.Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := newPod(always, "c0", with("c0", c.change))
			require.Equal(t, c.waits, backoff.Start(pod, &pod.Spec.Containers[0], crashed, now).Waits())
		})
	}
}

// An agent that was restarted goes on with the back-off: it is rebuilt from restart
// counts and times.
func TestBackoffOutlivesTheAgent(t *testing.T) {
	pod := newPod(always, "c0")
	start := func(instances ...runtime.ContainerStatus) runtime.Start {
		for i := range instances {
			instances[i].Name, instances[i].State = "c0", runtime.StateExited
			instances[i].StartedAt = instances[i].CreatedAt
		}
		status := &runtime.PodStatus{Containers: instances}
		return runtime.Backoff{}.Observe(pod, status).Start(pod, &pod.Spec.Containers[0], status, now)
	}
	ago := func(s int) time.Time { return now.Add(-time.Duration(s) * time.Second) }

	for name, c := range map[string]struct {
		instances []runtime.ContainerStatus
		want      time.Duration
	}{
		"its first end":           {[]runtime.ContainerStatus{{RestartCount: 0, CreatedAt: ago(1), FinishedAt: ago(0)}}, 0},
		"one restart":             {[]runtime.ContainerStatus{{RestartCount: 1, CreatedAt: ago(1), FinishedAt: ago(0)}}, 10 * time.Second},
		"four restarts":           {[]runtime.ContainerStatus{{RestartCount: 4, CreatedAt: ago(1), FinishedAt: ago(0)}}, 80 * time.Second},
		"very many":               {[]runtime.ContainerStatus{{RestartCount: math.MaxInt32, CreatedAt: ago(1), FinishedAt: ago(0)}}, 300 * time.Second},
		"many, but ran long":      {[]runtime.ContainerStatus{{RestartCount: 40, CreatedAt: ago(700), FinishedAt: ago(0)}}, 0},
		"many, with a long while": {[]runtime.ContainerStatus{{RestartCount: 40, CreatedAt: ago(1), FinishedAt: ago(0)}, {RestartCount: 39, CreatedAt: ago(900), FinishedAt: ago(400)}}, 300 * time.Second},
		"many, but soon after the one before": {[]runtime.ContainerStatus{{RestartCount: 40, CreatedAt: ago(1), FinishedAt: ago(0)},
			{RestartCount: 39, CreatedAt: ago(900), FinishedAt: ago(3)}}, 10 * time.Second},
		"many, 21 s after the one before": {[]runtime.ContainerStatus{{RestartCount: 40, CreatedAt: ago(1), FinishedAt: ago(0)},
			{RestartCount: 39, CreatedAt: ago(900), FinishedAt: ago(22)}}, 40 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			got := start(c.instances...)
			if c.want == 0 {
				require.False(t, got.Waits())
				return
			}
			require.Equal(t, now.Add(c.want), got.WaitUntil)
		})
	}
}

// A clock that jumps holds no container back for years.
func TestBackoffAndTheClock(t *testing.T) {
	pod := newPod(always, "c0")
	status := observe(pod, "c0=exited:1")
	status.Containers[0].RestartCount = 3
	at := func(now time.Time) runtime.Start {
		return runtime.Backoff{}.Observe(pod, status).Start(pod, &pod.Spec.Containers[0], status, now)
	}
	require.True(t, at(now).Waits())
	require.True(t, at(now.Add(-20*time.Second)).Waits(), "clocks of the runtime and the agent may differ a little")
	require.False(t, at(now.AddDate(-5, 0, 0)).Waits())
	require.False(t, at(now.AddDate(5, 0, 0)).Waits())
}

// Restart counts only grow, also when nothing of a container is left to see.
func TestRestartCountsOnlyGrow(t *testing.T) {
	pod := newPod(always, "c0")
	count := func(b runtime.Backoff, status *runtime.PodStatus) int32 {
		return b.Start(pod, &pod.Spec.Containers[0], status, now).RestartCount
	}
	status := observe(pod, "c0=exited:1 c0=exited:1")
	status.Containers[0].RestartCount = 7
	require.EqualValues(t, 0, count(runtime.Backoff{}, nil))
	require.EqualValues(t, 8, count(runtime.Backoff{}, status))

	seen := runtime.Backoff{}.Observe(pod, status)
	require.EqualValues(t, 8, count(seen, nil), "removed")
	require.EqualValues(t, 8, count(seen, observe(pod, "c0=exited:1")), "a runtime that forgets")

	status.Containers[0].RestartCount = math.MaxInt32
	require.EqualValues(t, math.MaxInt32, count(runtime.Backoff{}, status))
	status.Containers[0].RestartCount = -5
	require.EqualValues(t, 1, count(runtime.Backoff{}, status))
}

// A container that can't be made is no crash loop, and does not count.
func TestStartThatFailsIsNoRestart(t *testing.T) {
	pod := newPod(always, "c0")
	status := observe(pod, "")
	var backoff runtime.Backoff
	for range 5 {
		a := runtime.Plan(runtime.PlanInput{Pod: pod, Status: status, Backoff: backoff, Now: now})
		require.Equal(t, "start c0", summary(a))
		require.False(t, a.Containers[0].Waits())
		require.EqualValues(t, 0, a.Containers[0].RestartCount)
		backoff = a.Backoff.Started(a.Containers[0], now)
	}
}

// The kubelet forgets a container's back-off with its instances, so that a pod
// which restarts itself by a rule does so without a pause.
func TestRestartAllBacksOff(t *testing.T) {
	pod := newPod(never, "c0 c1", with("c0", restartAllOn(42)))
	var backoff runtime.Backoff
	var waits []time.Duration
	clock := now
	for i := range 5 {
		if i > 0 {
			crashed := observe(pod, "c0=exited:42 c1=running")
			a := runtime.Plan(runtime.PlanInput{Pod: pod, Status: crashed, Backoff: backoff, RestartAll: true, Now: clock})
			require.Equal(t, "reset c1.0! c0.0", summary(a))
			backoff = a.Backoff
		}
		end := clock
		a := runtime.Plan(runtime.PlanInput{Pod: pod, Status: observe(pod, ""), Backoff: backoff, Now: clock})
		if !a.RetryAt.IsZero() {
			clock = a.RetryAt
			a = runtime.Plan(runtime.PlanInput{Pod: pod, Status: observe(pod, ""), Backoff: a.Backoff, Now: clock})
			require.Zero(t, a.RetryAt)
		}
		waits = append(waits, clock.Sub(end))
		backoff = a.Backoff
		for _, start := range a.Containers {
			backoff = backoff.Started(start, clock)
		}
		clock = clock.Add(time.Second)
	}
	require.Equal(t, seconds(0, 0, 9, 19, 39), waits)
}
