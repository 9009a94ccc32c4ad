package runtimetest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
)

// said keeps events.
type said struct {
	mu   sync.Mutex
	list []string
}

func (s *said) Eventf(object apiruntime.Object, eventtype, reason, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := object.(*v1.ObjectReference).FieldPath
	s.list = append(s.list, path+" "+eventtype+" "+reason+" "+fmt.Sprintf(format, args...))
}

func execHook(s runtimetest.Script) *v1.LifecycleHandler {
	return &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: s.Command()}}
}

func sleepHook(seconds int64) *v1.LifecycleHandler {
	return &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: seconds}}
}

func withHooks(c v1.Container, postStart, preStop *v1.LifecycleHandler) v1.Container {
	c.Lifecycle = &v1.Lifecycle{PostStart: postStart, PreStop: preStop}
	return c
}

// The next container waits for the hook of the one before; one whose hook fails is
// stopped and does not keep others from being started.
func TestFakeRunsPostStart(t *testing.T) {
	const failed = "Warning FailedPostStartHook PostStartHook failed"
	tests := map[string]struct {
		main   runtimetest.Script
		hook   *v1.LifecycleHandler
		takes  time.Duration
		reason string
		code   int32
	}{
		"of another's command":   {hook: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"warm-up"}}}},
		"over HTTP":              {hook: &v1.LifecycleHandler{HTTPGet: &v1.HTTPGetAction{}}},
		"takes time":             {hook: execHook(runtimetest.RunsFor(20*time.Second, 0)), takes: 20 * time.Second},
		"sleeps":                 {hook: sleepHook(7), takes: 7 * time.Second},
		"fails":                  {hook: execHook(runtimetest.ExitsWith(3)), reason: "PostStartHookError"},
		"can't be run":           {hook: execHook(runtimetest.Script{StartError: errors.New("no such file")}), reason: "PostStartHookError"},
		"fails, and is not easy": {main: runtimetest.Script{IgnoresTerm: true}, hook: execHook(runtimetest.RunsFor(5*time.Second, 1)), takes: 15 * time.Second, reason: "PostStartHookError", code: 137},
		"hangs until its container ends": {
			main: runtimetest.RunsFor(9*time.Second, 4), hook: execHook(runtimetest.Script{}),
			takes: 9 * time.Second, reason: "PostStartHookError", code: 4,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var events said
			bubble(t, runtimetest.FakeConfig{Events: &events}, func(t *testing.T, f *runtimetest.Fake) {
				pod := newPod("web", withHooks(scripted("main", tt.main), tt.hook, nil), scripted("next", runtimetest.Script{}))
				pod.Spec.TerminationGracePeriodSeconds = new(int64(10))
				start := time.Now()
				res, st := pass(t, f, pod)
				require.Equal(t, tt.takes, time.Since(start))
				require.Equal(t, start.Add(tt.takes), st.Container("next").StartedAt)
				require.Equal(t, start, st.Container("main").StartedAt)
				require.Equal(t, tt.reason, res.Containers[0].Reason)
				require.Equal(t, tt.code, st.Container("main").ExitCode)
				if tt.reason == "" {
					require.Equal(t, runtime.StateRunning, st.Container("main").State)
					require.Empty(t, events.list)
					return
				}
				require.Equal(t, "PostStartHook failed", res.Containers[0].Message)
				require.Equal(t, runtime.StateExited, st.Container("main").State)
				require.Equal(t, []string{"spec.containers{main} " + failed}, events.list)
				time.Sleep(10 * time.Second)
				_, st = pass(t, f, pod)
				require.EqualValues(t, 1, st.Container("main").RestartCount, "it is restarted by policy")
			})
		})
	}
}

// A hook that is cut off with its pass leaves its container alone, and is not run
// again; one that a kill overtakes has nothing to say.
func TestFakePostStartIsCutOff(t *testing.T) {
	var events said
	bubble(t, runtimetest.FakeConfig{Events: &events}, func(t *testing.T, f *runtimetest.Fake) {
		pod := newPod("web", withHooks(scripted("main", runtimetest.Script{}), execHook(runtimetest.Script{}), nil))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := f.SyncPod(ctx, runtime.SyncRequest{Pod: pod})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, runtime.StateRunning, read(t, f, pod).Container("main").State)
		start := time.Now()
		_, st := pass(t, f, pod)
		require.Zero(t, time.Since(start))
		require.Zero(t, st.Container("main").RestartCount)

		require.NoError(t, f.Exit(pod.UID, "main", 1))
		go func() {
			time.Sleep(time.Minute)
			_ = f.KillPod(context.Background(), kill(pod, time.Minute))
		}()
		_, err = f.SyncPod(t.Context(), runtime.SyncRequest{Pod: pod})
		require.ErrorContains(t, err, "the pod is being killed")
		synctest.Wait()
		require.Empty(t, events.list)
	})
}

// The hook has the grace, and its container what is left of it: at least two seconds.
func TestFakeRunsPreStop(t *testing.T) {
	stubborn := runtimetest.Script{IgnoresTerm: true}
	tests := map[string]struct {
		main  runtimetest.Script
		hook  *v1.LifecycleHandler
		grace time.Duration
		takes time.Duration
		code  int32
		fails bool
	}{
		"at once":                  {runtimetest.Script{StopCode: 143}, execHook(runtimetest.ExitsWith(0)), time.Minute, 0, 143, false},
		"takes time":               {runtimetest.Script{}, execHook(runtimetest.RunsFor(5*time.Second, 0)), time.Minute, 5 * time.Second, 0, false},
		"sleeps":                   {runtimetest.Script{}, sleepHook(5), time.Minute, 5 * time.Second, 0, false},
		"is of the grace":          {stubborn, sleepHook(5), time.Minute, time.Minute, 137, false},
		"leaves next to nothing":   {stubborn, sleepHook(9), 10 * time.Second, 11 * time.Second, 137, false},
		"takes too long":           {runtimetest.Script{}, sleepHook(90), time.Minute, time.Minute, 0, true},
		"hangs":                    {runtimetest.Script{}, execHook(runtimetest.Script{}), time.Minute, time.Minute, 0, true},
		"hangs, and is not easy":   {stubborn, execHook(runtimetest.Script{}), time.Minute, 62 * time.Second, 137, true},
		"fails":                    {runtimetest.Script{}, execHook(runtimetest.ExitsWith(1)), time.Minute, 0, 0, true},
		"has no time":              {runtimetest.Script{}, execHook(runtimetest.Script{}), 0, 0, 0, false},
		"of one that ends by then": {runtimetest.RunsFor(7*time.Second, 3), sleepHook(20), time.Minute, 7 * time.Second, 3, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var events said
			bubble(t, runtimetest.FakeConfig{Events: &events}, func(t *testing.T, f *runtimetest.Fake) {
				pod := newPod("web", withHooks(scripted("main", tt.main), nil, tt.hook))
				pass(t, f, pod)
				start := time.Now()
				require.NoError(t, f.KillPod(t.Context(), kill(pod, tt.grace)))
				require.Equal(t, tt.takes, time.Since(start))
				require.Equal(t, tt.code, read(t, f, pod).Container("main").ExitCode)
				var want []string
				if tt.fails {
					want = []string{"spec.containers{main} Warning FailedPreStopHook PreStopHook failed"}
				}
				synctest.Wait() // the event of a hook that was cut short may come after the end
				require.Equal(t, want, events.list)
			})
		})
	}
}

// A stop that is asked for again does not run the hook again, and an earlier deadline
// cuts it short; when whoever waits has left, it goes on.
func TestFakePreStopIsAskedForAgain(t *testing.T) {
	bubble(t, runtimetest.FakeConfig{}, func(t *testing.T, f *runtimetest.Fake) {
		pod := newPod("web", withHooks(scripted("main", runtimetest.Script{IgnoresTerm: true}), nil, execHook(runtimetest.Script{})))
		pass(t, f, pod)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start, again := time.Now(), kill(pod, 10*time.Second)
		require.ErrorIs(t, f.KillPod(ctx, kill(pod, time.Hour)), context.DeadlineExceeded)
		require.NoError(t, f.KillPod(t.Context(), kill(pod, 9*time.Second)))
		require.Equal(t, 12*time.Second, time.Since(start), "the deadline moves, and two seconds are left")
		require.NoError(t, f.KillPod(t.Context(), again))
	})
	bubble(t, runtimetest.FakeConfig{}, func(t *testing.T, f *runtimetest.Fake) {
		pod := newPod("web", withHooks(scripted("main", runtimetest.Script{IgnoresTerm: true}), nil, execHook(runtimetest.Script{})))
		pass(t, f, pod)
		ctx, cancel := context.WithTimeout(t.Context(), 11*time.Second)
		defer cancel()
		start, req := time.Now(), kill(pod, 10*time.Second)
		require.ErrorIs(t, f.KillPod(ctx, req), context.DeadlineExceeded)
		require.NoError(t, f.KillPod(t.Context(), req))
		require.Equal(t, 12*time.Second, time.Since(start), "the same deadline does not take the two seconds away")
	})
}

// The hook of a sidecar runs at once, its stop waits for its turn.
func TestFakePreStopOfSidecarDoesNotWait(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	bubble(t, runtimetest.FakeConfig{}, func(t *testing.T, f *runtimetest.Fake) {
		side := withHooks(scripted("side", runtimetest.Script{StopAfter: time.Second}), nil, sleepHook(20))
		side.RestartPolicy = &always
		pod := newPod("web", withHooks(scripted("main", runtimetest.Script{StopAfter: time.Second}), nil, sleepHook(20)))
		pod.Spec.InitContainers = []v1.Container{side}
		for range 2 {
			pass(t, f, pod)
		}
		start := time.Now()
		require.NoError(t, f.KillPod(t.Context(), kill(pod, time.Minute)))
		st := read(t, f, pod)
		require.Equal(t, 21*time.Second, st.Container("main").FinishedAt.Sub(start))
		require.Equal(t, 22*time.Second, st.Container("side").FinishedAt.Sub(start))
	})
}

// A kill within a pass runs the hook, a reset does not; what ends all at once has no
// hooks.
func TestFakePreStopIsSkipped(t *testing.T) {
	bubble(t, runtimetest.FakeConfig{}, func(t *testing.T, f *runtimetest.Fake) {
		pod := newPod("web", withHooks(scripted("main", runtimetest.Script{}), nil, sleepHook(5)))
		pod.Spec.TerminationGracePeriodSeconds = new(int64(30))
		pass(t, f, pod)
		start, next := time.Now(), pod.DeepCopy()
		next.Spec.Containers[0].Image = "image:2"
		pass(t, f, next)
		require.Equal(t, 5*time.Second, time.Since(start))

		restart := runtime.SyncRequest{Pod: next, RestartAll: true}
		start = time.Now()
		_, err := f.SyncPod(t.Context(), restart)
		require.NoError(t, err)
		require.Zero(t, time.Since(start))
		require.Nil(t, read(t, f, pod).Container("main"))

		pass(t, f, next)
		go func() { _ = f.KillPod(context.Background(), kill(pod, time.Minute)) }()
		synctest.Wait()
		require.True(t, read(t, f, pod).Running())
		require.NoError(t, f.FailSandbox(pod.UID))
		require.False(t, read(t, f, pod).Running())
	})
}

// Hooks are chosen as scripts are, attempt by attempt.
func TestFakeHookIsChosen(t *testing.T) {
	var asked []runtimetest.Instance
	cfg := runtimetest.FakeConfig{Hook: func(i runtimetest.Instance) runtimetest.Script {
		asked = append(asked, i)
		return runtimetest.Script{Exits: true, ExitCode: int32(1 - min(i.Attempt, 1))}
	}}
	bubble(t, cfg, func(t *testing.T, f *runtimetest.Fake) {
		hook := &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"warm-up"}}}
		pod := newPod("web", withHooks(scripted("main", runtimetest.Script{}), hook, nil))
		res, _ := pass(t, f, pod)
		require.Equal(t, "PostStartHookError", res.Containers[0].Reason)
		time.Sleep(10 * time.Second)
		_, st := pass(t, f, pod)
		require.Equal(t, runtime.StateRunning, st.Container("main").State)
		require.True(t, slices.EqualFunc(asked, []uint32{0, 1}, func(i runtimetest.Instance, attempt uint32) bool {
			return i.Attempt == attempt && i.Container == "main" && i.Init && slices.Equal(i.Command, []string{"warm-up"})
		}))
	})
}
