package probe_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/probe"
)

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
	}
}
