package checkpoint_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/checkpoint"
)

// benchPod is a pod of the usual size.
func benchPod(i int) *v1.Pod {
	return pod(fmt.Sprintf("p%d", i), func(p *v1.Pod) {
		p.Labels = map[string]string{"app": "web", "tier": "front"}
		p.Annotations = map[string]string{podmanager.AnnotationHash: "0123456789abcdef", podmanager.AnnotationSource: "http"}
		c := &p.Spec.Containers[0]
		c.Command = []string{"/bin/sh", "-c", "exec sleep 100000"}
		c.Env = []v1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}}
		c.ReadinessProbe = &v1.Probe{PeriodSeconds: 10, ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"true"}}}}
		c.VolumeMounts = []v1.VolumeMount{{Name: "data", MountPath: "/data"}}
		p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	})
}

const benchMemory = `{"UID":"u","Namespace":"default","Name":"web","Source":"http","Admitted":true,"Status":{"phase":"Running",` +
	`"conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-11-21T14:00:00Z"}],"podIP":"127.0.0.1",` +
	`"startTime":"2026-11-21T14:00:00Z","containerStatuses":[{"name":"main","state":{"running":{"startedAt":"2026-11-21T14:00:00Z"}},` +
	`"ready":true,"restartCount":0,"image":"busybox:1.36","imageID":"","containerID":"process://0123456789abcdef"}]},"Version":7}`

func added(pods ...*v1.Pod) []podmanager.Update {
	return []podmanager.Update{{Source: "http", Op: podmanager.OpAdd, Pods: pods}}
}

// filled is a folder with so many pods, with what is remembered of them.
func filled(b *testing.B, n int) (string, *checkpoint.Folder) {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "checkpoints")
	folder, err := checkpoint.Open(checkpoint.Config{Dir: dir, Policy: checkpoint.All})
	require.NoError(b, err)
	pods := make([]*v1.Pod, n)
	memories := make([]checkpoint.Memory, n)
	for i := range pods {
		pods[i] = benchPod(i)
		memories[i] = checkpoint.Memory{UID: pods[i].UID, Data: []byte(benchMemory)}
	}
	require.NoError(b, folder.Checkpoint(b.Context(), added(pods...)))
	require.NoError(b, folder.Remember(b.Context(), memories))
	return dir, folder
}

// BenchmarkOpen reads a folder at the start of an agent. The target is 2 s for
// 10,000 pods from a warm disk.
func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			dir, _ := filled(b, n)
			b.ReportAllocs()
			for b.Loop() {
				folder, err := checkpoint.Open(checkpoint.Config{Dir: dir, Policy: checkpoint.All})
				require.NoError(b, err)
				require.Len(b, folder.Remembered(), n)
			}
		})
	}
}

// BenchmarkChange writes one pod that changed, however many there are.
func BenchmarkChange(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			_, folder := filled(b, n)
			update := []podmanager.Update{{Source: "http", Op: podmanager.OpUpdate, Pods: []*v1.Pod{benchPod(3)}}}
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, folder.Checkpoint(b.Context(), update))
			}
		})
	}
}

// BenchmarkBurst writes a thousand pods at once; TestBurst counts what it syncs.
func BenchmarkBurst(b *testing.B) {
	_, folder := filled(b, 1000)
	pods := make([]*v1.Pod, 1000)
	for i := range pods {
		pods[i] = benchPod(i)
	}
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, folder.Checkpoint(b.Context(), added(pods...)))
	}
}

// BenchmarkRemember writes what is remembered of one pod.
func BenchmarkRemember(b *testing.B) {
	_, folder := filled(b, 10_000)
	m := []checkpoint.Memory{{UID: types.UID("uid-p3"), Data: []byte(benchMemory)}}
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, folder.Remember(b.Context(), m))
	}
}
