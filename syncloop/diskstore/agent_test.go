package diskstore_test

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/checkpoint"
	"github.com/kubeparts/kubeparts/podmanager/podmanagertest"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/diskstore"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
	"github.com/kubeparts/kubeparts/syncloop/synclooptest"
)

// node is a runtime and a folder of checkpoints, on which agents follow each other.
type node struct {
	t      *testing.T
	dir    string
	cpus   string
	engine *runtimetest.Fake

	*syncloop.SyncLoop
	source *podmanagertest.Source // of the agent that runs; it is silent at first
	sink   *synclooptest.Sink
	stop   func()
}

func newNode(t *testing.T) *node {
	return &node{t: t, dir: filepath.Join(t.TempDir(), "checkpoints"), cpus: "4", engine: runtimetest.NewFake(runtimetest.FakeConfig{})}
}

// start starts an agent on what the last one left.
func (n *node) start() {
	n.t.Helper()
	folder, err := checkpoint.Open(checkpoint.Config{Dir: n.dir, Policy: checkpoint.All})
	require.NoError(n.t, err)
	require.Empty(n.t, folder.Problems())
	n.source, n.sink = podmanagertest.NewSource(), &synclooptest.Sink{}
	pods, err := podmanager.NewPodConfig(podmanager.Config{
		Sources:     folder.Sources(map[string]podmanager.PodSource{podmanager.SourceAPI: n.source}),
		Checkpoints: folder,
	})
	require.NoError(n.t, err)
	self := &v1.Node{Status: v1.NodeStatus{Allocatable: v1.ResourceList{
		v1.ResourceCPU: resource.MustParse(n.cpus), v1.ResourceMemory: resource.MustParse("4Gi"), v1.ResourcePods: resource.MustParse("110"),
	}}}
	n.SyncLoop, err = syncloop.New(syncloop.Config{
		PodConfig: pods, Runtime: n.engine, Store: diskstore.New(folder), Sink: n.sink,
		Admission: &admission.Chain{
			Ledger: admission.NewLedger(),
			Nodes:  admission.FixedNode(self),
			Checks: []admission.Check{{Name: "NodeFit", Handler: admission.NodeFit{}}},
		},
	})
	require.NoError(n.t, err)
	ctx, cancel := context.WithCancel(n.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	n.stop = func() {
		cancel()
		require.NoError(n.t, <-ended)
	}
}

// restart ends the agent and starts the next one, whose source is silent.
func (n *node) restart() {
	n.stop()
	n.start()
	n.rest()
}

// rest lets some rounds of housekeeping go by.
func (n *node) rest() {
	time.Sleep(10 * time.Second)
	synctest.Wait()
}

func (n *node) observed(uid types.UID) *runtime.PodStatus {
	n.t.Helper()
	status, err := n.engine.PodStatus(n.t.Context(), uid)
	require.NoError(n.t, err)
	return status
}

func wanted(name, cpus string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec: v1.PodSpec{RestartPolicy: v1.RestartPolicyAlways, Containers: []v1.Container{{
			Name: "main", Image: "local",
			Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpus)}},
		}}},
	}
}

// A pod out of a checkpoint goes on as if its source had spoken: it is judged by
// its admission of then, looked after, and not touched when its source confirms it.
func TestRestoredPodsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.start()
		web, db := wanted("web", "2"), wanted("db", "1")
		n.source.Set(web, db)
		n.rest()
		before := n.observed(web.UID).Containers
		require.Len(t, before, 1)
		began := n.sink.Status(web.UID).StartTime

		n.cpus = "1" // neither would be let in any more
		n.restart()
		require.Equal(t, before, n.observed(web.UID).Containers)
		view, ok := n.Pod(web.UID)
		require.True(t, ok)
		require.True(t, view.Admitted)
		require.Equal(t, podmanager.SourceAPI, view.Source)
		require.NoError(t, n.engine.Exit(web.UID, "main", 1))
		n.rest()
		require.True(t, n.observed(web.UID).Running(), "it is looked after")
		after := n.observed(web.UID).Containers

		n.source.Set(web)
		n.rest()
		require.Equal(t, after, n.observed(web.UID).Containers)
		require.Equal(t, began, n.sink.Status(web.UID).StartTime)
		_, ok = n.Pod(db.UID)
		require.False(t, ok, "its source does not want it any more")

		n.restart()
		_, ok = n.Pod(db.UID)
		require.False(t, ok, "and it does not come back")
		require.Equal(t, after, n.observed(web.UID).Containers)
		n.stop()
	})
}

// What became of a pod holds although nothing but the disk tells of it.
func TestVerdictsOfRestoredPodsHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.start()
		big, victim := wanted("big", "9"), wanted("victim", "1")
		n.source.Set(big, victim)
		n.rest()
		require.NoError(t, n.Kill(t.Context(), victim.UID, syncloop.KillOptions{Verdict: &podstatus.Verdict{Reason: "Evicted"}}))
		n.cpus = "100"
		for range 2 {
			n.restart()
			for uid, want := range map[types.UID]string{big.UID: "OutOfcpu", victim.UID: "Evicted"} {
				view, ok := n.Pod(uid)
				require.True(t, ok)
				require.Equal(t, v1.PodFailed, view.Status.Phase)
				require.Equal(t, want, view.Status.Reason)
			}
			require.False(t, n.observed(victim.UID).Running())
		}
		n.source.Set()
		n.rest()
		n.stop()
		folder, err := checkpoint.Open(checkpoint.Config{Dir: n.dir})
		require.NoError(t, err)
		require.Empty(t, folder.Remembered(), "nothing of them is left")
	})
}

// A pod that was being stopped is off the disk, and does not start again. Once its
// source was heard its stop goes on, with what is left of its grace.
func TestStopGoesOnWithWhatIsLeftOfItsGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.engine = runtimetest.NewFake(runtimetest.FakeConfig{Script: func(runtimetest.Instance) runtimetest.Script {
			return runtimetest.Script{IgnoresTerm: true}
		}})
		n.start()
		slow := wanted("slow", "1")
		slow.Spec.TerminationGracePeriodSeconds = new(int64)
		*slow.Spec.TerminationGracePeriodSeconds = 60
		n.source.Set(slow)
		n.rest()
		n.source.Remove(slow)
		n.rest()
		n.restart()
		_, known := n.Pod(slow.UID)
		require.False(t, known)
		require.True(t, n.observed(slow.UID).Running(), "its source may want it again")
		n.source.Set()
		time.Sleep(45 * time.Second) // of 60, 20 were over
		synctest.Wait()
		listed, err := n.engine.ListPods(t.Context())
		require.NoError(t, err)
		require.Empty(t, listed)
		n.stop()
	})
}
