package nodestats_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/eviction"
	"github.com/kubeparts/kubeparts/eviction/evictiontest"
	"github.com/kubeparts/kubeparts/eviction/nodestats"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/podruntime"
	"github.com/kubeparts/kubeparts/runtime/process"
)

// This machine with two pods of real processes.
func TestRealPods(t *testing.T) {
	root := t.TempDir()
	backend, err := process.New(process.Config{Root: filepath.Join(root, "process")})
	require.NoError(t, err)
	t.Cleanup(func() { _ = backend.Close() })
	rt, err := podruntime.New(podruntime.Config{Backend: backend, Root: root})
	require.NoError(t, err)
	pods := []types.UID{"web", "batch"}
	for _, uid := range pods {
		pod := twoContainers(uid)
		t.Cleanup(func() { _ = rt.KillPod(context.Background(), runtime.KillRequest{Ref: runtime.RefOf(pod)}) })
		start(t, rt, pod)
	}
	reader, err := nodestats.New(nodestats.Config{RootDir: root, NodeName: "here"})
	require.NoError(t, err)
	provider := eviction.Join(reader, rt)

	evictiontest.TestStatsProvider(t, func(*testing.T) evictiontest.Subject {
		return evictiontest.Subject{Provider: provider, Pods: pods}
	})
	for _, uid := range pods {
		stats, err := provider.PodStats(t.Context(), uid)
		require.NoError(t, err)
		require.Len(t, stats.Containers, 2)
		require.Positive(t, *stats.Memory.WorkingSetBytes)
		require.GreaterOrEqual(t, *stats.ProcessStats.ProcessCount, uint64(2))
		require.Len(t, stats.Volumes, 1)
		require.GreaterOrEqual(t, *stats.Volumes[0].UsedBytes, uint64(1<<20))
		require.GreaterOrEqual(t, *stats.EphemeralStorage.UsedBytes, *stats.Volumes[0].UsedBytes)

		require.NoError(t, rt.KillPod(t.Context(), runtime.KillRequest{Ref: runtime.RefOf(twoContainers(uid))}))
		require.NoError(t, rt.RemovePod(t.Context(), uid))
		_, err = provider.PodStats(t.Context(), uid)
		require.ErrorIs(t, err, runtime.ErrNotFound)
	}
}

// twoContainers is a pod that has filled a volume with 1 MiB once both run.
func twoContainers(uid types.UID) *v1.Pod {
	container := func(name, script string) v1.Container {
		return v1.Container{
			Name: name, Image: "none", Command: []string{"/bin/sh", "-c", script + "; exec sleep 1000"},
			VolumeMounts: []v1.VolumeMount{{Name: "data", MountPath: "/data"}},
		}
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: string(uid), UID: uid},
		Spec: v1.PodSpec{
			RestartPolicy:  v1.RestartPolicyAlways,
			InitContainers: []v1.Container{container("fill", `exec dd if=/dev/urandom of="$KUBEPARTS_MOUNT_DATA/file" bs=1024 count=1024 2>/dev/null`)},
			Containers:     []v1.Container{container("main", "true"), container("second", "true")},
			Volumes:        []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}},
		},
	}
}

// start makes passes until both containers of the pod run.
func start(t *testing.T, rt *podruntime.Runtime, pod *v1.Pod) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		st, err := rt.PodStatus(ctx, pod.UID)
		require.NoError(t, err)
		if runs(st, "main") && runs(st, "second") {
			return
		}
		_, err = rt.SyncPod(ctx, runtime.SyncRequest{Pod: pod, Status: st})
		require.NoError(t, err)
		<-tick.C
	}
}

func runs(st *runtime.PodStatus, container string) bool {
	c := st.Container(container)
	return c != nil && c.State == runtime.StateRunning
}
