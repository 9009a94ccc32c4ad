package probe_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/probe/probetest"
)

// Of what containers say, a host that observes them gets all; else there is no more
// kept than is ever shown, or ten thousand would fill the memory.
func TestLittleIsKeptOfOutputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, probe.Config{})
		w.prober.Script("app", probetest.Answer{Response: probe.Response{Result: probe.Success, Output: strings.Repeat("x", 1<<20)}})
		w.Set(ref("a"), probe.Container{Name: "app", State: running("1"), Probes: []probe.Probe{
			named(probe.Readiness, probe.Settings{}), {Name: "disk", Kind: probe.Observe},
		}})
		w.pass(time.Minute)
		kept := map[string]int{}
		for _, p := range w.Take() {
			kept[p.Probe] = len(p.Output)
			if p.Probe == "readiness" {
				require.True(t, strings.HasSuffix(probe.Printable(p.Output), "..."), "one sees that it is cut")
			}
		}
		require.Equal(t, map[string]int{"readiness": 1028, "disk": probe.OutputLimit}, kept)
		require.Len(t, w.attempts[0].Output, probe.OutputLimit, "hooks see all")
	})
}
