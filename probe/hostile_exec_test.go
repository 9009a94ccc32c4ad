//go:build linux

package probe_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/probe"
)

// Commands that do what they can to hold a probe up.
func TestHostileCommands(t *testing.T) {
	shell, _ := shellIn(t)
	for name, c := range map[string]struct {
		script string
		result probe.Result
		output string
	}{
		"floods and does not end":          {"yes", probe.Failure, "timed out after "},
		"leaves a flood behind":            {"yes & yes & yes & sleep 0.1; exit 0", probe.Success, ""},
		"leaves a flood of errors behind":  {"echo y >&2; yes >&2 & sleep 0.1; exit 3", probe.Failure, "y\n"},
		"a daemon of its own session":      {"setsid sleep 1000000 & echo fine", probe.Success, "fine\n"},
		"a flood in a session of its own":  {"setsid sh -c 'yes & yes >&2' & sleep 0.1; exit 0", probe.Success, ""},
		"hangs in a session of its own":    {"setsid -w sleep 1000000", probe.Failure, "timed out after "},
		"a hundred children hold the pipe": {"for i in $(seq 100); do sleep 1000000 & done; echo fine", probe.Success, "fine\n"},
		"stops itself":                     {"kill -STOP $$$$", probe.Failure, "timed out after "},
		"kills itself":                     {"kill -KILL $$$$", probe.Failure, ""},
		"126":                              {"/", probe.Failure, ""},
		"127":                              {"no-such-program", probe.Failure, "not found"},
		"255":                              {"exit 255", probe.Failure, ""},
		"closes its output and hangs":      {"exec >&- 2>&-; sleep 1000000", probe.Failure, "timed out after "},
	} {
		t.Run(name, func(t *testing.T) {
			timeout := time.Minute
			if strings.HasPrefix(c.output, "timed out") {
				timeout = 500 * time.Millisecond
			}
			a := shell(timeout, c.script)
			require.NoError(t, a.Err)
			require.Equal(t, c.result, a.Result, a.Output)
			require.Contains(t, a.Output, c.output)
			require.LessOrEqual(t, len(a.Output), probe.OutputLimit)
		})
	}
}
