package probe_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/probe"
)

// A prober's mistake restarts nothing.
func TestWhatIsNoResultIsNoFailure(t *testing.T) {
	for _, result := range []probe.Result{"", "fine"} {
		asked := 0
		p := probe.Func(func(context.Context, probe.Target) (probe.Response, error) {
			asked++
			return probe.Response{Result: result}, nil
		})
		a := probe.Try(t.Context(), p, probe.Target{}, 0)
		require.ErrorContains(t, a.Err, "which is no result")
		require.Equal(t, 3, asked, "as for any container that can't be asked")

		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, probe.Config{Prober: p})
			w.Set(ref("a"), probe.Container{Name: "app", State: running("1"), Probes: []probe.Probe{
				named(probe.Liveness, probe.Settings{Period: time.Second, FailureThreshold: 1}),
			}})
			w.pass(5 * time.Second)
			require.Empty(t, w.verdicts(), "the Manager has nothing to say")
			require.ErrorContains(t, w.attempts[0].Err, "which is no result")
			require.Equal(t, probe.Unknown, w.Explain(ref("a").UID)[0].Result, "an attempt was made")
		})
	}
}
