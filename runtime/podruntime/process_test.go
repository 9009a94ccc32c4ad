//go:build linux

package podruntime_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/podruntime"
	"github.com/kubeparts/kubeparts/runtime/process"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
)

// openProcess opens a Runtime of local processes on a root.
func openProcess(root string) (*podruntime.Runtime, *process.Backend, error) {
	backend, err := process.New(process.Config{Root: filepath.Join(root, "process")})
	if err != nil {
		return nil, nil, err
	}
	rt, err := podruntime.New(podruntime.Config{Backend: backend, Root: root, HostIPs: []string{process.DefaultNodeIP}})
	return rt, backend, err
}

func TestRuntimeKeepsTheRulesOverProcesses(t *testing.T) {
	runtimetest.TestRuntime(t, func(t *testing.T) runtimetest.RuntimeHarness {
		t.Parallel()
		root := t.TempDir()
		rt, backend, err := openProcess(root)
		require.NoError(t, err)
		return runtimetest.RuntimeHarness{
			Runtime:  rt,
			Programs: runtimetest.ShellPrograms("none"),
			Limits:   runtime.BackendLimits{SharedNetwork: true},
			Reopen: func(context.Context) (next runtime.Runtime, err error) {
				if err := backend.Close(); err != nil {
					return nil, err
				}
				next, backend, err = openProcess(root)
				return next, err
			},
			Close: func() error { return backend.Close() },
		}
	})
}

// The life of a real pod: a volume that an init container fills, an environment,
// hooks, a log, last words, and a container that is to be stopped.
func TestLifeOfRealPod(t *testing.T) {
	root := t.TempDir()
	rt, backend, err := openProcess(root)
	require.NoError(t, err)
	defer backend.Close()
	sh := func(name, script string) v1.Container {
		return v1.Container{
			Name: name, Image: "none", Command: []string{"/bin/sh", "-c", script},
			TerminationMessagePath: "/dev/termination-log",
			VolumeMounts:           []v1.VolumeMount{{Name: "data", MountPath: "/data"}},
		}
	}
	pod := newPod("web", sh("server", `echo "$GREETING from $IP"; trap 'echo bye; exit 0' TERM; while :; do sleep 0.05; done`), sh("job",
		`cat "$KUBEPARTS_MOUNT_DATA/file"; printf 'last words' > "$KUBEPARTS_MOUNT_TERMINATION_LOG"; exit 3`))
	pod.Spec.RestartPolicy = v1.RestartPolicyNever
	pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	pod.Spec.InitContainers = []v1.Container{sh("fill", `echo filled > "$KUBEPARTS_MOUNT_DATA/file"`)}
	server := &pod.Spec.Containers[0]
	server.Env = []v1.EnvVar{
		{Name: "IP", ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: "status.podIP"}}},
		{Name: "NAME", ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
		{Name: "GREETING", Value: "hello $(NAME)"},
	}
	server.Lifecycle = &v1.Lifecycle{
		PostStart: execHook("/bin/sh", "-c", `echo after start >> "$KUBEPARTS_MOUNT_DATA/hooks"`),
		PreStop:   execHook("/bin/sh", "-c", `echo before stop >> "$KUBEPARTS_MOUNT_DATA/hooks"`),
	}

	drive(t, rt, pod, func(st *runtime.PodStatus) bool {
		job, server := st.Container("job"), st.Container("server")
		return job != nil && job.State == runtime.StateExited && server.State == runtime.StateRunning &&
			logOf(t, rt, server.ID) != ""
	})
	st, err := rt.PodStatus(t.Context(), pod.UID)
	require.NoError(t, err)
	job := st.Container("job")
	require.Equal(t, int32(3), job.ExitCode)
	require.Equal(t, "last words", job.Message)
	require.Equal(t, "filled\n", logOf(t, rt, job.ID))
	require.Equal(t, "hello web from 127.0.0.1\n", logOf(t, rt, st.Container("server").ID))

	require.NoError(t, rt.KillPod(t.Context(), runtime.KillRequest{Ref: runtime.RefOf(pod), Pod: pod, Grace: 30 * time.Second}))
	st, err = rt.PodStatus(t.Context(), pod.UID)
	require.NoError(t, err)
	require.Contains(t, logOf(t, rt, st.Container("server").ID), "bye\n")
	hooks, err := os.ReadFile(filepath.Join(root, "pods/uid-web/volumes/data/hooks"))
	require.NoError(t, err)
	require.Equal(t, "after start\nbefore stop\n", string(hooks))
	require.NoError(t, rt.RemovePod(t.Context(), pod.UID))
	left, err := rt.ListPods(t.Context())
	require.NoError(t, err)
	require.Empty(t, left)
}

// drive makes a pass whenever the runtime says that something changed, until the
// pod is as it should be.
func drive(t *testing.T, rt *podruntime.Runtime, pod *v1.Pod, done func(*runtime.PodStatus) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		st, err := rt.PodStatus(ctx, pod.UID)
		require.NoError(t, err)
		if done(st) {
			return
		}
		res, err := rt.SyncPod(ctx, runtime.SyncRequest{Pod: pod, Status: st})
		require.NoError(t, err)
		for _, c := range res.Containers {
			require.Empty(t, c.Reason, c.Message)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("the pod does not get there: %+v", st)
		}
	}
}

func logOf(t *testing.T, rt *podruntime.Runtime, id string) string {
	t.Helper()
	log, err := rt.Logs(t.Context(), id, runtime.LogOptions{})
	require.NoError(t, err)
	defer log.Close()
	var text strings.Builder
	_, err = io.Copy(&text, log)
	require.NoError(t, err)
	return text.String()
}
