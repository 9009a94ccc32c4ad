package podruntime_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/podruntime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
)

// cpu gives the containers of a pod requests for cpu.
func cpu(pod *v1.Pod, amount string) *v1.Pod {
	pod = pod.DeepCopy()
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(amount)}
	}
	return pod
}

func cpuOf(st *runtime.PodStatus, name string) string {
	return st.Container(name).Resources.Requests.Cpu().String()
}

func TestResizeInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, nil, podruntime.Config{})
		require.True(t, n.CanResize())
		pod := cpu(newPod("web", container("a"), container("b")), "1")
		n.settle(pod)
		require.Equal(t, "1", cpuOf(n.status(pod), "a"))
		before := n.status(pod).Container("a").ID

		pod = cpu(pod, "2")
		res, err := n.sync(pod)
		require.NoError(t, err)
		require.True(t, res.Acted)
		require.Equal(t, "2", cpuOf(n.status(pod), "a"))
		require.Equal(t, "2", cpuOf(n.status(pod), "b"))
		require.Equal(t, before, n.status(pod).Container("a").ID)

		pod = cpu(pod, "3")
		pod.Spec.Containers[0].ResizePolicy = []v1.ContainerResizePolicy{{ResourceName: v1.ResourceCPU, RestartPolicy: v1.RestartContainer}}
		n.settle(pod)
		require.Equal(t, map[string]string{"a": "running #1", "b": "running #0"}, n.states(pod))
		require.Equal(t, "3", cpuOf(n.status(pod), "a"))
		require.Contains(t, n.events.take(), "Normal Killing spec.containers{a}: Container a resize requires restart")
	})
}

// mute is a backend that resizes and does not tell what containers have.
type mute struct {
	*runtimetest.FakeBackend
	calls int
	err   error
}

func (m *mute) ContainerStatus(ctx context.Context, id string) (runtime.Container, error) {
	c, err := m.FakeBackend.ContainerStatus(ctx, id)
	c.Resources = nil
	return c, err
}

func (m *mute) ResizeContainer(ctx context.Context, id string, r v1.ResourceRequirements) error {
	m.calls++
	if m.err != nil {
		return m.err
	}
	return m.FakeBackend.ResizeContainer(ctx, id, r)
}

// What containers were given is remembered for a backend that does not tell. A new
// agent knows what they were started with, and carries the resize out once more.
func TestResizeIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := &mute{FakeBackend: runtimetest.NewFakeBackend(runtimetest.FakeBackendConfig{})}
		n := newNode(t, nil, podruntime.Config{Backend: backend})
		pod := newPod("web", container("a"))
		n.settle(pod)
		require.Empty(t, n.status(pod).Container("a").Resources.Requests)
		n.settle(cpu(pod, "2"))
		require.Equal(t, "2", cpuOf(n.status(pod), "a"))
		require.Equal(t, 1, backend.calls)

		next := newNode(t, nil, podruntime.Config{Backend: backend, Root: n.root})
		require.Empty(t, next.status(pod).Container("a").Resources.Requests)
		next.settle(cpu(pod, "2"))
		require.Equal(t, "2", cpuOf(next.status(pod), "a"))
		require.Equal(t, 2, backend.calls)
		require.Equal(t, map[string]string{"a": "running #0"}, next.states(pod))
	})
}

func TestResizeThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := &mute{FakeBackend: runtimetest.NewFakeBackend(runtimetest.FakeBackendConfig{}), err: errors.New("below what is in use")}
		n := newNode(t, nil, podruntime.Config{Backend: backend})
		pod := cpu(newPod("web", container("a")), "1")
		n.settle(pod)
		pod = cpu(pod, "2")
		pod.Spec.Containers = append(pod.Spec.Containers, container("late"))
		_, err := n.sync(pod)
		var failed *runtime.ResizeError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, "a", failed.Container)
		require.ErrorIs(t, err, backend.err)
		require.Equal(t, map[string]string{"a": "running #0", "late": "running #0"}, n.states(pod), "it holds up nobody")
		require.Equal(t, "1", cpuOf(n.status(pod), "a"))
	})
}

func TestBackendThatCannotResize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rigid := struct{ runtime.Backend }{runtimetest.NewFakeBackend(runtimetest.FakeBackendConfig{})}
		n := newNode(t, nil, podruntime.Config{Backend: rigid})
		require.False(t, n.CanResize())
		pod := cpu(newPod("web", container("a")), "1")
		n.settle(pod)
		_, err := n.sync(cpu(pod, "2"))
		require.ErrorIs(t, err, runtime.ErrNotSupported)
	})
}
