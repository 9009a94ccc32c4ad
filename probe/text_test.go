package probe_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/runtime"
)

// Whoever prints what a Manager hands out sees the verdict, not its key alone.
func TestWhatIsPrintedOfAVerdict(t *testing.T) {
	key := probe.Key{Pod: runtime.PodRef{Namespace: "shop", Name: "web"}, Container: "app", Probe: "up"}
	for want, p := range map[string]probe.Published{
		"shop/web/app/up success":              {Key: key, Verdict: runtime.VerdictSuccess},
		`shop/web/app/up failure: no\x1b[2Jdb`: {Key: key, Verdict: runtime.VerdictFailure, Output: "no\x1b[2Jdb\n"},
		"shop/web/app/up unknown: refused":     {Key: key, Verdict: runtime.VerdictUnknown, Err: errors.New("refused")},
	} {
		require.Equal(t, want, p.String())
		x := probe.Explanation{Published: p, Wait: probe.WaitAddress}
		require.Equal(t, want+"; it waits for an address", x.String())
	}
	require.Equal(t, "box/app/up", probe.Key{Pod: runtime.PodRef{Name: "box"}, Container: "app", Probe: "up"}.String())
	a := probe.AttemptInfo{Key: key, Attempt: probe.Attempt{Response: probe.Response{Result: probe.Success, Output: "fine"}}}
	require.Equal(t, "shop/web/app/up success: fine", a.String())
	a.Attempt = probe.Attempt{Err: errors.New("refused")}
	require.Equal(t, "shop/web/app/up error: refused", a.String())
}
