package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/internal/durable"
)

// An agent that comes after the machine's clock was put right, by decades, takes
// over what the one before left, as if nothing had happened.
func TestClockJumpsWhileTheAgentIsAway(t *testing.T) {
	for name, year := range map[string]string{"it was far ahead": "2056", "it was 1970": "1970"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t)
			y.put("a", y.sleeper("a", "1"))
			runs := `echo run >> "$KUBEPARTS_MOUNT_PIDS/`
			job := strings.Replace(y.sleeper("job", "1"), "exec sleep 100000", runs+`job.runs"`, 1)
			y.put("job", strings.Replace(job, "  containers:", "  restartPolicy: Never\n  containers:", 1))
			y.put("crash", strings.Replace(y.sleeper("crash", "1"), "exec sleep 100000", runs+`crash.runs"; exit 3`, 1))
			count := func(pod string) int {
				said, _ := os.ReadFile(filepath.Join(y.pids, pod+".runs"))
				return strings.Count(string(said), "run\n")
			}
			first := y.start()
			a := y.up("a", 0)
			eventually(t, func() bool {
				out, _, code := asked(t, y.root, "status")
				return code == exitOK && strings.Contains(out, "Completed") && strings.Contains(out, "CrashLoopBackOff")
			}, "the job has ended, and the crashing container waits")
			first.signal(syscall.SIGKILL)
			first.wait()
			require.Positive(t, y.date(year))
			crashes := count("crash")

			second := y.start("-o", "json")
			eventually(t, func() bool { return count("crash") >= crashes+1 }, "a crashing container is tried again")
			y.until("runs", "a", isRunning)
			y.until("has succeeded", "job", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodSucceeded })
			require.Equal(t, a, y.up("a", 0), "the same process")
			require.Equal(t, 1, count("job"))
			second.stop()
			pods := second.list()
			require.Equal(t, v1.PodRunning, pods["a"].Status.Phase)
			require.Zero(t, restarts(new(pods["a"])))
			require.Equal(t, v1.PodSucceeded, pods["job"].Status.Phase)
			y.gone(a)
		})
	}
}

var times = regexp.MustCompile(`\b20\d\d(-\d\d-\d\dT\d\d:)`)

// date writes all records of the agent as if they had been made in that year, and
// tells how many it changed.
func (y yard) date(year string) (changed int) {
	y.t.Helper()
	require.NoError(y.t, filepath.WalkDir(y.root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		folder, damaged, err := durable.OpenBatched(path, nil)
		require.NoError(y.t, err)
		require.Empty(y.t, damaged)
		names, err := folder.List()
		require.NoError(y.t, err)
		for _, name := range names {
			old, err := folder.Read(name)
			if err != nil {
				continue // no record
			}
			if dated := times.ReplaceAll(old, []byte(year+"$1")); string(dated) != string(old) {
				require.NoError(y.t, folder.Commit(durable.Change{Name: name, Data: dated}))
				changed++
			}
		}
		return nil
	}))
	return changed
}
