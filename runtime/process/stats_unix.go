//go:build unix

package process

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/process/internal/keeper"
)

// PodStats implements [runtime.StatsProvider]: CPU time, memory and number of
// processes of each running container. Memory is the proportional share of each
// process where the kernel tells it, else what is resident. What is on disk is
// not measured here.
func (b *Backend) PodStats(ctx context.Context, uid types.UID) (*runtime.PodStats, error) {
	sandboxes := b.selected(runtime.Filter{PodUID: uid})
	if uid == "" || len(sandboxes) == 0 {
		return nil, fmt.Errorf("process: pod %s: %w", uid, runtime.ErrNotFound)
	}
	looks, err := b.lookAtAll(ctx, sandboxes)
	if err != nil {
		return nil, fmt.Errorf("process: pod %s: %w", uid, err)
	}
	procs, err := b.procs.read()
	if err != nil {
		return nil, fmt.Errorf("process: pod %s: %w", uid, err)
	}
	rec := &sandboxes[0].rec
	out := &runtime.PodStats{
		PodRef: runtime.PodRef{UID: uid, Namespace: rec.Namespace, Name: rec.Name},
		Time:   time.Now(),
	}
	for _, l := range looks {
		out.Containers = append(out.Containers, containerStats(l, procs)...)
	}
	return out, nil
}

// clockTick is the unit of times in /proc, the same on every Linux.
const clockTick = time.Second / 100

// containerStats adds up what the processes of each running container use.
func containerStats(l look, procs []keeper.Process) []runtime.ContainerStats {
	roots, keeperPID := map[int]string{}, 0
	for _, c := range l.containers {
		if c.State != keeper.Running {
			continue
		}
		for _, p := range procs {
			if p.PID == c.PID && p.Ticks == c.Ticks {
				roots[p.PID], keeperPID = c.ID, p.Parent
			}
		}
	}
	owners := keeper.Owners(procs, keeperPID, roots, roots, keeper.MarkerOf)
	var out []runtime.ContainerStats
	for _, c := range l.containers {
		if c.State != keeper.Running {
			continue
		}
		var cpu time.Duration
		var memory, processes uint64
		for _, p := range procs {
			owner, ok := owners[p.PID]
			if !ok || owner != c.ID && !strings.HasPrefix(owner, c.ID+".") {
				continue
			}
			cpu += time.Duration(p.CPU) * clockTick
			memory += memoryOf(p.PID)
			processes += p.Threads
		}
		out = append(out, runtime.ContainerStats{Name: c.Name, CPU: &cpu, MemoryBytes: &memory, Processes: &processes})
	}
	return out
}

// memoryOf is the memory of a process in bytes, 0 for one that ended.
func memoryOf(pid int) uint64 {
	dir := "/proc/" + strconv.Itoa(pid)
	if rollup, err := os.ReadFile(dir + "/smaps_rollup"); err == nil {
		for line := range bytes.Lines(rollup) {
			if fields := strings.Fields(string(line)); len(fields) >= 2 && fields[0] == "Pss:" {
				kib, _ := strconv.ParseUint(fields[1], 10, 64)
				return kib << 10
			}
		}
	}
	statm, err := os.ReadFile(dir + "/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(statm))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseUint(fields[1], 10, 64)
	return pages * uint64(os.Getpagesize())
}

// procCache keeps the last reading of all processes for a moment, so that
// measuring many pods reads them once.
type procCache struct {
	mu    sync.Mutex
	at    time.Time
	procs []keeper.Process
}

const procCacheTime = time.Second

func (c *procCache) read() ([]keeper.Process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if since := time.Since(c.at); since >= 0 && since < procCacheTime {
		return c.procs, nil
	}
	procs, err := keeper.Processes()
	if err != nil {
		return nil, err
	}
	c.at, c.procs = time.Now(), procs
	return procs, nil
}
