package runtimetest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

func newPod(name string, containers ...v1.Container) *v1.Pod {
	pod := &v1.Pod{}
	pod.UID, pod.Namespace, pod.Name = "uid-1", "default", name
	pod.Spec.RestartPolicy = v1.RestartPolicyAlways
	pod.Spec.Containers = containers
	return pod
}

// pass reads the pod and syncs it once.
func pass(t *testing.T, rt runtime.Runtime, pod *v1.Pod) (runtime.SyncResult, *runtime.PodStatus) {
	t.Helper()
	st, err := rt.PodStatus(t.Context(), pod.UID)
	require.NoError(t, err)
	res, err := rt.SyncPod(t.Context(), runtime.SyncRequest{Pod: pod, Status: st})
	require.NoError(t, err)
	st, err = rt.PodStatus(t.Context(), pod.UID)
	require.NoError(t, err)
	return res, st
}

func TestFakeStartsAndStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := runtimetest.NewFake(runtimetest.FakeConfig{})
		pod := newPod("web", v1.Container{Name: "a"}, v1.Container{Name: "b", Command: runtimetest.Script{IgnoresTerm: true}.Command()})
		_, st := pass(t, f, pod)
		require.Len(t, st.Containers, 2)
		require.Equal(t, []string{"10.0.0.1"}, st.IPs)

		start := time.Now()
		require.NoError(t, f.KillPod(context.Background(), runtime.KillRequest{Ref: runtime.RefOf(pod), Grace: time.Minute, Deadline: start.Add(time.Minute)}))
		require.Equal(t, time.Minute, time.Since(start))
		st, err := f.PodStatus(t.Context(), pod.UID)
		require.NoError(t, err)
		require.False(t, st.Running())
		require.EqualValues(t, 137, st.Container("b").ExitCode)
		require.EqualValues(t, 0, st.Container("a").ExitCode)
		require.Empty(t, st.IPs)
	})
}
