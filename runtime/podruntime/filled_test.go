package podruntime_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/podruntime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
)

// watched are objects that tell of their changes.
type watched struct {
	objects
	changed chan struct{}
	pods    []types.UID
}

func newWatched() *watched {
	return &watched{
		objects: objects{configMaps: map[string]*v1.ConfigMap{}, secrets: map[string]*v1.Secret{}},
		changed: make(chan struct{}, 1),
	}
}

func (w *watched) Changed() <-chan struct{} { return w.changed }

func (w *watched) Take() []types.UID {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.pods
	w.pods = nil
	return taken
}

// put replaces a ConfigMap and tells of it.
func (w *watched) put(object *v1.ConfigMap) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.configMaps[object.Name] = object
	for uid := range w.registered {
		w.pods = append(w.pods, uid)
	}
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func (w *watched) drop(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.configMaps, name)
}

// podOf mounts a ConfigMap web at /web and, if there is one, a Secret db at /db.
func podOf(secret string) *v1.Pod {
	pod := newPod("web", container("main"))
	add := func(name string, source v1.VolumeSource) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: name, VolumeSource: source})
		c := &pod.Spec.Containers[0]
		c.VolumeMounts = append(c.VolumeMounts, v1.VolumeMount{Name: name, MountPath: "/" + name})
	}
	add("web", v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "web"}}})
	if secret != "" {
		add("db", v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: secret}})
	}
	return pod
}

func TestVolumesFollowTheirObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newWatched()
		all.configMaps["web"] = configMap("web", map[string]string{"index.html": "hello"})
		backend := newFaulty(nil)
		n := newNode(t, nil, podruntime.Config{Backend: backend, Objects: all})
		pod := podOf("")
		pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts,
			v1.VolumeMount{Name: "web", MountPath: "/fixed", SubPath: "index.html"})
		n.settle(pod)
		mounts := backend.configs["main/0"].Mounts
		require.Equal(t, "/web", mounts[0].ContainerPath)
		require.True(t, mounts[0].ReadOnly)
		read := func(path string) string {
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			return string(content)
		}
		require.Equal(t, "hello", read(filepath.Join(mounts[0].HostPath, "index.html")))
		require.Equal(t, "hello", read(mounts[1].HostPath))

		all.put(configMap("web", map[string]string{"index.html": "good bye"}))
		_, err := n.sync(pod)
		require.NoError(t, err)
		require.Equal(t, "good bye", read(filepath.Join(mounts[0].HostPath, "index.html")))
		require.Equal(t, "hello", read(mounts[1].HostPath), "a subPath is fixed when its container starts")

		n.events.take()
		all.drop("web")
		_, err = n.sync(pod)
		require.NoError(t, err, "what runs keeps what it has")
		require.Equal(t, "good bye", read(filepath.Join(mounts[0].HostPath, "index.html")))
		require.Equal(t, []string{`Warning FailedMount : MountVolume.SetUp failed for volume "web" : configmap "web" not found`}, n.events.take())

		require.NoError(t, n.kill(pod, time.Second))
		require.NoError(t, n.RemoveVolumes(t.Context(), pod.UID))
		require.NoDirExists(t, mounts[0].HostPath)
	})
}

// An object that was missing is heard of, and the pod starts without waiting for
// the end of its pause.
func TestMissingObjectIsMendedAsSoonAsItAppears(t *testing.T) {
	for name, pod := range map[string]*v1.Pod{
		"volume": podOf(""),
		"environment": func() *v1.Pod {
			pod := newPod("web", container("main"))
			pod.Spec.Containers[0].Env = []v1.EnvVar{{Name: "A", ValueFrom: configMapKey("web", "k")}}
			return pod
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := newWatched()
				n := newNode(t, nil, podruntime.Config{Objects: all})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				hints := make(chan types.UID, 100)
				go n.Watch(ctx, func(uid types.UID) { hints <- uid })

				res, _ := n.sync(pod)
				require.Len(t, res.Containers, 1)
				require.Equal(t, "CreateContainerConfigError", res.Containers[0].Reason)
				require.Contains(t, res.Containers[0].Message, `configmap "web" not found`)
				synctest.Wait()
				for len(hints) > 0 {
					<-hints
				}
				all.put(configMap("web", map[string]string{"k": "v"}))
				require.Equal(t, pod.UID, <-hints)
				began := time.Now()
				n.settle(pod)
				require.Equal(t, map[string]string{"main": "running #0"}, n.states(pod))
				require.Zero(t, time.Since(began))
			})
		})
	}
}

// A Secret is in memory where the agent may mount that, closed to other users
// where containers see the node's files, and nowhere else.
func TestSecretVolumes(t *testing.T) {
	const hush = "correct horse battery staple"
	for _, shared := range []bool{true, false} {
		all := newWatched()
		all.configMaps["web"] = configMap("web", nil)
		all.secrets["db"] = secret("db", map[string]string{"password": hush})
		backend := newFaulty(nil)
		backend.FakeBackend = runtimetest.NewFakeBackend(runtimetest.FakeBackendConfig{Limits: runtime.BackendLimits{SharedFiles: shared}})
		n := newNode(t, nil, podruntime.Config{Backend: backend, Objects: all})
		pod := podOf("db")
		n.settle(pod)
		dir := backend.configs["main/0"].Mounts[1].HostPath
		content, err := os.ReadFile(filepath.Join(dir, "password"))
		require.NoError(t, err)
		require.Equal(t, hush, string(content))
		info, err := os.Stat(filepath.Dir(dir))
		require.NoError(t, err)
		want := os.FileMode(0o755)
		if shared {
			want = 0o700
		}
		require.Equal(t, want, info.Mode().Perm())
		if mayMount(t) {
			require.True(t, inMemory(t, dir), "this user may mount a file system in memory")
		}
		require.Len(t, filesWith(t, n.root, hush), 1)

		require.NoError(t, n.kill(pod, time.Second))
		require.NoError(t, n.RemoveVolumes(t.Context(), pod.UID))
		require.NoDirExists(t, dir)
		require.Empty(t, filesWith(t, n.root, hush))
		require.NoError(t, n.RemovePod(t.Context(), pod.UID))
		require.Empty(t, filesWith(t, n.root, ""))
	}
}

// An agent that was killed leaves what it mounted; the next one goes on with it
// and removes it.
func TestSecretsAreRemovedByTheNextAgent(t *testing.T) {
	all := newWatched()
	all.configMaps["web"] = configMap("web", nil)
	all.secrets["db"] = secret("db", map[string]string{"password": "hush"})
	n := newNode(t, nil, podruntime.Config{Objects: all})
	pod := podOf("db")
	n.settle(pod)
	next := newNode(t, nil, podruntime.Config{Backend: n.backend, Root: n.root, Objects: all})
	_, err := next.sync(pod)
	require.NoError(t, err)
	require.NoError(t, next.kill(pod, time.Second))
	require.NoError(t, next.RemovePod(t.Context(), pod.UID))
	require.Empty(t, filesWith(t, n.root, ""))
}

// filesWith are the files below a folder that hold a text.
func filesWith(t *testing.T, dir, text string) []string {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), text) {
			found = append(found, path)
		}
		return err
	}))
	return found
}
