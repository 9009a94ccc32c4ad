package syncloop

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/runtime"
)

// A container that is restarted for ever must not be remembered for ever.
func TestVerdictsAreOfTheLastInstances(t *testing.T) {
	var v *verdicts
	said := func(container, id string, kind probe.Kind, verdict runtime.Verdict) bool {
		next, news := v.with(probe.Published{Key: probe.Key{Container: container}, Kind: kind, ContainerID: id, Verdict: verdict})
		v = next
		return news
	}
	require.True(t, said("other", "o", probe.Readiness, runtime.VerdictSuccess))
	for i := range 100 {
		id := fmt.Sprint(i)
		before := v
		require.True(t, said("c", id, probe.Readiness, runtime.VerdictSuccess))
		require.NotContains(t, before.of(probe.Readiness), id, "workers may be reading it")
		require.False(t, said("c", id, probe.Readiness, runtime.VerdictSuccess))
		require.True(t, said("c", id, probe.Liveness, runtime.VerdictFailure))
	}
	require.Equal(t, map[string]runtime.Verdict{"o": runtime.VerdictSuccess, "99": runtime.VerdictSuccess}, v.of(probe.Readiness))
	require.Equal(t, map[string]runtime.Verdict{"99": runtime.VerdictFailure}, v.of(probe.Liveness))
	require.Len(t, v.instances, 3)
}
