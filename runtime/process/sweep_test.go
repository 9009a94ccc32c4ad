//go:build linux

package process_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/runtime"
)

// What a container leaves in its group, in another session or with nobody as
// its parent ends with it, whether it ends by itself or is stopped.
func TestNothingIsLeftBehind(t *testing.T) {
	escapes := map[string]string{
		"child":               `sleep 1000000 & echo $!; `,
		"deaf child":          `(trap "" TERM HUP; sleep 1000000) & echo $!; `,
		"daemon":              `setsid sh -c 'echo $$; exec sleep 1000000' & sleep 0.1; `,
		"daemon's child":      `setsid sh -c 'sleep 1000000 & echo $!' ; `,
		"daemon with no name": `env -i /usr/bin/setsid /bin/sh -c 'sleep 1000000 & echo $!' ; `,
	}
	ends := map[string]func(n *node, id, sandbox string){
		"by itself": func(n *node, id, _ string) { require.NoError(n.t, os.WriteFile(n.logs+"/go", nil, 0o600)) },
		"stopped":   func(n *node, id, _ string) { require.NoError(n.t, n.StopContainer(n.t.Context(), id, longGrace)) },
		"killed":    func(n *node, id, _ string) { require.NoError(n.t, n.StopContainer(n.t.Context(), id, 0)) },
		"removed":   func(n *node, id, _ string) { require.NoError(n.t, n.RemoveContainer(n.t.Context(), id)) },
		"sandbox stopped": func(n *node, _, sandbox string) {
			require.NoError(n.t, n.StopSandbox(n.t.Context(), sandbox))
		},
	}
	for escape, script := range escapes {
		for end, do := range ends {
			t.Run(escape+"/"+end, func(t *testing.T) {
				t.Parallel()
				n := newNode(t)
				sandbox := n.sandbox("pod")
				id := n.start(sandbox, n.config("main", script+`until test -e "$1"; do sleep 0.01; done`, n.logs+"/go"))
				pid := n.saidPID("main")
				require.True(t, alive(pid))
				do(n, id, sandbox)
				if end != "removed" {
					n.exited(id)
				}
				require.False(t, alive(pid))
			})
		}
	}
}

// A container that ends takes nothing of its neighbours with it.
func TestNeighboursLive(t *testing.T) {
	n := newNode(t)
	sandbox := n.sandbox("pod")
	other := n.start(sandbox, n.config("other", "setsid sh -c 'sleep 1000000 & echo $!'; exec sleep 1000000"))
	daemon := n.saidPID("other")
	id := n.start(sandbox, n.config("main", "setsid sh -c 'sleep 1000000 & echo $!'; exec sleep 1000000"))
	gone := n.saidPID("main")
	require.NoError(t, n.StopContainer(t.Context(), id, longGrace))
	require.False(t, alive(gone))
	require.True(t, alive(daemon))
	require.Equal(t, runtime.StateRunning, n.status(other).State)
}
