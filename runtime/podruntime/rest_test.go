package podruntime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/podruntime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
)

// bare is a backend without optional powers.
type bare struct{ runtime.Backend }

func TestPowersOfTheBackend(t *testing.T) {
	n := newNode(t, nil, podruntime.Config{})
	b := newNode(t, nil, podruntime.Config{Backend: bare{n.backend}})
	require.ErrorIs(t, b.Watch(t.Context(), func(types.UID) {}), runtime.ErrNotSupported)
	_, err := b.Exec(t.Context(), "id", []string{"true"}, runtime.ExecIO{})
	require.ErrorIs(t, err, runtime.ErrNotSupported)
	_, err = b.Logs(t.Context(), "gone", runtime.LogOptions{})
	require.ErrorIs(t, err, runtime.ErrNotFound)

	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan types.UID, 16)
	done := make(chan error, 1)
	go func() { done <- n.Watch(ctx, func(uid types.UID) { told <- uid }) }()
	require.Empty(t, <-told, "it has begun")
	pod := newPod("web", container("main"))
	for len(told) == 0 { // until the watch stands, changes tell nothing
		n.settle(pod)
		require.NoError(t, n.kill(pod, time.Second))
	}
	require.Equal(t, pod.UID, <-told)
	cancel()
	<-done
}

func TestListPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, scripts{"main": runtimetest.RunsFor(time.Minute, 0)}, podruntime.Config{})
		pod := newPod("web", container("main"))
		n.settle(pod)
		require.NoError(t, os.MkdirAll(filepath.Join(n.root, "logs", "default_old_uid-old"), 0o755))
		require.NoError(t, os.MkdirAll(filepath.Join(n.root, "pods", "uid-older"), 0o755))
		first, err := n.ListPods(t.Context())
		require.NoError(t, err)
		require.Len(t, first, 3)
		require.Equal(t, runtime.ListedPod{PodRef: runtime.PodRef{UID: "uid-old", Namespace: "default", Name: "old"}}, first[0])
		require.Equal(t, runtime.ListedPod{PodRef: runtime.PodRef{UID: "uid-older"}}, first[1])
		require.Equal(t, runtime.RefOf(pod), first[2].PodRef)
		require.True(t, first[2].Running)

		same, err := n.ListPods(t.Context())
		require.NoError(t, err)
		require.Equal(t, first, same)

		time.Sleep(time.Minute + time.Second)
		exited, err := n.ListPods(t.Context())
		require.NoError(t, err)
		require.NotEqual(t, first[2].Revision, exited[2].Revision)
	})
}

func TestRemovePod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, scripts{"main": {Output: "hello\n"}}, podruntime.Config{})
		pod := newPod("web", container("main"))
		pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
		pod.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "data", MountPath: "/data"}}
		n.settle(pod)
		require.ErrorContains(t, n.RemoveVolumes(t.Context(), pod.UID), "a container of it runs")
		require.ErrorContains(t, n.RemovePod(t.Context(), pod.UID), "a container of it runs")
		require.NoError(t, n.kill(pod, time.Second))

		volume := filepath.Join(n.root, "pods", "uid-web", "volumes", "data")
		outside := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(outside, "precious"), nil, 0o600))
		require.NoError(t, os.Symlink(outside, filepath.Join(volume, "link")))
		require.NoError(t, n.RemoveVolumes(t.Context(), pod.UID))
		require.NoDirExists(t, volume)
		require.FileExists(t, filepath.Join(outside, "precious"), "links are not followed")

		require.NoError(t, n.RemovePod(t.Context(), pod.UID))
		require.NoError(t, n.RemovePod(t.Context(), pod.UID))
		list, err := n.ListPods(t.Context())
		require.NoError(t, err)
		require.Empty(t, list)
		require.Empty(t, n.status(pod).Containers)
	})
}

// A pod of which only folders are left is removed too, though nobody knows its
// name any more.
func TestRemovePodOfWhichFoldersAreLeft(t *testing.T) {
	n := newNode(t, nil, podruntime.Config{})
	logs := filepath.Join(n.root, "logs", "default_old_uid-old")
	require.NoError(t, os.MkdirAll(logs, 0o755))
	require.NoError(t, n.RemovePod(t.Context(), "uid-old"))
	require.NoDirExists(t, logs)
}

func TestLogsOfAContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, scripts{"main": {Output: "one\ntwo\n"}}, podruntime.Config{})
		pod := newPod("web", container("main"))
		n.settle(pod)
		log, err := n.Logs(t.Context(), n.status(pod).Container("main").ID, runtime.LogOptions{TailLines: 1})
		require.NoError(t, err)
		defer log.Close()
		data, err := io.ReadAll(log)
		require.NoError(t, err)
		require.Equal(t, "two\n", string(data))
	})
}

// A termination message is read once: it stays what it was when the file goes.
func TestTerminationMessageIsReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, scripts{"main": runtimetest.RunsFor(time.Minute, 1)}, podruntime.Config{})
		pod := newPod("web", container("main"))
		pod.Spec.RestartPolicy = v1.RestartPolicyNever
		pod.Spec.Containers[0].TerminationMessagePath = "/dev/termination-log"
		n.settle(pod)
		path := filepath.Join(n.root, "pods/uid-web/containers/main/0.message")
		require.NoError(t, os.WriteFile(path, []byte("last words"), 0o666))
		time.Sleep(time.Minute + time.Second)
		require.Equal(t, "last words", n.status(pod).Container("main").Message)
		require.NoError(t, os.Remove(path))
		require.Equal(t, "last words", n.status(pod).Container("main").Message)
	})
}

func TestPodStats(t *testing.T) {
	n := newNode(t, nil, podruntime.Config{})
	pod := newPod("web", container("main"))
	pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	pod.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "data", MountPath: "/data"}}
	n.settle(pod)
	require.NoError(t, os.WriteFile(filepath.Join(n.root, "pods/uid-web/volumes/data/f"), make([]byte, 1<<20), 0o600))
	stats, err := n.PodStats(t.Context(), pod.UID)
	require.NoError(t, err)
	require.Equal(t, runtime.RefOf(pod), stats.PodRef)
	require.Len(t, stats.Volumes, 1)
	require.Equal(t, "data", stats.Volumes[0].Name)
	require.GreaterOrEqual(t, *stats.Volumes[0].UsedBytes, uint64(1<<20))
	require.Equal(t, uint64(2), *stats.Volumes[0].Inodes)
	require.Len(t, stats.Containers, 1)
	require.Nil(t, stats.Containers[0].CPU)
	require.NotNil(t, stats.Containers[0].Logs.UsedBytes)
	_, err = n.PodStats(t.Context(), "gone")
	require.ErrorIs(t, err, runtime.ErrNotFound)
}

func TestHTTPHook(t *testing.T) {
	got := make(chan *http.Request, 4)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r
		w.WriteHeader(http.StatusTeapot) // any answer is a success
	}))
	defer server.Close()
	at, err := url.Parse(server.URL)
	require.NoError(t, err)
	for _, tc := range []struct {
		name   string
		scheme v1.URIScheme
		port   intstr.IntOrString
		events []string
	}{
		{"plain", v1.URISchemeHTTP, intstr.Parse(at.Port()), nil},
		{"by the name of a port", "", intstr.FromString("web"), nil},
		{"https that is plain", v1.URISchemeHTTPS, intstr.Parse(at.Port()),
			[]string{"Warning LifecycleHTTPFallback spec.containers{main}: the server of the hook answers https in plain http; the request was repeated in plain http"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := newNode(t, nil, podruntime.Config{})
			pod := newPod("web", container("main"))
			pod.Spec.Containers[0].Ports = []v1.ContainerPort{{Name: "web", ContainerPort: intstr.Parse(at.Port()).IntVal}}
			pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{HTTPGet: &v1.HTTPGetAction{
				Host: at.Hostname(), Port: tc.port, Path: "/hello?a=b", Scheme: tc.scheme,
				HTTPHeaders: []v1.HTTPHeader{{Name: "Authorization", Value: "secret"}, {Name: "Host", Value: "example.com"}},
			}}}
			n.settle(pod)
			require.Equal(t, map[string]string{"main": "running #0"}, n.states(pod))
			r := <-got
			require.Equal(t, "/hello?a=b", r.URL.String())
			require.Equal(t, "example.com", r.Host)
			require.Equal(t, "kube-lifecycle/1.36", r.UserAgent())
			require.Equal(t, tc.scheme == v1.URISchemeHTTPS, r.Header.Get("Authorization") == "", "no credentials in plain text")
			for _, e := range tc.events {
				require.Contains(t, n.events.take(), e)
			}
		})
	}
}

// local is a backend whose pods are at the loopback address.
type local struct{ *runtimetest.FakeBackend }

func (l local) SandboxStatus(ctx context.Context, id string) (runtime.Sandbox, error) {
	s, err := l.FakeBackend.SandboxStatus(ctx, id)
	s.IPs = []string{"127.0.0.1"}
	return s, err
}

// A preStop hook goes to the pod's own address, also for a pod that only the
// runtime knows; a redirect to another host is an answer like any other.
func TestHTTPPreStopHook(t *testing.T) {
	got := make(chan string, 4)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.URL.Path
		if r.URL.Path == "/bye" {
			http.Redirect(w, r, "/there", http.StatusFound)
		} else {
			http.Redirect(w, r, "http://elsewhere.invalid/", http.StatusFound)
		}
	}))
	defer server.Close()
	at, err := url.Parse(server.URL)
	require.NoError(t, err)
	n := newNode(t, nil, podruntime.Config{Backend: local{runtimetest.NewFakeBackend(runtimetest.FakeBackendConfig{})}})
	pod := newPod("web", container("main"))
	pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.Parse(at.Port()), Path: "bye#there"}}}
	n.settle(pod)
	n.events.take()
	require.NoError(t, n.KillPod(t.Context(), runtime.KillRequest{Ref: runtime.PodRef{UID: pod.UID}, Grace: 30 * time.Second}))
	require.Equal(t, "/bye", <-got)
	require.Equal(t, "/there", <-got)
	require.Equal(t, []string{"Normal Killing spec.containers{main}: Stopping container main"}, n.events.take())
}

// What a server answers to a hook does not fill the log: net/http quotes a line
// that it does not understand, however long it is.
func TestHTTPHookErrorsAreShort(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, strings.Repeat("\x01", 20<<10), "\r\n\r\n")
	}))
	defer server.Close()
	at, err := url.Parse(server.URL)
	require.NoError(t, err)
	var logged bytes.Buffer
	n := newNode(t, nil, podruntime.Config{
		Backend: local{runtimetest.NewFakeBackend(runtimetest.FakeBackendConfig{})},
		Logger:  slog.New(slog.NewTextHandler(&logged, nil)),
	})
	pod := newPod("web", container("main"))
	pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.Parse(at.Port())}}}
	res := n.settleOnce(pod)
	require.Equal(t, "PostStartHookError", res.Containers[0].Reason)
	require.Contains(t, logged.String(), "malformed HTTP response")
	require.Less(t, logged.Len(), 16<<10)
}

// Without an address of the pod a hook is refused, and does not reach the agent's
// own host.
func TestHTTPHookWithoutPodIP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, nil, podruntime.Config{Backend: runtimetest.NewFakeBackend(runtimetest.FakeBackendConfig{
			Limits: runtime.BackendLimits{SharedNetwork: true},
		})})
		pod := newPod("web", container("main"))
		pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(80)}}}
		res := n.settleOnce(pod)
		require.Equal(t, "PostStartHookError", res.Containers[0].Reason)
	})
}

// puller is a backend whose images come from somewhere.
type puller struct {
	*runtimetest.FakeBackend
	present map[string]string
	err     error
	pulls   int
	// private is the password that every pull needs; with is what it was tried with.
	private string
	with    []string
}

func (p *puller) ImageRef(_ context.Context, image string) (string, error) {
	return p.present[image], nil
}

func (p *puller) PullImage(_ context.Context, image string, credential *runtime.Credential) (string, error) {
	p.pulls++
	if credential != nil {
		p.with = append(p.with, credential.Username)
	}
	if p.private != "" && (credential == nil || credential.Password != p.private) {
		return "", errors.New("unauthorized")
	}
	if p.err != nil {
		return "", p.err
	}
	p.present[image] = "sha256:" + image
	return p.present[image], nil
}

func TestImages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &puller{FakeBackend: runtimetest.NewFakeBackend(runtimetest.FakeBackendConfig{}), present: map[string]string{}, err: errors.New("no route")}
		n := newNode(t, nil, podruntime.Config{Backend: p})
		pod := newPod("web", container("main"))
		pod.Spec.Containers[0].ImagePullPolicy = v1.PullIfNotPresent
		res := n.settleOnce(pod)
		require.Equal(t, "ErrImagePull", res.Containers[0].Reason)
		require.Contains(t, n.events.take(), "Warning Failed spec.containers{main}: Error: ErrImagePull")

		time.Sleep(5 * time.Second)
		n.settleOnce(pod)
		require.Equal(t, 1, p.pulls, "it backs off")

		p.err = nil
		time.Sleep(time.Until(res.RetryAt))
		n.settle(pod)
		require.Equal(t, 2, p.pulls)
		require.Equal(t, "running #0", n.states(pod)["main"])
		require.Equal(t, "sha256:img:latest", n.status(pod).Container("main").ImageRef)
	})
}

// settleOnce makes one pass that must work.
func (n *node) settleOnce(pod *v1.Pod) runtime.SyncResult {
	n.t.Helper()
	res, err := n.sync(pod)
	require.NoError(n.t, err)
	return res
}

// The pod's pull secrets are tried one after the other; one that is missing is
// named, and the pull goes on without it.
func TestImagePullSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := func(user, password string) *v1.Secret {
			s := secret(user, map[string]string{v1.DockerConfigJsonKey: fmt.Sprintf(
				`{"auths":{"registry.example":{"username":%q,"password":%q}}}`, user, password)})
			s.Type = v1.SecretTypeDockerConfigJson
			return s
		}
		p := &puller{FakeBackend: runtimetest.NewFakeBackend(runtimetest.FakeBackendConfig{}), present: map[string]string{}, private: "hush"}
		n := newNode(t, nil, podruntime.Config{Backend: p, Objects: &objects{secrets: map[string]*v1.Secret{
			"old": config("old", "expired"), "robot": config("robot", "hush"),
		}}})
		pod := newPod("web", container("main"))
		pod.Spec.Containers[0].Image = "registry.example/web"
		pod.Spec.ImagePullSecrets = []v1.LocalObjectReference{{}, {Name: "gone"}, {Name: "old"}, {Name: "robot"}}
		n.settle(pod)
		require.Equal(t, "running #0", n.states(pod)["main"])
		require.Equal(t, []string{"old", "robot"}, p.with)
		events := n.events.take()
		require.Contains(t, events, "Warning FailedToRetrieveImagePullSecret : Unable to retrieve some image pull secrets (gone); attempting to pull the image may not succeed.")
		for _, e := range events {
			require.NotContains(t, e, "hush")
			require.NotContains(t, e, "expired")
		}

		p.private = "another"
		pod = newPod("api", container("main"))
		pod.Spec.Containers[0].Image = "registry.example/api"
		pod.Spec.ImagePullSecrets = []v1.LocalObjectReference{{Name: "robot"}}
		require.Equal(t, "ErrImagePull", n.settleOnce(pod).Containers[0].Reason)
	})
}
