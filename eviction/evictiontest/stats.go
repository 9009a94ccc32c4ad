package evictiontest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/eviction"
	"github.com/kubeparts/kubeparts/runtime"
)

// Stats is an [eviction.StatsProvider] whose figures a test sets, now or by a
// script. They keep until they are set anew; each NodeStats stamps them with the
// present time. It is safe for concurrent use, and the zero value measures
// nothing.
type Stats struct {
	mu     sync.Mutex
	levels map[eviction.Signal]level
	pods   map[types.UID]eviction.PodStats
	script []step
	err    error
	podErr error
	hangs  bool
	frozen time.Time
	reads  int
}

type level struct{ available, capacity int64 }

// step is something that a script does.
type step struct {
	at time.Time
	do func(*Stats)
}

// Set says how much of a signal is left, and of how much. A signal that is not
// the kubelet's is given by Observe.
func (s *Stats) Set(signal eviction.Signal, available, capacity int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.levels == nil {
		s.levels = make(map[eviction.Signal]level)
	}
	s.levels[signal] = level{available, capacity}
}

// Unset makes a signal one that can't be measured.
func (s *Stats) Unset(signal eviction.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.levels, signal)
}

// SetPod says what a pod uses. Its containers and volumes are not copied.
func (s *Stats) SetPod(uid types.UID, stats eviction.PodStats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pods == nil {
		s.pods = make(map[types.UID]eviction.PodStats)
	}
	stats.PodRef.UID = uid
	s.pods[uid] = stats
}

// SetPodMemory says how much memory a pod uses, and nothing else of it.
func (s *Stats) SetPodMemory(uid types.UID, workingSet uint64) {
	s.SetPod(uid, eviction.PodStats{Memory: &eviction.MemoryStats{WorkingSetBytes: &workingSet}})
}

// RemovePod makes a pod unknown.
func (s *Stats) RemovePod(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pods, uid)
}

// Fail makes NodeStats return the error; nil ends that.
func (s *Stats) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// FailPods makes PodStats return the error for every pod; nil ends that.
func (s *Stats) FailPods(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.podErr = err
}

// Hang makes every call wait for the end of its context, until it is undone.
func (s *Stats) Hang(hangs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hangs = hangs
}

// Freeze stamps all further figures with one time, as a provider does whose
// measuring has stopped; a zero time ends that.
func (s *Stats) Freeze(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = at
}

// At makes the script do something after a time from now. It is done in the
// first call at or after that time.
func (s *Stats) At(after time.Duration, do func(*Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, step{time.Now().Add(after), do})
	slices.SortStableFunc(s.script, func(a, b step) int { return a.at.Compare(b.at) })
}

// Reads is how often a pod's stats were read.
func (s *Stats) Reads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

// follow does what the script has for the time that has passed.
func (s *Stats) follow() {
	for {
		s.mu.Lock()
		if len(s.script) == 0 || s.script[0].at.After(time.Now()) {
			s.mu.Unlock()
			return
		}
		do := s.script[0].do
		s.script = s.script[1:]
		s.mu.Unlock()
		do(s)
	}
}

// begin follows the script, and waits where it hangs.
func (s *Stats) begin(ctx context.Context) error {
	s.follow()
	s.mu.Lock()
	hangs := s.hangs
	s.mu.Unlock()
	if hangs {
		<-ctx.Done()
	}
	return ctx.Err()
}

// NodeStats implements [eviction.StatsProvider].
func (s *Stats) NodeStats(ctx context.Context) (*eviction.NodeStats, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	at := s.stamp()
	n := &eviction.NodeStats{NodeName: "node", Memory: s.memory(eviction.MemoryAvailable, at)}
	if m := s.memory(eviction.AllocatableMemoryAvailable, at); m != nil {
		n.SystemContainers = []eviction.ContainerStats{{Name: "pods", Memory: m}}
	}
	n.Fs = s.fs(eviction.NodeFsAvailable, eviction.NodeFsInodesFree, at)
	n.Runtime = &eviction.RuntimeStats{
		ImageFs:     s.fs(eviction.ImageFsAvailable, eviction.ImageFsInodesFree, at),
		ContainerFs: s.fs(eviction.ContainerFsAvailable, eviction.ContainerFsInodesFree, at),
	}
	if l, ok := s.levels[eviction.PIDAvailable]; ok {
		n.Rlimit = &eviction.RlimitStats{Time: at, MaxPID: new(l.capacity), NumOfRunningProcesses: new(l.capacity - l.available)}
	}
	return n, nil
}

func (s *Stats) stamp() metav1.Time {
	if !s.frozen.IsZero() {
		return metav1.NewTime(s.frozen)
	}
	return metav1.Now()
}

func (s *Stats) memory(signal eviction.Signal, at metav1.Time) *eviction.MemoryStats {
	l, ok := s.levels[signal]
	if !ok {
		return nil
	}
	return &eviction.MemoryStats{Time: at, AvailableBytes: new(uint64(l.available)), WorkingSetBytes: new(uint64(l.capacity - l.available))}
}

func (s *Stats) fs(bytes, inodes eviction.Signal, at metav1.Time) *eviction.FsStats {
	b, hasBytes := s.levels[bytes]
	i, hasInodes := s.levels[inodes]
	if !hasBytes && !hasInodes {
		return nil
	}
	fs := &eviction.FsStats{Time: at}
	if hasBytes {
		fs.AvailableBytes, fs.CapacityBytes = new(uint64(b.available)), new(uint64(b.capacity))
	}
	if hasInodes {
		fs.InodesFree, fs.Inodes = new(uint64(i.available)), new(uint64(i.capacity))
	}
	return fs
}

// PodStats implements [eviction.StatsProvider].
func (s *Stats) PodStats(ctx context.Context, uid types.UID) (*eviction.PodStats, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if s.podErr != nil {
		return nil, s.podErr
	}
	stats, ok := s.pods[uid]
	if !ok {
		return nil, fmt.Errorf("stats of pod %s: %w", uid, runtime.ErrNotFound)
	}
	return &stats, nil
}

// Observe implements [eviction.Observer] for signals that are not the kubelet's,
// sorted by name.
func (s *Stats) Observe(ctx context.Context) ([]eviction.Observation, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var observed []eviction.Observation
	for signal, l := range s.levels {
		if !signal.Known() {
			observed = append(observed, eviction.Observation{
				Signal: signal, Available: l.available, Capacity: l.capacity, Time: s.stamp().Time,
			})
		}
	}
	slices.SortFunc(observed, func(a, b eviction.Observation) int {
		if a.Signal < b.Signal {
			return -1
		}
		return 1
	})
	return observed, nil
}
