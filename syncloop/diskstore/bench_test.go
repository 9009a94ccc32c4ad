package diskstore_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/admission/resize"
	"github.com/kubeparts/kubeparts/internal/steady"
	"github.com/kubeparts/kubeparts/podmanager/checkpoint"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/diskstore"
)

// BenchmarkAdmitBatch lets in a thousand pods at once on a node where others run,
// by all checks of the kubelet, and has that on the disk. The kubelet takes 9.2 s,
// and longer the more pods there are; the target is a thousandth of that.
func BenchmarkAdmitBatch(b *testing.B) {
	const batch = 1000
	for _, n := range []int{110, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			folder, err := checkpoint.Open(checkpoint.Config{Dir: filepath.Join(b.TempDir(), "pods"), Policy: checkpoint.None})
			require.NoError(b, err)
			node := newBatchNode(diskstore.New(folder))
			for begin := 0; begin < n; begin += batch {
				node.admit(b, batchPods(begin, min(begin+batch, n)))
			}
			pods := batchPods(n, n+batch)
			steady.Reach(func() {
				node.admit(b, pods)
				node.remove(b, pods)
			})
			b.ReportAllocs()
			for b.Loop() {
				node.admit(b, pods)
				b.StopTimer()
				node.remove(b, pods)
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/pod")
		})
	}
}

// batchNode is a node with room for all.
type batchNode struct {
	chain *admission.Chain
	store syncloop.Store
}

func newBatchNode(store syncloop.Store) *batchNode {
	node := &v1.Node{Status: v1.NodeStatus{Allocatable: v1.ResourceList{
		"pods": resource.MustParse("1000000"), "cpu": resource.MustParse("1000000"), "memory": resource.MustParse("140737488355328"),
	}}}
	return &batchNode{store: store, chain: &admission.Chain{
		Ledger: admission.NewLedger(), Nodes: admission.FixedNode(node), Checks: admission.KubeletChecks(admission.Kubelet{}), Preempt: true,
	}}
}

func batchPods(from, to int) []*v1.Pod {
	requests := v1.ResourceList{"cpu": resource.MustParse("10m"), "memory": resource.MustParse("10Mi")}
	container := v1.Container{Name: "main", Image: "image", Resources: v1.ResourceRequirements{Requests: requests}}
	sidecar := container
	sidecar.Name = "sidecar"
	var pods []*v1.Pod
	for i := from; i < to; i++ {
		pods = append(pods, &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprintf("7d3ad0a4-3c8c-4a5c-8a54-%012d", i)), Namespace: "default", Name: fmt.Sprint("web-", i)},
			Spec:       v1.PodSpec{Containers: []v1.Container{container, sidecar}},
		})
	}
	return pods
}

func (n *batchNode) admit(b *testing.B, pods []*v1.Pod) {
	records := make([]syncloop.Record, 0, len(pods))
	for _, pod := range pods {
		d, err := n.chain.Admit(b.Context(), pod)
		if err != nil || d.Outcome != admission.Admit {
			b.Fatal(d, err)
		}
		held, _ := n.chain.Ledger.Held(admission.KeyOf(pod))
		records = append(records, syncloop.Record{
			UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name, Source: "api", Admitted: true,
			Allocated: resize.Of(pod), Takes: &syncloop.Takes{Requests: held},
		})
	}
	if err := n.store.Commit(b.Context(), syncloop.Batch{Save: records}); err != nil {
		b.Fatal(err)
	}
}

func (n *batchNode) remove(b *testing.B, pods []*v1.Pod) {
	var gone []types.UID
	for _, pod := range pods {
		n.chain.Remove(admission.KeyOf(pod))
		gone = append(gone, pod.UID)
	}
	require.NoError(b, n.store.Commit(b.Context(), syncloop.Batch{Delete: gone}))
}
