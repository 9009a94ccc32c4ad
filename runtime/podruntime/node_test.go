package podruntime_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/podruntime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
)

// node is a Runtime over a FakeBackend, with what a test wants to see of it.
type node struct {
	*podruntime.Runtime
	t       testing.TB
	backend *runtimetest.FakeBackend
	root    string
	events  *recorder
}

// newNode makes a node whose containers behave by their names. The config needs
// no more than what the test is about.
func newNode(t testing.TB, scripts map[string]runtimetest.Script, cfg podruntime.Config) *node {
	n := &node{t: t, root: t.TempDir(), events: &recorder{}}
	n.backend = runtimetest.NewFakeBackend(runtimetest.FakeBackendConfig{
		Script: runtimetest.ByName(scripts), WriteLogs: true,
	})
	if cfg.Backend == nil {
		cfg.Backend = n.backend
	}
	if cfg.Root == "" {
		cfg.Root = n.root
	}
	cfg.Events = n.events
	rt, err := podruntime.New(cfg)
	require.NoError(t, err)
	n.Runtime = rt
	return n
}

// faulty is a FakeBackend some of whose calls go another way.
type faulty struct {
	*runtimetest.FakeBackend
	createSandbox  func(runtime.SandboxConfig) error
	startContainer func(id string) error
	stopContainer  func(ctx context.Context, id string, grace time.Duration) error
	exec           func(ctx context.Context, id string, command []string) (int, error)
	// configs are what containers were created with, by name and attempt.
	mu      sync.Mutex
	configs map[string]runtime.ContainerConfig
}

func newFaulty(scripts map[string]runtimetest.Script) *faulty {
	return &faulty{
		FakeBackend: runtimetest.NewFakeBackend(runtimetest.FakeBackendConfig{Script: runtimetest.ByName(scripts)}),
		configs:     map[string]runtime.ContainerConfig{},
	}
}

func (f *faulty) CreateSandbox(ctx context.Context, cfg runtime.SandboxConfig) (string, error) {
	if f.createSandbox != nil {
		if err := f.createSandbox(cfg); err != nil {
			return "", err
		}
	}
	return f.FakeBackend.CreateSandbox(ctx, cfg)
}

func (f *faulty) CreateContainer(ctx context.Context, sandbox string, cfg runtime.ContainerConfig) (string, error) {
	f.mu.Lock()
	f.configs[fmt.Sprintf("%s/%d", cfg.Name, cfg.Attempt)] = cfg
	f.mu.Unlock()
	return f.FakeBackend.CreateContainer(ctx, sandbox, cfg)
}

func (f *faulty) StartContainer(ctx context.Context, id string) error {
	if f.startContainer != nil {
		if err := f.startContainer(id); err != nil {
			return err
		}
	}
	return f.FakeBackend.StartContainer(ctx, id)
}

func (f *faulty) StopContainer(ctx context.Context, id string, grace time.Duration) error {
	if f.stopContainer != nil {
		return f.stopContainer(ctx, id, grace)
	}
	return f.FakeBackend.StopContainer(ctx, id, grace)
}

func (f *faulty) Exec(ctx context.Context, id string, command []string, streams runtime.ExecIO) (int, error) {
	if f.exec != nil {
		return f.exec(ctx, id, command)
	}
	return f.FakeBackend.Exec(ctx, id, command, streams)
}

// recorder keeps events as text.
type recorder struct {
	mu   sync.Mutex
	list []string
}

func (r *recorder) Eventf(object apiruntime.Object, kind, reason, format string, args ...any) {
	ref := object.(*v1.ObjectReference)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, fmt.Sprintf("%s %s %s: %s", kind, reason, ref.FieldPath, fmt.Sprintf(format, args...)))
}

// take returns the events since the last take.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	return list
}

// status reads a pod, which must work.
func (n *node) status(pod *v1.Pod) *runtime.PodStatus {
	n.t.Helper()
	st, err := n.PodStatus(n.t.Context(), pod.UID)
	require.NoError(n.t, err)
	return st
}

// sync makes a pass on the newest status.
func (n *node) sync(pod *v1.Pod) (runtime.SyncResult, error) {
	n.t.Helper()
	return n.SyncPod(n.t.Context(), runtime.SyncRequest{Pod: pod, Status: n.status(pod)})
}

// settle makes passes until one has nothing to do.
func (n *node) settle(pod *v1.Pod) runtime.SyncResult {
	n.t.Helper()
	for range 20 {
		res, err := n.sync(pod)
		require.NoError(n.t, err)
		if !res.Acted {
			return res
		}
	}
	n.t.Fatal("passes go on for ever")
	return runtime.SyncResult{}
}

// kill stops a pod with a grace.
func (n *node) kill(pod *v1.Pod, grace time.Duration) error {
	return n.KillPod(n.t.Context(), runtime.KillRequest{
		Ref: runtime.RefOf(pod), Pod: pod, Grace: grace, Deadline: time.Now().Add(grace),
	})
}

// states are the newest instances of a pod's containers in short.
func (n *node) states(pod *v1.Pod) map[string]string {
	n.t.Helper()
	st, all := n.status(pod), map[string]string{}
	for _, c := range st.Containers {
		if st.Container(c.Name).ID == c.ID {
			all[c.Name] = fmt.Sprintf("%s #%d", c.State, c.RestartCount)
		}
	}
	return all
}

// pod makes a pod of containers that always restart.
func newPod(name string, containers ...v1.Container) *v1.Pod {
	grace := int64(30)
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + name)},
		Spec: v1.PodSpec{
			RestartPolicy: v1.RestartPolicyAlways, TerminationGracePeriodSeconds: &grace, Containers: containers,
		},
	}
}

func container(name string) v1.Container {
	return v1.Container{Name: name, Image: "img"}
}

func sidecar(name string) v1.Container {
	always := v1.ContainerRestartPolicyAlways
	return v1.Container{Name: name, Image: "img", RestartPolicy: &always}
}

func execHook(command ...string) *v1.LifecycleHandler {
	return &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: command}}
}
