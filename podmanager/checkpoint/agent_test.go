package checkpoint_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/internal/durable"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/checkpoint"
	"github.com/kubeparts/kubeparts/podmanager/podmanagertest"
)

func pod(name string, change ...func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "main", Image: "busybox:1.36"}}},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func annotated(value string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Annotations = map[string]string{checkpoint.Annotation: value} }
}

func image(name string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.Containers[0].Image = name }
}

// place is a folder of checkpoints, on which agents follow each other.
type place struct {
	t      *testing.T
	dir    string
	policy checkpoint.Policy
	faults durable.Faults
}

func newPlace(t *testing.T, policy checkpoint.Policy) *place {
	return &place{t: t, dir: filepath.Join(t.TempDir(), "checkpoints"), policy: policy}
}

func (p *place) open() *checkpoint.Folder {
	p.t.Helper()
	f, err := checkpoint.Open(checkpoint.WithFaults(checkpoint.Config{Dir: p.dir, Policy: p.policy}, p.faults))
	require.NoError(p.t, err)
	return f
}

// agent is a PodConfig over checkpoints, in a bubble, and what came out of it.
type agent struct {
	*podmanager.PodConfig
	t       *testing.T
	folder  *checkpoint.Folder
	sources map[string]*podmanagertest.Source
	stop    func()

	mu   sync.Mutex
	said []string
}

// start starts an agent with the named sources, which say nothing yet.
func (p *place) start(names ...string) *agent {
	p.t.Helper()
	a := &agent{t: p.t, folder: p.open(), sources: map[string]*podmanagertest.Source{}}
	sources := map[string]podmanager.PodSource{}
	for _, name := range names {
		a.sources[name] = podmanagertest.NewSource()
		sources[name] = a.sources[name]
	}
	var err error
	a.PodConfig, err = podmanager.NewPodConfig(podmanager.Config{
		Sources: a.folder.Sources(sources), Checkpoints: a.folder,
		OnProblem: func(p podmanager.Problem) { a.add(fmt.Sprintf("problem of %s: %v", p.Source, p.Err)) },
	})
	require.NoError(p.t, err)
	ctx, cancel := context.WithCancel(p.t.Context())
	var group sync.WaitGroup
	group.Go(func() { _ = a.Run(ctx) })
	group.Go(func() {
		for u := range a.Updates() {
			a.add(inWords(u))
		}
	})
	a.stop = sync.OnceFunc(func() { cancel(); group.Wait() })
	p.t.Cleanup(a.stop)
	return a
}

func inWords(u podmanager.Update) string {
	words := []string{string(u.Op), u.Source + ":"}
	for _, pod := range u.Pods {
		words = append(words, pod.Name)
	}
	return strings.Join(words, " ")
}

func (a *agent) add(line string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.said = append(a.said, line)
}

// says waits until nothing happens any more, and compares what was said since the
// last time.
func (a *agent) says(want ...string) {
	a.t.Helper()
	synctest.Wait()
	a.mu.Lock()
	said := a.said
	a.said = nil
	a.mu.Unlock()
	slices.Sort(said)
	slices.Sort(want)
	require.Equal(a.t, want, said)
}

// restored are the pods that a new agent would restore, as source/name.
func (p *place) restored() []string {
	p.t.Helper()
	names := []string{}
	ctx, cancel := context.WithCancel(p.t.Context())
	cancel()
	for name, source := range p.open().Sources(nil) {
		require.NoError(p.t, source.Run(ctx, func(r podmanager.Report) {
			for _, pod := range r.Pods {
				names = append(names, name+"/"+pod.Name)
			}
		}))
	}
	slices.Sort(names)
	return names
}
