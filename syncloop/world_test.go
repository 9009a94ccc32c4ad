package syncloop_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/probe/probetest"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/synclooptest"
)

// world is a node in a bubble: a loop, and fakes for all around it.
type world struct {
	*syncloop.SyncLoop
	t       *testing.T
	fake    *runtimetest.Fake
	sink    *synclooptest.Sink
	store   *synclooptest.Store
	events  *synclooptest.Events
	updates chan podmanager.Update
	config  syncloop.Config
	end     func()
	// prober answers probes; nil means that nobody probes.
	prober *probetest.Prober
}

// newWorld makes a world whose loop has not been started.
func newWorld(t *testing.T, change ...func(*syncloop.Config)) *world {
	w := &world{
		t:      t,
		fake:   runtimetest.NewFake(runtimetest.FakeConfig{}),
		sink:   &synclooptest.Sink{},
		store:  &synclooptest.Store{},
		events: &synclooptest.Events{},
	}
	w.config = syncloop.Config{
		Runtime: w.fake, Sink: w.sink, Events: w.events, RuntimeName: "fake",
		Logger: slog.New(slog.DiscardHandler),
	}
	if os.Getenv("SYNCLOOP_LOG") != "" {
		w.config.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	for _, c := range change {
		c(&w.config)
	}
	return w
}

// inBubble runs a test of a world that has been started, and ends it.
func inBubble(t *testing.T, test func(t *testing.T, w *world), change ...func(*syncloop.Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, change...)
		w.start()
		defer func() {
			w.stop()
			require.Empty(t, w.sink.Violations())
		}()
		test(t, w)
	})
}

// start starts an agent, a new one on the same runtime, sink and store.
func (w *world) start() {
	if w.config.Store == nil {
		w.sink.Restart()
	}
	w.updates = make(chan podmanager.Update)
	w.config.Updates = w.updates
	stopProbes := w.startProbes()
	var err error
	w.SyncLoop, err = syncloop.New(w.config)
	require.NoError(w.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	w.end = func() {
		cancel()
		require.NoError(w.t, <-done)
		stopProbes()
	}
}

// startProbes starts a manager of probes, as an agent has it beside its loop.
func (w *world) startProbes() (stop func()) {
	if w.prober == nil {
		return func() {}
	}
	m, err := probe.NewManager(probe.Config{Prober: w.prober, Events: w.events})
	require.NoError(w.t, err)
	w.config.Probes = m
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	return func() {
		cancel()
		require.NoError(w.t, <-done)
	}
}

// stop ends the agent; pods run on.
func (w *world) stop() { w.end() }

// send gives the loop an update and lets it settle.
func (w *world) send(op podmanager.Op, pods ...*v1.Pod) {
	w.sendFrom("test", op, pods...)
}

func (w *world) sendFrom(source string, op podmanager.Op, pods ...*v1.Pod) {
	w.t.Helper()
	w.updates <- podmanager.Update{Source: source, Op: op, Pods: pods}
	synctest.Wait()
}

func (w *world) add(pods ...*v1.Pod)    { w.t.Helper(); w.send(podmanager.OpAdd, pods...) }
func (w *world) remove(pods ...*v1.Pod) { w.t.Helper(); w.send(podmanager.OpRemove, pods...) }

// observed is what the runtime has of a pod.
func (w *world) observed(uid types.UID) *runtime.PodStatus {
	st, err := w.fake.PodStatus(context.Background(), uid)
	require.NoError(w.t, err)
	return st
}

// listed is what the runtime lists.
func (w *world) listed() (uids []types.UID) {
	pods, err := w.fake.ListPods(context.Background())
	require.NoError(w.t, err)
	for _, p := range pods {
		uids = append(uids, p.UID)
	}
	return uids
}

// entered is how many pods are in the ledger. The loop owns that: an update
// without pods hands it back.
func (w *world) entered() int {
	w.t.Helper()
	synctest.Wait()
	n := w.config.Admission.Ledger.Pods()
	w.add()
	return n
}

func (w *world) phase(uid types.UID) v1.PodPhase { return w.sink.Status(uid).Phase }

// sleep lets time pass.
func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// pod makes a pod with one container, which runs until it is stopped unless a
// script is given.
func pod(name string, change ...func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			UID: types.UID("uid-" + name), Namespace: "default", Name: name,
		},
		Spec: v1.PodSpec{
			RestartPolicy: v1.RestartPolicyAlways,
			Containers:    []v1.Container{{Name: "c", Image: "image"}},
		},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

// running makes the container of the pod behave as the script says.
func running(s runtimetest.Script) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.Containers[0].Command = s.Command() }
}

func policy(r v1.RestartPolicy) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.RestartPolicy = r }
}

func grace(seconds int64) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.TerminationGracePeriodSeconds = &seconds }
}

func uid(u types.UID) func(*v1.Pod) { return func(p *v1.Pod) { p.UID = u } }

func static(p *v1.Pod) {
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations[podmanager.AnnotationSource] = podmanager.SourceFile
	p.Annotations[podmanager.AnnotationHash] = "hash-" + string(p.UID)
}

func created(age time.Duration) func(*v1.Pod) {
	return func(p *v1.Pod) { p.CreationTimestamp = metav1.NewTime(time.Now().Add(-age)) }
}

func numbered(n int) *v1.Pod { return pod(fmt.Sprintf("pod-%05d", n)) }
