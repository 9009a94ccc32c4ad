package syncloop_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
)

// Without a limit, a node that has many pods to start begins with a part of them,
// and ones that hang hold up the others for a moment only.
func TestManyPodsBeginInBursts(t *testing.T) {
	var working atomic.Int64
	var hang chan struct{}
	inBubble(t, func(t *testing.T, w *world) {
		hang = make(chan struct{})
		pods := make([]*v1.Pod, 3000)
		for i := range pods {
			pods[i] = numbered(i)
		}
		w.add(pods...)
		require.EqualValues(t, 1024, working.Load())
		w.remove(pods[0])
		require.EqualValues(t, 1025, working.Load(), "a stop waits for nobody")
		sleep(2 * time.Second)
		require.EqualValues(t, 3001, working.Load(), "all of them hang")
		close(hang)
		sleep(time.Second)
		require.Zero(t, working.Load())
		require.Equal(t, v1.PodRunning, w.phase(pods[2999].UID))
	}, func(c *syncloop.Config) {
		c.Runtime = runtimetest.Intercept(c.Runtime, runtimetest.Funcs{
			Before: func(_ context.Context, call runtimetest.Call) error {
				if call.Method == "PodStatus" || call.Method == "KillPod" {
					working.Add(1)
					<-hang
					working.Add(-1)
				}
				return nil
			},
		})
	})
}

// A pod that is removed while its sync waits for a worker is never synced.
func TestWorkThatWaitsIsOvertaken(t *testing.T) {
	var hang chan struct{}
	var synced []types.UID
	inBubble(t, func(t *testing.T, w *world) {
		hang = make(chan struct{})
		w.add(pod("first"), pod("second"))
		w.remove(pod("second"))
		close(hang)
		sleep(time.Minute)
		require.Equal(t, v1.PodRunning, w.phase("uid-first"))
		require.NotContains(t, synced, types.UID("uid-second"))
		_, known := w.Pod("uid-second")
		require.False(t, known)
	}, func(c *syncloop.Config) {
		c.MaxWorkers = 1
		c.Runtime = runtimetest.Intercept(c.Runtime, runtimetest.Funcs{
			Before: func(_ context.Context, call runtimetest.Call) error {
				if call.Method == "SyncPod" {
					synced = append(synced, call.UID)
					<-hang
				}
				return nil
			},
		})
	})
}
