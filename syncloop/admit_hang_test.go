package syncloop_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/syncloop"
)

// A node that nobody can read is asked for once in a while: meanwhile the loop does
// its other work, whatever the number of pods that wait for it.
func TestNodeGetterThatHangsHoldsUpTheLoopOnce(t *testing.T) {
	var hangs atomic.Bool
	var reads atomic.Int64
	inBubble(t, func(t *testing.T, w *world) {
		web := pod("web", cpu("1"))
		w.add(web)
		require.Equal(t, v1.PodRunning, w.phase(web.UID))
		hangs.Store(true)
		reads.Store(0)
		waiting := many("p", 50)
		began := time.Now()
		w.add(waiting...)
		w.send(podmanager.OpUpdate, pod("web", cpu("2"))) // a resize waits, too
		w.remove(web)
		require.Empty(t, w.listed())
		require.Equal(t, 10*time.Second, time.Since(began))
		for _, p := range waiting {
			require.Equal(t, "InvalidNodeInfo", condition(w.sink.Status(p.UID), syncloop.ConditionAdmitted).Reason)
		}
		sleep(10 * time.Minute)
		require.LessOrEqual(t, reads.Load(), int64(7), "a tenth of the time")

		hangs.Store(false)
		w.NodeChanged()
		sleep(12 * time.Second) // one read may be under way
		for _, p := range waiting {
			require.Equal(t, v1.PodRunning, w.phase(p.UID))
		}
	}, func(c *syncloop.Config) {
		c.Admission = &admission.Chain{
			Ledger: admission.NewLedger(), Checks: admission.KubeletChecks(admission.Kubelet{}), OS: "linux",
			Nodes: admission.NodeFunc(func(ctx context.Context, _ bool) (*v1.Node, error) {
				reads.Add(1)
				if hangs.Load() {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return roomyNode(), nil
			}),
		}
	})
}

// A fresh look at the node that hangs is paid for once by the pods whose affinity
// fails, which are judged by the node as it is known, as in the kubelet.
func TestFreshReadThatHangsHoldsUpTheLoopOnce(t *testing.T) {
	var reads atomic.Int64
	inBubble(t, func(t *testing.T, w *world) {
		pods := many("p", 50, func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "fast"} })
		web := pod("web")
		w.add(append(pods, web)...)
		sleep(10 * time.Second)
		for _, p := range pods {
			require.Equal(t, "NodeAffinity", w.sink.Status(p.UID).Reason)
		}
		require.Equal(t, v1.PodRunning, w.phase(web.UID))
		require.Equal(t, int64(1), reads.Load())
		require.Equal(t, "0 pods wait to be let in; a fresh node has given no answer since 10s", w.check("admission").Detail)

		sleep(90 * time.Second)
		w.add(pod("later", func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "fast"} }))
		require.Equal(t, int64(2), reads.Load(), "it may answer by now")
		sleep(time.Hour)
		require.True(t, w.check("admission").OK, "nobody has asked for long")
	}, func(c *syncloop.Config) {
		c.Admission = &admission.Chain{
			Ledger: admission.NewLedger(), Checks: admission.KubeletChecks(admission.Kubelet{}), OS: "linux",
			Nodes: admission.NodeFunc(func(ctx context.Context, fresh bool) (*v1.Node, error) {
				if fresh {
					reads.Add(1)
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return roomyNode(), nil
			}),
		}
	})
}

// plugin is an Allocator that gives a device to whoever asks for one, and can hang.
type plugin struct {
	hangs atomic.Bool
	waits atomic.Int64 // calls that hung
}

func (p *plugin) Allocate(ctx context.Context, pod *v1.Pod) error {
	if pod.Labels["device"] == "" {
		return nil
	}
	if p.hangs.Load() && ctx.Err() == nil {
		p.waits.Add(1)
		<-ctx.Done()
	}
	return ctx.Err()
}

func (*plugin) Free(*v1.Pod) {}

// Pods that want something of a Reserver that hangs wait side by side, and those that
// want nothing of it come in.
func TestReserverThatHangsHoldsUpTheLoopOnce(t *testing.T) {
	device := func(p *v1.Pod) { p.Labels = map[string]string{"device": "yes"} }
	var devices plugin
	devices.hangs.Store(true)
	inBubble(t, func(t *testing.T, w *world) {
		waiting := many("p", 50, device)
		web := pod("web", cpu("1"))
		w.add(append(waiting, web)...)
		sleep(10 * time.Second)
		require.Equal(t, v1.PodRunning, w.phase(web.UID), "it wants no device")
		for _, p := range waiting {
			c := condition(w.sink.Status(p.UID), syncloop.ConditionAdmitted)
			require.Equal(t, "UnexpectedAdmissionError", c.Reason)
			require.Equal(t, "Allocate failed due to context deadline exceeded, which is unexpected", c.Message)
		}
		require.True(t, w.check("loop").OK)
		c := w.check("admission")
		require.False(t, c.OK)
		require.Equal(t, "50 pods wait to be let in; Allocation has given no answer since 10s", c.Detail)
		devices.waits.Store(0)
		sleep(10 * time.Minute)
		require.LessOrEqual(t, devices.waits.Load(), int64(7), "a tenth of the time")

		require.GreaterOrEqual(t, time.Since(w.check("admission").Since), 10*time.Minute)
		devices.hangs.Store(false)
		w.NodeChanged()
		sleep(12 * time.Second) // it may be asked just now
		c = w.check("admission")
		require.True(t, c.OK)
		require.Equal(t, "0 pods wait to be let in", c.Detail)
		for _, p := range waiting {
			require.Equal(t, v1.PodRunning, w.phase(p.UID))
		}
	}, func(c *syncloop.Config) {
		c.Admission = &admission.Chain{
			Ledger: admission.NewLedger(), Checks: admission.KubeletChecks(admission.Kubelet{Allocator: &devices}),
			OS: "linux", Nodes: admission.FixedNode(roomyNode()),
		}
	})
}

// many are pods called PREFIX-0 and so on.
func many(prefix string, n int, change ...func(*v1.Pod)) []*v1.Pod {
	pods := make([]*v1.Pod, n)
	for i := range pods {
		pods[i] = pod(fmt.Sprintf("%s-%d", prefix, i), change...)
	}
	return pods
}

// roomyNode is a node without labels that has room for all.
func roomyNode() *v1.Node {
	return &v1.Node{Status: v1.NodeStatus{Allocatable: v1.ResourceList{
		v1.ResourcePods: resource.MustParse("1000"), v1.ResourceCPU: resource.MustParse("4")}}}
}
