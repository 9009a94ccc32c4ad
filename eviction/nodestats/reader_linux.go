package nodestats

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/eviction"
)

// Reader measures a node. It is safe for concurrent use and keeps no file open.
type Reader struct {
	cfg   Config
	group cgroup

	mu   sync.Mutex
	said map[string]string // what could not be measured, and why
}

// New returns a reader. It looks for the cgroup that is the node, and fails
// where /proc can't be read.
func New(cfg Config) (*Reader, error) {
	cfg = cfg.withDefaults()
	r := &Reader{cfg: cfg, said: map[string]string{}}
	info, err := r.memInfo()
	if err != nil {
		return nil, fmt.Errorf("nodestats: %w", err)
	}
	r.group = findCgroup(cfg, info.total)
	return r, nil
}

// Cgroup is the folder of the cgroup that is measured as the node, "" where
// there is none and /proc/meminfo alone is read.
func (r *Reader) Cgroup() string { return r.group.memory }

// NodeStats implements [eviction.NodeMeter]. What can't be measured is left out,
// and said once; when that is everything, it is an error.
func (r *Reader) NodeStats(ctx context.Context) (*eviction.NodeStats, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n := &eviction.NodeStats{NodeName: r.cfg.NodeName}
	var errs []error
	try := func(what string, err error) bool {
		r.say(what, err)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		}
		return err == nil
	}
	if memory, err := r.memory(); try("memory", err) {
		n.Memory = memory
	}
	if rlimit, err := r.processes(); try("processes", err) {
		n.Rlimit = rlimit
	}
	if r.cfg.PodsCgroup != "" {
		if memory, err := r.podsMemory(); try("memory of the pods", err) {
			n.SystemContainers = []eviction.ContainerStats{{Name: "pods", Memory: memory}}
		}
	}
	if r.cfg.RootDir != "" {
		if fs, err := disk(r.cfg.RootDir); try("file system of the node", err) {
			n.Fs = fs
		}
	}
	if r.cfg.ImageDir != "" {
		n.Runtime = &eviction.RuntimeStats{}
		if fs, err := disk(r.cfg.ImageDir); try("file system of images", err) {
			n.Runtime.ImageFs = fs
		}
		if fs, err := disk(r.cfg.ContainerDir); try("file system of containers", err) {
			n.Runtime.ContainerFs = fs
		}
	}
	if n.Memory == nil && n.Rlimit == nil && n.Fs == nil && n.Runtime == nil {
		return nil, fmt.Errorf("nodestats: %w", errors.Join(errs...))
	}
	return n, nil
}

// say logs what can't be measured when that, or its reason, is new.
func (r *Reader) say(what string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := ""
	if err != nil {
		text = err.Error()
	}
	if r.said[what] == text {
		return
	}
	r.said[what] = text
	if err != nil {
		r.cfg.Logger.Warn("not measured", "what", what, "err", err)
	} else {
		r.cfg.Logger.Info("measured again", "what", what)
	}
}

func (r *Reader) memInfo() (memInfo, error) {
	return readFile(filepath.Join(r.cfg.ProcDir, "meminfo"), parseMemInfo)
}

// memory is the node's. The working set is the usage without the file cache
// that is inactive; what is available is the capacity without the working set,
// as the kubelet reckons it.
func (r *Reader) memory() (*eviction.MemoryStats, error) {
	info, err := r.memInfo()
	if err != nil {
		return nil, err
	}
	u, err := r.group.usage(info)
	if err != nil {
		return nil, err
	}
	return memoryStats(u, min(u.limit, info.total)), nil
}

// podsMemory is that of the pods' cgroup. Without a limit on it nothing is
// available of it.
func (r *Reader) podsMemory() (*eviction.MemoryStats, error) {
	u, err := r.group.at(r.cfg, r.cfg.PodsCgroup).usage(memInfo{})
	if err != nil {
		return nil, err
	}
	return memoryStats(u, u.limit), nil
}

func memoryStats(u memoryUsage, capacity uint64) *eviction.MemoryStats {
	workingSet := u.usage - min(u.usage, u.inactiveFile)
	stats := &eviction.MemoryStats{Time: metav1.NewTime(time.Now()), UsageBytes: &u.usage, WorkingSetBytes: &workingSet}
	if capacity != unlimited {
		stats.AvailableBytes = new(capacity - min(capacity, workingSet))
	}
	return stats
}

// processes counts threads, as the kubelet does: the machine's, or those of the
// node's cgroup where it has less room.
func (r *Reader) processes() (*eviction.RlimitStats, error) {
	running, err := readFile(filepath.Join(r.cfg.ProcDir, "loadavg"), parseThreads)
	if err != nil {
		return nil, err
	}
	most, err := readFile(filepath.Join(r.cfg.ProcDir, "sys/kernel/pid_max"), count)
	if err != nil {
		return nil, err
	}
	if threads, err := readFile(filepath.Join(r.cfg.ProcDir, "sys/kernel/threads-max"), count); err == nil {
		most = min(most, threads)
	}
	if limit, current, ok := r.group.processes(); ok && limit-current < most-running {
		most, running = limit, current
	}
	return &eviction.RlimitStats{Time: metav1.NewTime(time.Now()), MaxPID: &most, NumOfRunningProcesses: &running}, nil
}

// Pressure reads what the kernel tells of waiting for "memory", "io" or "cpu",
// of the node's cgroup where it is one of version 2 that is not the machine, and
// else of the machine.
func (r *Reader) Pressure(resource string) (Pressure, error) {
	return readFile(r.pressureFile(resource), parsePressure)
}

func (r *Reader) pressureFile(resource string) string {
	if r.group.v2 && !r.group.root {
		return filepath.Join(r.group.memory, resource+".pressure")
	}
	return filepath.Join(r.cfg.ProcDir, "pressure", resource)
}

// readFile reads and parses a small file; the error names it.
func readFile[T any](path string, parse func([]byte) (T, error)) (T, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		var none T
		return none, err
	}
	value, err := parse(text)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return value, err
}
