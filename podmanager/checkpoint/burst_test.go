//go:build linux

package checkpoint_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager/checkpoint"
)

// A burst costs a few syncs together, not some a pod, where the system can sync
// many files at once.
func TestBurstSyncsFewTimes(t *testing.T) {
	folder := newPlace(t, checkpoint.All).open()
	var pods []*v1.Pod
	for i := range 1000 {
		pods = append(pods, pod(fmt.Sprint("p", i)))
	}
	require.NoError(t, folder.Checkpoint(t.Context(), added(pods...)))
	require.LessOrEqual(t, folder.Syncs(), int64(10))
	before := folder.Syncs()
	require.NoError(t, folder.Checkpoint(t.Context(), nil))
	require.Equal(t, before, folder.Syncs(), "what did not change costs nothing")
}
