package syncloop_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/podmanagertest"
	"github.com/kubeparts/kubeparts/syncloop"
)

// inCluster runs a test of a node with a folder and an API that holds mirrors.
func inCluster(t *testing.T, test func(t *testing.T, w *world, file *podmanagertest.Source, api *podmanagertest.MirrorClient)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		file, feed := podmanagertest.NewSource(), podmanagertest.NewSource()
		api := &podmanagertest.MirrorClient{Feed: feed}
		w := newWorld(t)
		var err error
		w.config.PodConfig, err = podmanager.NewPodConfig(podmanager.Config{
			Sources: map[string]podmanager.PodSource{"file": file, "api": feed},
		})
		require.NoError(t, err)
		w.config.Mirrors = api
		w.config.Nodes = admission.NodeFunc(func(context.Context, bool) (*v1.Node, error) {
			return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", UID: "node-uid"}}, nil
		})
		w.SyncLoop, err = syncloop.New(w.config)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		defer func() {
			cancel()
			require.NoError(t, <-done)
		}()
		feed.Set()
		file.Set()
		synctest.Wait()
		test(t, w, file, api)
	})
}

func TestMirrorFollowsItsStaticPod(t *testing.T) {
	inCluster(t, func(t *testing.T, w *world, file *podmanagertest.Source, api *podmanagertest.MirrorClient) {
		p := pod("web", static)
		file.Set(p)
		synctest.Wait()
		mirror := api.Mirror("web_default")
		require.NotNil(t, mirror)
		require.Equal(t, "hash-uid-web", mirror.Annotations[podmanager.AnnotationMirror])
		u, _ := w.sink.Last(p.UID)
		require.NotNil(t, u.Mirror, "the sink knows under which UID the API has it")
		require.Len(t, w.Pods(), 1, "a mirror is no pod of its own")

		// Somebody deletes the mirror: it comes again.
		_, err := api.DeleteMirror(t.Context(), "default", "web", "")
		require.NoError(t, err)
		synctest.Wait()
		require.NotNil(t, api.Mirror("web_default"))

		// The manifest changes: so does the mirror.
		changed := p.DeepCopy()
		changed.Annotations[podmanager.AnnotationHash] = "other"
		file.Set(changed)
		synctest.Wait()
		require.Equal(t, "other", api.Mirror("web_default").Annotations[podmanager.AnnotationMirror])

		file.Set()
		sleep(5 * time.Second)
		require.Zero(t, api.Len())
	})
}

func TestMirrorStaysWhileItsPodIsStopped(t *testing.T) {
	inCluster(t, func(t *testing.T, w *world, file *podmanagertest.Source, api *podmanagertest.MirrorClient) {
		file.Set(pod("slow", static, stubborn, grace(10)))
		synctest.Wait()
		file.Set()
		sleep(9 * time.Second)
		require.Equal(t, 1, api.Len())
		sleep(5 * time.Second)
		require.Zero(t, api.Len())
	})
}

func TestMirrorsThatCannotBeMadeHoldUpNothing(t *testing.T) {
	inCluster(t, func(t *testing.T, w *world, file *podmanagertest.Source, api *podmanagertest.MirrorClient) {
		api.Fail(errors.New("the API is down"))
		file.Set(pod("web", static))
		synctest.Wait()
		require.Equal(t, v1.PodRunning, w.phase("uid-web"))
		api.Fail(nil)
		sleep(90 * time.Second)
		require.Equal(t, 1, api.Len(), "the next sync makes up for it")
	})
}

// hangingMirrors is an API server that never answers.
type hangingMirrors struct{}

func (hangingMirrors) CreateMirror(ctx context.Context, _ *v1.Pod) error {
	<-ctx.Done()
	return ctx.Err()
}

func (hangingMirrors) DeleteMirror(ctx context.Context, _, _ string, _ types.UID) (bool, error) {
	<-ctx.Done()
	return false, ctx.Err()
}

// The API server may be a static pod itself: it starts though nobody makes its mirror.
func TestStaticPodStartsWhileItsMirrorHangs(t *testing.T) {
	for name, c := range map[string]struct {
		nodeHangs bool
		mirrors   podmanager.MirrorClient
	}{
		"the node":   {true, &podmanagertest.MirrorClient{}},
		"the client": {false, hangingMirrors{}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				p := pod("apiserver", static)
				w.add(p)
				sleep(25 * time.Second)
				require.Equal(t, v1.PodRunning, w.phase(p.UID))
				w.remove(p)
				sleep(25 * time.Second)
				require.Empty(t, w.listed())
			}, func(cfg *syncloop.Config) {
				cfg.Mirrors = c.mirrors
				cfg.Nodes = admission.NodeFunc(func(ctx context.Context, _ bool) (*v1.Node, error) {
					if c.nodeHangs {
						<-ctx.Done()
						return nil, ctx.Err()
					}
					return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", UID: "node-uid"}}, nil
				})
			})
		})
	}
}

func TestReconcileSyncsOnlyWhereReadinessGatesDiffer(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		plain, gated := pod("plain"), pod("gated")
		gated.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "example.com/gate"}}
		w.add(plain, gated)
		require.Equal(t, v1.ConditionFalse, condition(w.sink.Status(gated.UID), v1.PodReady).Status)

		seen := gated.DeepCopy()
		seen.Status = w.sink.Status(gated.UID)
		seen.Status.Conditions = append(seen.Status.Conditions, v1.PodCondition{Type: "example.com/gate", Status: v1.ConditionTrue})
		told := plain.DeepCopy()
		told.Status = w.sink.Status(plain.UID)
		calls := w.sink.Calls()
		w.send(podmanager.OpReconcile, seen, told)
		require.Equal(t, v1.ConditionTrue, condition(w.sink.Status(gated.UID), v1.PodReady).Status)
		require.Equal(t, calls+1, w.sink.Calls())
	})
}

func TestEvictedPodLeavesNothingOnceTheWorldKnows(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		p := pod("victim")
		w.add(p)
		require.NoError(t, w.Kill(t.Context(), p.UID, syncloop.KillOptions{Evict: true, Verdict: evicted}))
		synctest.Wait()
		require.Len(t, w.listed(), 1)
		told := p.DeepCopy()
		told.Status = w.sink.Status(p.UID)
		w.send(podmanager.OpReconcile, told)
		require.Empty(t, w.listed())
		require.Len(t, w.Pods(), 1)
	})
}
