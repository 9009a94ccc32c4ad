package runtimetest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
)

func newPod(name string, containers ...v1.Container) *v1.Pod {
	pod := &v1.Pod{}
	pod.UID, pod.Namespace, pod.Name = "uid-1", "default", name
	pod.Spec.RestartPolicy = v1.RestartPolicyAlways
	pod.Spec.Containers = containers
	return pod
}

// scripted makes a container that behaves as a script says.
func scripted(name string, s runtimetest.Script) v1.Container {
	return v1.Container{Name: name, Image: "image", Command: s.Command()}
}

// pass reads the pod, syncs it once and reads it again.
func pass(t *testing.T, rt runtime.Runtime, pod *v1.Pod) (runtime.SyncResult, *runtime.PodStatus) {
	t.Helper()
	res, err := rt.SyncPod(t.Context(), runtime.SyncRequest{Pod: pod, Status: read(t, rt, pod)})
	require.NoError(t, err)
	return res, read(t, rt, pod)
}

func read(t *testing.T, rt runtime.Runtime, pod *v1.Pod) *runtime.PodStatus {
	t.Helper()
	st, err := rt.PodStatus(t.Context(), pod.UID)
	require.NoError(t, err)
	return st
}

func kill(pod *v1.Pod, grace time.Duration) runtime.KillRequest {
	return runtime.KillRequest{Ref: runtime.RefOf(pod), Pod: pod, Grace: grace, Deadline: time.Now().Add(grace)}
}

// bubble runs a test in fake time on a Fake.
func bubble(t *testing.T, cfg runtimetest.FakeConfig, test func(*testing.T, *runtimetest.Fake)) {
	synctest.Test(t, func(t *testing.T) { test(t, runtimetest.NewFake(cfg)) })
}

func TestFakeStopsWithinGrace(t *testing.T) {
	tests := map[string]struct {
		script runtimetest.Script
		grace  time.Duration
		takes  time.Duration
		code   int32
	}{
		"ends at once":       {runtimetest.Script{}, time.Minute, 0, 0},
		"takes its time":     {runtimetest.Script{StopAfter: 5 * time.Second, StopCode: 143}, time.Minute, 5 * time.Second, 143},
		"takes too long":     {runtimetest.Script{StopAfter: time.Hour}, time.Minute, time.Minute, 137},
		"does not listen":    {runtimetest.Script{IgnoresTerm: true}, time.Minute, time.Minute, 137},
		"ends by itself":     {runtimetest.Script{IgnoresTerm: true, Exits: true, RunFor: 9 * time.Second, ExitCode: 4}, time.Minute, 9 * time.Second, 4},
		"ended before":       {runtimetest.ExitsWith(7), time.Minute, 0, 7},
		"has no time at all": {runtimetest.Script{}, 0, 0, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, runtimetest.FakeConfig{}, func(t *testing.T, f *runtimetest.Fake) {
				pod := newPod("web", scripted("main", tt.script))
				pass(t, f, pod)
				start := time.Now()
				require.NoError(t, f.KillPod(t.Context(), kill(pod, tt.grace)))
				require.Equal(t, tt.takes, time.Since(start))
				st := read(t, f, pod)
				require.False(t, st.Running())
				require.Equal(t, tt.code, st.Container("main").ExitCode)
				require.Empty(t, st.IPs)
			})
		})
	}
}

func TestFakeSidecarsStopLast(t *testing.T) {
	bubble(t, runtimetest.FakeConfig{}, func(t *testing.T, f *runtimetest.Fake) {
		always := v1.ContainerRestartPolicyAlways
		slow := runtimetest.Script{StopAfter: 3 * time.Second}
		pod := newPod("web", scripted("main", slow))
		for _, name := range []string{"first", "second"} {
			c := scripted(name, slow)
			c.RestartPolicy = &always
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
		}
		for range 4 {
			pass(t, f, pod)
		}
		start := time.Now()
		require.NoError(t, f.KillPod(t.Context(), kill(pod, 8*time.Second)))
		st := read(t, f, pod)
		for name, after := range map[string]time.Duration{"main": 3 * time.Second, "second": 6 * time.Second, "first": 8 * time.Second} {
			require.Equal(t, after, st.Container(name).FinishedAt.Sub(start), name)
		}
	})
}

func TestFakeBacksOff(t *testing.T) {
	bubble(t, runtimetest.FakeConfig{}, func(t *testing.T, f *runtimetest.Fake) {
		pod := newPod("web", scripted("main", runtimetest.ExitsWith(1)))
		start := time.Now()
		for range 5 { // 0 s, at once, then 10, 20, 40 s
			res, _ := pass(t, f, pod)
			if !res.RetryAt.IsZero() {
				require.Equal(t, "CrashLoopBackOff", res.Containers[0].Reason)
				require.NoError(t, runtimetest.Wait(t.Context(), time.Until(res.RetryAt)))
				pass(t, f, pod)
			}
		}
		st := read(t, f, pod)
		require.EqualValues(t, 4, st.Container("main").RestartCount)
		require.Equal(t, 70*time.Second, time.Since(start))
	})
}

func TestFakeStartThatTakesTime(t *testing.T) {
	bubble(t, runtimetest.FakeConfig{Script: runtimetest.ByName(map[string]runtimetest.Script{
		"slow": {StartDelay: time.Minute},
	})}, func(t *testing.T, f *runtimetest.Fake) {
		pod := newPod("web", v1.Container{Name: "slow"})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := f.SyncPod(ctx, runtime.SyncRequest{Pod: pod})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))

		// A kill overtakes the pass: what is late is not started any more.
		done := make(chan error)
		go func() {
			_, err := f.SyncPod(t.Context(), runtime.SyncRequest{Pod: pod})
			done <- err
		}()
		synctest.Wait()
		require.NoError(t, f.KillPod(t.Context(), kill(pod, time.Second)))
		require.ErrorContains(t, <-done, "the pod is being killed")
		require.False(t, read(t, f, pod).Running())
	})
}

func TestFakeRefusesASecondInstance(t *testing.T) {
	f := runtimetest.NewFake(runtimetest.FakeConfig{})
	pod := newPod("web", v1.Container{Name: "main"})
	_, st := pass(t, f, pod)
	stale := *st
	stale.Containers = nil
	res, err := f.SyncPod(t.Context(), runtime.SyncRequest{Pod: pod, Status: &stale})
	require.NoError(t, err)
	require.Equal(t, "CreateContainerError", res.Containers[0].Reason)
	require.Len(t, read(t, f, pod).Containers, 1)
}

func TestFakeStartError(t *testing.T) {
	f := runtimetest.NewFake(runtimetest.FakeConfig{})
	pod := newPod("web", scripted("main", runtimetest.Script{StartError: errors.New("no such device")}), v1.Container{Name: "other"})
	res, st := pass(t, f, pod)
	require.Equal(t, []runtime.StartResult{{Container: "main", Reason: "RunContainerError", Message: "no such device"}, {Container: "other"}}, res.Containers)
	require.Equal(t, runtime.StateCreated, st.Container("main").State)
}

func TestFakeControls(t *testing.T) {
	f := runtimetest.NewFake(runtimetest.FakeConfig{})
	pod := newPod("web", v1.Container{Name: "main"})
	ctx := t.Context()
	require.ErrorIs(t, f.Exit(pod.UID, "main", 1), runtime.ErrNotFound)
	require.ErrorIs(t, f.FailSandbox(pod.UID), runtime.ErrNotFound)
	pass(t, f, pod)

	require.NoError(t, f.LoseTrack(pod.UID, "main"))
	require.Equal(t, runtime.StateUnknown, read(t, f, pod).Container("main").State)
	_, st := pass(t, f, pod) // kills what is unknown and starts anew
	require.Equal(t, runtime.StateRunning, st.Container("main").State)
	require.EqualValues(t, 1, st.Container("main").RestartCount)

	require.NoError(t, f.FailSandbox(pod.UID))
	st = read(t, f, pod)
	require.False(t, st.Running())
	require.Empty(t, st.IPs)
	_, st = pass(t, f, pod)
	require.EqualValues(t, 1, st.Sandboxes[0].Attempt)
	require.Equal(t, []string{"10.0.0.2"}, st.IPs)

	f.Forget(pod.UID)
	st = read(t, f, pod)
	require.Equal(t, runtime.PodRef{UID: pod.UID}, st.PodRef)

	f.Invent(runtime.PodRef{UID: "stranger"}, "a", "b")
	pods, err := f.ListPods(ctx)
	require.NoError(t, err)
	require.Len(t, pods, 1)
	require.True(t, pods[0].Running)
}

func TestFakeLogsFollow(t *testing.T) {
	bubble(t, runtimetest.FakeConfig{}, func(t *testing.T, f *runtimetest.Fake) {
		pod := newPod("web", scripted("main", runtimetest.Script{Exits: true, RunFor: time.Minute, Output: "one\ntwo\nthree\n"}))
		_, st := pass(t, f, pod)
		id := st.Container("main").ID
		start := time.Now()
		log, err := f.Logs(t.Context(), id, runtime.LogOptions{Follow: true, TailLines: 2, Timestamps: true})
		require.NoError(t, err)
		text, err := io.ReadAll(log)
		require.NoError(t, err)
		require.Equal(t, "2000-01-01T00:00:00Z two\n2000-01-01T00:00:00Z three\n", string(text))
		require.Equal(t, time.Minute, time.Since(start))

		log, err = f.Logs(t.Context(), id, runtime.LogOptions{SinceTime: start.Add(time.Second)})
		require.NoError(t, err)
		text, err = io.ReadAll(log)
		require.NoError(t, err)
		require.Empty(t, text)
	})
}

func TestFakeWatch(t *testing.T) {
	bubble(t, runtimetest.FakeConfig{}, func(t *testing.T, f *runtimetest.Fake) {
		ctx, cancel := context.WithCancel(t.Context())
		hints := make(chan types.UID, 100)
		done := make(chan error)
		go func() { done <- f.Watch(ctx, func(uid types.UID) { hints <- uid }) }()
		require.Empty(t, <-hints, "it has begun")
		pod := newPod("web", scripted("main", runtimetest.RunsFor(time.Minute, 0)))
		pass(t, f, pod)
		require.Len(t, hints, 2) // sandbox and container
		require.NoError(t, runtimetest.Wait(t.Context(), time.Minute))
		synctest.Wait()
		require.Len(t, hints, 3)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		pass(t, f, pod)
		require.Len(t, hints, 3)
	})
}

// Many pods start in no time, and an idle one owns nothing that a bubble would
// have to wait for.
func TestFakePods10000(t *testing.T) {
	bubble(t, runtimetest.FakeConfig{}, func(t *testing.T, f *runtimetest.Fake) {
		pod := newPod("web", v1.Container{Name: "main"})
		for i := range 10000 {
			p := *pod
			p.UID = types.UID(fmt.Sprint("uid-", i))
			_, err := f.SyncPod(t.Context(), runtime.SyncRequest{Pod: &p})
			require.NoError(t, err)
		}
		pods, err := f.ListPods(t.Context())
		require.NoError(t, err)
		require.Len(t, pods, 10000)
	})
}
