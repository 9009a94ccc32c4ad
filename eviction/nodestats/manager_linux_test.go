package nodestats_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/eviction"
	"github.com/kubeparts/kubeparts/eviction/nodestats"
	"github.com/kubeparts/kubeparts/runtime"
)

// onePod is a runtime in which each pod uses its name's length in GiB.
type onePod struct{}

func (onePod) PodStats(_ context.Context, uid types.UID) (*runtime.PodStats, error) {
	return &runtime.PodStats{
		PodRef:     runtime.PodRef{UID: uid},
		Containers: []runtime.ContainerStats{{Name: "c", MemoryBytes: new(uint64(len(uid)) << 30)}},
	}, nil
}

// The parts together, over this machine: a threshold that it can't but meet.
func TestManagerOverTheRealNode(t *testing.T) {
	reader, err := nodestats.New(nodestats.Config{RootDir: t.TempDir()})
	require.NoError(t, err)
	policy, err := eviction.Settings{Hard: map[string]string{"memory.available": "99.9999%"}}.Policy()
	require.NoError(t, err)
	policy.Layout, err = reader.Layout()
	require.NoError(t, err)
	var killed []string
	manager, err := eviction.NewManager(eviction.Config{
		Policy: policy,
		Stats:  eviction.Join(reader, onePod{}),
		Pods: func() []*v1.Pod {
			return []*v1.Pod{
				{ObjectMeta: metav1.ObjectMeta{Name: "small", UID: "small"}},
				{ObjectMeta: metav1.ObjectMeta{Name: "the-largest", UID: "the-largest"}},
			}
		},
		Kill: func(_ context.Context, v eviction.Victim) error {
			killed = append(killed, v.Pod.Name)
			return nil
		},
	})
	require.NoError(t, err)
	done, err := manager.Round(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"the-largest"}, killed)
	require.Equal(t, []v1.NodeConditionType{v1.NodeMemoryPressure}, manager.Conditions())
	t.Log(done.Victim.Message)
}
