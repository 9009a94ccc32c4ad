package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// An agent is killed when containers have ended and it has not seen that. The next
// one ends their keepers, of pods that are wanted and of those that are not.
func TestKilledBetweenTheEndOfContainersAndOfTheirKeepers(t *testing.T) {
	const pods = 6
	y := newYard(t)
	name := func(i int) string { return fmt.Sprintf("job%d", i) }
	for i := range pods {
		job := strings.Replace(y.sleeper(name(i), "1"), "spec:\n", "spec:\n  restartPolicy: Never\n", 1)
		y.put(name(i), strings.Replace(job, "exec sleep 100000", `until test -e "$KUBEPARTS_MOUNT_PIDS/go"; do sleep 0.05; done`, 1))
	}
	agent := y.start()
	for i := range pods {
		y.up(name(i), 0)
	}
	agent.freeze()
	require.NoError(t, os.WriteFile(filepath.Join(y.pids, "go"), nil, 0o600))
	eventually(t, func() bool { return y.ended() == pods }, "all have ended")
	require.Len(t, y.keepers(), pods)
	agent.signal(os.Kill)
	agent.wait()
	for i := range pods / 2 {
		require.NoError(t, os.Remove(filepath.Join(y.manifests, name(i)+".yaml")))
	}

	next := y.start()
	eventually(t, func() bool { return len(y.keepers()) == 0 }, "no keeper is left")
	next.stop()
	require.NotContains(t, next.stderr.String(), "Started", "nothing runs again")
}

// ended is how many containers the keepers have recorded the end of.
func (y yard) ended() (n int) {
	records, _ := filepath.Glob(filepath.Join(y.root, "process", "s", "*", "c-*"))
	for _, file := range records {
		if data, err := os.ReadFile(file); err == nil && strings.Contains(string(data), `"State":"exited"`) {
			n++
		}
	}
	return n
}

// freeze stops the agent's process in the middle of whatever it does.
func (r *running) freeze() {
	r.t.Helper()
	r.t.Cleanup(func() { _ = r.cmd.Process.Signal(syscall.SIGCONT) })
	r.signal(syscall.SIGSTOP)
	eventually(r.t, func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.cmd.Process.Pid))
		return err == nil && strings.Contains(string(stat), ") T ")
	}, "the agent is frozen")
}
