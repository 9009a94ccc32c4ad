package runtime_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// A new sandbox takes the instances of init containers with it, and not what is
// known of how often they failed (simtest, seed 2050).
func TestBackoffOutlivesTheSandbox(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	pod := &v1.Pod{Spec: v1.PodSpec{
		InitContainers: []v1.Container{{Name: "s", Image: "i", RestartPolicy: &always}},
		Containers:     []v1.Container{{Name: "c", Image: "i"}},
	}}
	c := &pod.Spec.InitContainers[0]
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ended := func(n int32, started, finished time.Time) *runtime.PodStatus {
		return &runtime.PodStatus{Containers: []runtime.ContainerStatus{{
			ID: "s", Name: "s", State: runtime.StateExited, ExitCode: 1, RestartCount: n,
			CreatedAt: started, StartedAt: started, FinishedAt: finished,
		}}}
	}
	var b runtime.Backoff
	b = b.Started(b.Start(pod, c, nil, now), now)
	now = now.Add(time.Second)
	status := ended(0, now.Add(-time.Second), now)
	b = b.Observe(pod, status)
	b = b.Started(b.Start(pod, c, status, now), now)
	now = now.Add(time.Minute)
	b = b.Observe(pod, ended(1, now.Add(-time.Minute), now))

	start := b.Start(pod, c, &runtime.PodStatus{}, now)
	require.True(t, start.Waits())
	require.Equal(t, now.Add(10*time.Second), start.WaitUntil)
	require.EqualValues(t, 2, start.RestartCount)
}
