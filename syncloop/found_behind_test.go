package syncloop_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
)

// What package simtest found about a store that is behind what the sink was told.

// stopBehind ends the agent, and leaves the store with an older record.
func (w *world) stopBehind(old syncloop.Record) {
	w.t.Helper()
	w.stop()
	require.NoError(w.t, w.store.Commit(w.t.Context(), syncloop.Batch{Save: []syncloop.Record{old}}))
}

// requireOneRestart sees that all words on a pod after the first n tell of it.
func (w *world) requireOneRestart(p *v1.Pod, n int) {
	w.t.Helper()
	said := w.sink.History(p.UID)[n:]
	require.NotEmpty(w.t, said)
	for _, u := range said {
		require.EqualValues(w.t, 1, u.Status.ContainerStatuses[0].RestartCount)
	}
}

// slowToRead has it take a second to read a pod.
func slowToRead(c *syncloop.Config) {
	c.Runtime = runtimetest.Intercept(c.Runtime, runtimetest.Funcs{
		PodStatus: func(ctx context.Context, rt runtime.Runtime, uid types.UID) (*runtime.PodStatus, error) {
			<-time.After(time.Second)
			return rt.PodStatus(ctx, uid)
		},
	})
}

// Seed 600721 with everything: the mirror of a static pod came before the agent had
// looked at the pod, and was told what the store had.
func TestMirrorIsToldNothingUnseen(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := pod("web", static, running(runtimetest.RunsFor(time.Minute, 1)))
		w.add(p)
		old, _ := w.store.Record(p.UID)
		sleep(65 * time.Second)
		require.EqualValues(t, 1, w.containerStatus(p, "c").RestartCount)
		w.stopBehind(old)
		slowToRead(&w.config)
		n := len(w.sink.History(p.UID))
		w.start()
		w.sendFrom("file", podmanager.OpAdd, p)
		mirror := pod("web", uid("mirror"))
		mirror.Annotations = map[string]string{podmanager.AnnotationMirror: "hash-uid-web"}
		w.sendFrom("api", podmanager.OpAdd, mirror)
		sleep(5 * time.Second)
		w.requireOneRestart(p, n)
	})
}

// Seed 2100559 with probes: a pod that an agent stops for want of a source comes after
// all, and its source knows more than the store.
func TestPodThatComesAgainWhileItStopsWithARecordThatIsBehind(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := pod("web", stubborn, grace(30))
		w.add(p)
		old, _ := w.store.Record(p.UID)
		require.NoError(t, w.fake.Exit(p.UID, "c", 1))
		sleep(time.Minute)
		require.EqualValues(t, 1, w.containerStatus(p, "c").RestartCount)
		w.stopBehind(old)
		n := len(w.sink.History(p.UID))
		w.start()
		w.add() // without it
		sleep(2100 * time.Millisecond)
		p = p.DeepCopy()
		p.Status = w.sink.Status(p.UID)
		w.add(p)
		sleep(time.Minute)
		w.requireOneRestart(p, n)
	})
}

// Seed 2300227 with everything and checkpoints: what the source told while a worker read
// the pod went unheard in what was said first.
func TestFirstWordKnowsWhatTheSourceToldMeanwhile(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("web")
		w.send(podmanager.OpRestore, p)
		told := p.DeepCopy()
		told.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "c", RestartCount: 1}}
		w.send(podmanager.OpUpdate, told)
		sleep(10 * time.Second)
		w.requireOneRestart(p, 0)
	}, slowToRead)
}
