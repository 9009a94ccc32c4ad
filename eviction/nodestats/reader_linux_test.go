package nodestats_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/eviction"
	"github.com/kubeparts/kubeparts/eviction/evictiontest"
	"github.com/kubeparts/kubeparts/eviction/nodestats"
	"github.com/kubeparts/kubeparts/runtime"
)

// files of a machine of 8 GiB, of which 2 GiB are free.
var machine = map[string]string{
	"proc/meminfo":                "MemTotal:        8388608 kB\nMemFree:         2097152 kB\nMemAvailable:    4194304 kB\nActive(file):  1 kB\nInactive(file):  1048576 kB\n",
	"proc/loadavg":                "0.52 0.58 0.59 3/600 12345\n",
	"proc/sys/kernel/pid_max":     "32768\n",
	"proc/sys/kernel/threads-max": "30000\n",
	"proc/pressure/memory":        "some avg10=1.50 avg60=0.20 avg300=0.00 total=2500000\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=1000000\n",
}

// of version 2, on the machine itself: the uppermost cgroup has no usage.
var v2Machine = map[string]string{
	"proc/self/cgroup":                              "0::/system.slice/agent.service\n",
	"cgroup/cgroup.controllers":                     "cpu memory pids\n",
	"cgroup/memory.stat":                            "anon 1\ninactive_file 1073741824\n",
	"cgroup/system.slice/memory.max":                "max\n",
	"cgroup/system.slice/agent.service/memory.max":  "max\n",
	"cgroup/kubepods/memory.max":                    "4294967296\n",
	"cgroup/kubepods/memory.current":                "3221225472\n",
	"cgroup/kubepods/memory.stat":                   "anon 1\ninactive_file 1073741824\nactive_file 5\n",
	"cgroup/system.slice/agent.service/pids.max":    "max\n",
	"cgroup/system.slice/agent.service/memory.stat": "inactive_file 0\n",
}

// of version 2, in a container that is limited to 1 GiB and 100 processes.
var v2Container = map[string]string{
	"proc/self/cgroup":          "0::/\n",
	"cgroup/cgroup.controllers": "cpu memory pids\n",
	"cgroup/memory.max":         "1073741824\n",
	"cgroup/memory.current":     "805306368\n",
	"cgroup/memory.stat":        "anon 5\ninactive_file 268435456\n",
	"cgroup/memory.pressure":    "some avg10=9.00 avg60=0.00 avg300=0.00 total=1\n",
	"cgroup/pids.max":           "100\n",
	"cgroup/pids.current":       "90\n",
}

// of version 1; the agent is in a slice that is limited to 2 GiB.
var v1Machine = map[string]string{
	"proc/self/cgroup":                               "4:memory:/agents/one\n3:pids:/\n2:cpu,cpuacct:/\n0::/\n",
	"cgroup/memory/memory.usage_in_bytes":            "6442450944\n",
	"cgroup/memory/memory.limit_in_bytes":            "9223372036854771712\n",
	"cgroup/memory/memory.stat":                      "inactive_file 7\ntotal_inactive_file 1073741824\n",
	"cgroup/memory/agents/memory.usage_in_bytes":     "1073741824\n",
	"cgroup/memory/agents/memory.limit_in_bytes":     "2147483648\n",
	"cgroup/memory/agents/memory.stat":               "inactive_file 7\ntotal_inactive_file 536870912\n",
	"cgroup/memory/agents/one/memory.usage_in_bytes": "1\n",
	"cgroup/memory/agents/one/memory.limit_in_bytes": "9223372036854771712\n",
	"cgroup/memory/agents/one/memory.stat":           "total_inactive_file 0\n",
}

// tree writes files below a folder of their own, and gives the configuration
// that reads them.
func tree(t testing.TB, sets ...map[string]string) nodestats.Config {
	dir := t.TempDir()
	for _, set := range sets {
		for name, text := range set {
			path := filepath.Join(dir, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		}
	}
	return nodestats.Config{ProcDir: filepath.Join(dir, "proc"), CgroupDir: filepath.Join(dir, "cgroup")}
}

func read(t *testing.T, cfg nodestats.Config) (*nodestats.Reader, *eviction.NodeStats) {
	t.Helper()
	r, err := nodestats.New(cfg)
	require.NoError(t, err)
	stats, err := r.NodeStats(t.Context())
	require.NoError(t, err)
	return r, stats
}

const gib int64 = 1 << 30

func TestMemory(t *testing.T) {
	for _, c := range []struct {
		name                  string
		files                 map[string]string
		cgroup                string
		available, workingSet int64
	}{
		{"no cgroups", nil, "", 3 * gib, 5 * gib},
		{"v2, the machine", v2Machine, "", 3 * gib, 5 * gib},
		{"v2, a container", v2Container, "", gib / 2, gib / 2},
		{"v2, a given cgroup", v2Machine, "kubepods", 2 * gib, 2 * gib},
		{"v1, the slice that limits the agent", v1Machine, "", 3 * gib / 2, gib / 2},
		{"v1, the machine", v1Machine, "/", 3 * gib, 5 * gib},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := tree(t, machine, c.files)
			if cfg.Cgroup = c.cgroup; c.cgroup == "/" {
				cfg.Cgroup = cfg.CgroupDir
			}
			_, stats := read(t, cfg)
			require.EqualValues(t, c.available, *stats.Memory.AvailableBytes)
			require.EqualValues(t, c.workingSet, *stats.Memory.WorkingSetBytes)
		})
	}
}

func TestProcesses(t *testing.T) {
	_, stats := read(t, tree(t, machine))
	require.EqualValues(t, 30000, *stats.Rlimit.MaxPID)
	require.EqualValues(t, 600, *stats.Rlimit.NumOfRunningProcesses)
	_, stats = read(t, tree(t, machine, v2Container))
	require.EqualValues(t, 100, *stats.Rlimit.MaxPID, "the container has less room")
	require.EqualValues(t, 90, *stats.Rlimit.NumOfRunningProcesses)
}

func TestPodsCgroup(t *testing.T) {
	cfg := tree(t, machine, v2Machine)
	cfg.PodsCgroup = "kubepods"
	_, stats := read(t, cfg)
	seen := eviction.Observe(stats)
	require.Equal(t, eviction.AllocatableMemoryAvailable, seen[1].Signal)
	require.EqualValues(t, 2*gib, seen[1].Available)
	require.EqualValues(t, 4*gib, seen[1].Capacity)
}

func TestPressure(t *testing.T) {
	r, _ := read(t, tree(t, machine, v2Machine))
	p, err := r.Pressure("memory")
	require.NoError(t, err)
	require.Equal(t, 1.5, p.Some.Avg10)
	require.Equal(t, "1s", p.Full.Total.String())
	r, _ = read(t, tree(t, machine, v2Container))
	p, err = r.Pressure("memory")
	require.NoError(t, err)
	require.Equal(t, 9.0, p.Some.Avg10, "the container's own")
	_, err = r.Pressure("io")
	require.ErrorContains(t, err, "io.pressure")
}

func TestWhatVanishesIsLeftOutAndSaidOnce(t *testing.T) {
	var said bytes.Buffer
	cfg := tree(t, machine, v2Container)
	cfg.Logger = slog.New(slog.NewTextHandler(&said, nil))
	r, _ := read(t, cfg)
	require.NoError(t, os.Remove(filepath.Join(cfg.CgroupDir, "memory.current")))
	for range 3 {
		stats, err := r.NodeStats(t.Context())
		require.NoError(t, err)
		require.Nil(t, stats.Memory, "missing is not zero")
		require.NotNil(t, stats.Rlimit)
	}
	require.Equal(t, 1, strings.Count(said.String(), "memory.current"))
	require.NoError(t, os.Remove(filepath.Join(cfg.ProcDir, "loadavg")))
	_, err := r.NodeStats(t.Context())
	require.ErrorContains(t, err, "loadavg")
	require.ErrorContains(t, err, "memory.current")
}

func TestNoProc(t *testing.T) {
	_, err := nodestats.New(nodestats.Config{ProcDir: t.TempDir()})
	require.ErrorContains(t, err, "meminfo")
}

// This machine, whatever it is.
func TestRealNode(t *testing.T) {
	cfg := nodestats.Config{RootDir: t.TempDir(), ImageDir: "/", NodeName: "here"}
	r, stats := read(t, cfg)
	seen := eviction.Observe(stats)
	signals := map[eviction.Signal]bool{}
	for _, o := range seen {
		signals[o.Signal] = true
		t.Logf("%-26s %d of %d", o.Signal, o.Available, o.Capacity)
	}
	for _, s := range []eviction.Signal{eviction.MemoryAvailable, eviction.NodeFsAvailable, eviction.ImageFsAvailable, eviction.PIDAvailable} {
		require.True(t, signals[s], s)
	}
	layout, err := r.Layout()
	require.NoError(t, err)
	t.Logf("cgroup %q, layout %+v", r.Cgroup(), layout)
	require.False(t, layout.DedicatedContainerFs)
	evictiontest.TestStatsProvider(t, func(*testing.T) evictiontest.Subject {
		return evictiontest.Subject{Provider: eviction.Join(r, noPods{})}
	})
}

// noPods is a runtime without pods.
type noPods struct{ runtime.StatsProvider }

func (noPods) PodStats(context.Context, types.UID) (*runtime.PodStats, error) {
	return nil, fmt.Errorf("no pods: %w", runtime.ErrNotFound)
}

// The notifiers of this machine watch until their context ends, or say that
// there is none.
func TestRealNotifierEndsWithItsContext(t *testing.T) {
	for name, cfg := range map[string]nodestats.Config{"cgroup": {}, "pressure": {CgroupDir: t.TempDir()}} {
		t.Run(name, func(t *testing.T) {
			r, stats := read(t, cfg)
			n := r.Notifier()
			refresh(t, n, stats)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- n.Watch(ctx, func() {}) }()
			refresh(t, n, stats)
			cancel()
			err := <-ended
			t.Log(err)
			if err != context.Canceled {
				require.ErrorIs(t, err, runtime.ErrNotSupported)
			}
		})
	}
}

// refresh tells a notifier that needs it the figures anew.
func refresh(t *testing.T, n eviction.Notifier, stats *eviction.NodeStats) {
	t.Helper()
	refresher, ok := n.(eviction.Refresher)
	if !ok {
		return
	}
	thresholds, err := eviction.Settings{Hard: map[string]string{"memory.available": "1Mi"}}.Thresholds()
	require.NoError(t, err)
	require.NoError(t, refresher.Refresh(thresholds, stats))
}

func TestNotifierThatTheKernelRefuses(t *testing.T) {
	for name, files := range map[string]map[string]string{"v1": v1Machine, "v2": v2Machine, "none": nil} {
		t.Run(name, func(t *testing.T) {
			cfg := tree(t, machine, files)
			require.NoError(t, os.Remove(filepath.Join(cfg.ProcDir, "pressure/memory")))
			r, stats := read(t, cfg)
			n := r.Notifier()
			refresh(t, n, stats)
			err := n.Watch(t.Context(), func() {})
			require.ErrorIs(t, err, runtime.ErrNotSupported)
		})
	}
}

func BenchmarkNodeStats(b *testing.B) {
	r, err := nodestats.New(nodestats.Config{RootDir: b.TempDir(), ImageDir: "/"})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.NodeStats(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
