package source

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/podmanagertest"
)

// objectFolder is a folder of manifests as a world of the suite.
type objectFolder struct {
	dir     string
	objects *Objects
	cancel  context.CancelFunc
	done    chan error
	kind    podmanager.ObjectKind
}

func openObjects(dir string, kind podmanager.ObjectKind, onProblem func(podmanager.Problem)) *objectFolder {
	w := &objectFolder{
		dir: dir, kind: kind, done: make(chan error, 1),
		objects: &Objects{Path: dir, Period: 5 * time.Millisecond, OnProblem: onProblem},
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	go func() { w.done <- w.objects.Run(ctx) }()
	return w
}

func (w *objectFolder) Close() error {
	w.cancel()
	return <-w.done
}

func (w *objectFolder) Source() podmanager.ObjectSource {
	if w.kind == podmanager.KindSecret {
		return w.objects.Secrets()
	}
	return w.objects.ConfigMaps()
}

func (w *objectFolder) path(ref podmanager.ObjectRef) string {
	return filepath.Join(w.dir, ref.Namespace+"-"+ref.Name+".json")
}

func (w *objectFolder) Put(object podmanager.Object) error {
	var content any = object.ConfigMap()
	if s := object.Secret(); s != nil {
		content = s
	}
	data, err := json.Marshal(content)
	if err != nil {
		return err
	}
	var named map[string]any
	if err := json.Unmarshal(data, &named); err != nil {
		return err
	}
	named["apiVersion"], named["kind"] = "v1", string(object.Ref().Kind)
	if data, err = json.Marshal(named); err != nil {
		return err
	}
	path := w.path(object.Ref())
	if err := os.WriteFile(path+".tmp", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

func (w *objectFolder) Delete(ref podmanager.ObjectRef) error { return os.Remove(w.path(ref)) }

func (w *objectFolder) Break() error { return os.Rename(w.dir, w.dir+".away") }
func (w *objectFolder) Mend() error  { return os.Rename(w.dir+".away", w.dir) }

func TestObjectsKeepTheRules(t *testing.T) {
	for _, kind := range []podmanager.ObjectKind{podmanager.KindConfigMap, podmanager.KindSecret} {
		t.Run(string(kind), func(t *testing.T) {
			podmanagertest.TestObjectSource(t, podmanagertest.ObjectSuite{
				Kind: kind,
				Open: func() (podmanagertest.ObjectWorld, error) {
					dir := filepath.Join(t.TempDir(), "objects")
					return openObjects(dir, kind, nil), os.Mkdir(dir, 0o700)
				},
			})
		})
	}
}

// replace writes a file at once, so that no reader sees half of it.
func replace(t *testing.T, path, content string) {
	t.Helper()
	write(t, path+".tmp", content)
	require.NoError(t, os.Rename(path+".tmp", path))
}

// A manifest that turns bad is named, once, and its last good version stays.
func TestObjectsKeepTheLastGood(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "db.yaml")
	good := "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {password: one}\n"
	replace(t, path, good)
	write(t, filepath.Join(dir, "pod.yaml"), podYAML("a"))
	var mu sync.Mutex
	var problems []podmanager.Problem
	w := openObjects(dir, podmanager.KindSecret, func(p podmanager.Problem) {
		mu.Lock()
		defer mu.Unlock()
		problems = append(problems, p)
	})
	told := func() []podmanager.Problem {
		mu.Lock()
		defer mu.Unlock()
		return problems
	}
	defer w.Close()
	read := func() string {
		object, err := w.Source().Get(t.Context(), "default", "db")
		require.NoError(t, err)
		return string(object.Secret().Data["password"])
	}
	require.Equal(t, "one", read())
	require.Len(t, told(), 1)
	var bad *podmanager.ManifestError
	require.ErrorAs(t, told()[0].Err, &bad)
	require.Equal(t, podmanager.ManifestNotAnObject, bad.Kind)

	replace(t, path, good+"broken: [hunter2")
	require.Eventually(t, func() bool { return len(told()) == 2 }, 5*time.Minute, time.Millisecond)
	require.ErrorAs(t, told()[1].Err, &bad)
	require.True(t, bad.Kept)
	require.Equal(t, path, bad.File)
	require.NotContains(t, bad.Error(), "hunter2")
	require.Equal(t, "one", read())
	require.Eventually(t, func() bool { return strings.Contains(w.objects.Status().Err.Error(), path) }, time.Minute, time.Millisecond,
		"the folder is known to be in a bad way, whoever refers to it")
	require.Equal(t, 1, w.objects.Status().Objects)
	require.Zero(t, w.objects.Status().LastGood, "pod.yaml is no object")

	replace(t, path, "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {password: two}\n")
	require.Eventually(t, func() bool { return read() == "two" }, 5*time.Minute, time.Millisecond)
	require.Len(t, told(), 2)
	require.NoError(t, os.Remove(filepath.Join(dir, "pod.yaml")))
	require.Eventually(t, func() bool { return w.objects.Status().Err == nil }, 5*time.Minute, time.Millisecond)
	require.NotZero(t, w.objects.Status().LastGood)
}

// Before there is an answer, a folder that is missing is an error, and never a
// missing object.
func TestObjectsWithoutAFolder(t *testing.T) {
	w := openObjects(filepath.Join(t.TempDir(), "none"), podmanager.KindSecret, nil)
	defer w.Close()
	_, err := w.Source().Get(t.Context(), "default", "db")
	require.ErrorIs(t, err, ErrMissing)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = (&Objects{Path: "x"}).Secrets().Get(ctx, "default", "db")
	require.ErrorIs(t, err, context.Canceled)
	require.EqualError(t, (&Objects{}).Run(t.Context()), "objects source: Path is empty")
}

// The cache over a folder, as an agent has it: what changes in the folder is
// told to the pods that refer to it.
func TestObjectsInACache(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "web.yaml")
	config := func(value string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: " + value + "}\n"
	}
	replace(t, path, config("one"))
	w := openObjects(dir, podmanager.KindConfigMap, nil)
	defer w.Close()
	cache, err := podmanager.NewCache(podmanager.CacheConfig{
		ConfigMaps: w.objects.ConfigMaps(), Secrets: w.objects.Secrets(), Wait: time.Minute,
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- cache.Run(ctx) }()
	pod := &v1.Pod{}
	pod.Namespace, pod.Name, pod.UID = "default", "web", "1"
	pod.Spec.Volumes = []v1.Volume{{VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{
		LocalObjectReference: v1.LocalObjectReference{Name: "web"},
	}}}}
	cache.Register(pod)
	object, err := cache.ConfigMap(t.Context(), "default", "web")
	require.NoError(t, err)
	require.Equal(t, "one", object.Data["a"])
	replace(t, path, config("two"))
	<-cache.Changed()
	require.Len(t, cache.Take(), 1)
	object, err = cache.ConfigMap(t.Context(), "default", "web")
	require.NoError(t, err)
	require.Equal(t, "two", object.Data["a"])
	cancel()
	require.NoError(t, <-done)
}
