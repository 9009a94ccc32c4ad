package syncloop_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
)

// onSink is a Conductor that looks around when a status is about to be sent.
type onSink struct{ look func() }

func (c onSink) Go(what string, f func()) {
	if what == "sink" {
		c.look()
	}
	go f()
}

func (onSink) Step(ctx context.Context, ch syncloop.Channels, h syncloop.SyncHandler, m *syncloop.Monitor) bool {
	return syncloop.Step(ctx, ch, h, m)
}

// What the sink has, Pod shows: a status is never news to it.
func TestSinkHasNoStatusThatPodDoesNotShow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *world
		var shown []v1.PodPhase
		p := pod("job", policy(v1.RestartPolicyNever), running(runtimetest.Script{Exits: true, RunFor: time.Minute}))
		w = newWorld(t, func(c *syncloop.Config) {
			c.Conductor = onSink{func() {
				phase := v1.PodPhase("none")
				if v, ok := w.Pod(p.UID); ok && v.Status != nil {
					phase = v.Status.Phase
				}
				shown = append(shown, phase)
			}}
		})
		w.start()
		w.add(p)
		sleep(2 * time.Minute)
		w.stop()
		require.Equal(t, v1.PodPending, shown[0])
		require.Equal(t, v1.PodSucceeded, shown[len(shown)-1])
		require.Equal(t, v1.PodSucceeded, w.phase(p.UID))
	})
}

// A view stays as it was when it was taken, whatever becomes of the pod.
func TestViewStaysAsItWas(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.add(pod("a"))
		v, _ := w.Pod("uid-a")
		was, all := *v, w.Pods()
		w.remove(pod("a"))
		sleep(time.Minute)
		_, known := w.Pod("uid-a")
		require.False(t, known)
		require.Equal(t, was, *v)
		require.Equal(t, []*syncloop.PodView{v}, all)
	})
}
