package probe_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/probe/probetest"
	"github.com/kubeparts/kubeparts/runtime"
)

// world is a Manager in a bubble, with a scripted prober.
type world struct {
	*probe.Manager
	t      *testing.T
	prober *probetest.Prober
	stop   context.CancelFunc

	mu       sync.Mutex
	events   []string
	attempts []probe.AttemptInfo
}

func (w *world) Eventf(object apiruntime.Object, kind, reason, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, object.(*v1.ObjectReference).FieldPath+" "+kind+" "+reason+" "+fmt.Sprintf(format, args...))
}

func (w *world) attempt(a probe.AttemptInfo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.attempts = append(w.attempts, a)
}

// made is how many attempts were made.
func (w *world) made() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.attempts)
}

func newWorld(t *testing.T, cfg probe.Config) *world {
	w := &world{t: t, prober: new(probetest.Prober)}
	if cfg.Prober == nil {
		cfg.Prober = w.prober
	}
	cfg.Events, cfg.Hooks.Attempt = w, w.attempt
	m, err := probe.NewManager(cfg)
	require.NoError(t, err)
	w.Manager = m
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Run(ctx)
	}()
	w.stop = func() { stop(); <-done }
	t.Cleanup(w.stop)
	return w
}

// pass lets time go by.
func (w *world) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// verdicts are those that changed, as "probe=verdict".
func (w *world) verdicts() []string {
	var list []string
	for _, p := range w.Take() {
		list = append(list, p.Probe+"="+string(p.Verdict))
	}
	return list
}

func ref(uid string) runtime.PodRef {
	return runtime.PodRef{UID: types.UID(uid), Namespace: "default", Name: uid}
}

func running(id string) probe.State {
	return probe.State{ContainerID: id, Running: true, StartedAt: time.Now()}
}

func named(kind probe.Kind, s probe.Settings) probe.Probe {
	return probe.Probe{Name: string(kind), Kind: kind, Settings: s}
}

func answer(r probe.Result) probetest.Answer {
	return probetest.Answer{Response: probe.Response{Result: r, Output: string(r)}}
}
