package nodestats

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/kubeparts/kubeparts/eviction"
	"github.com/kubeparts/kubeparts/runtime"
)

// pressureTrigger wakes when tasks waited for memory for 150 ms of 2 s. Windows
// of whole multiples of 2 s are what a process without privileges may ask for.
const pressureTrigger = "some 150000 2000000"

// Notifier returns what wakes an [eviction.Manager] when memory may be short:
// on cgroup v1 a limit in the kernel for each memory threshold, and else a
// trigger on memory pressure (PSI). Where the kernel has neither, or refuses,
// Watch says so, and the manager polls.
func (r *Reader) Notifier() eviction.Notifier {
	if !r.group.v2 && r.group.memory != "" {
		return &limitNotifier{group: r.group.memory, changed: make(chan struct{}, 1)}
	}
	return pressureNotifier{file: r.pressureFile("memory")}
}

type pressureNotifier struct{ file string }

// Watch implements [eviction.Notifier].
func (n pressureNotifier) Watch(ctx context.Context, notify func()) error {
	fd, err := unix.Open(n.file, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%w: pressure trigger: open %s: %w", runtime.ErrNotSupported, n.file, err)
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, append([]byte(pressureTrigger), 0)); err != nil {
		return fmt.Errorf("%w: pressure trigger: write %s: %w", runtime.ErrNotSupported, n.file, err)
	}
	return await(ctx, fd, unix.POLLPRI, func() error {
		notify()
		return nil
	})
}

// limitNotifier watches limits of memory in a cgroup v1.
type limitNotifier struct {
	group   string
	changed chan struct{}

	mu     sync.Mutex
	limits []uint64
}

// Refresh implements [eviction.Refresher]: it reckons from which usage on each
// memory threshold is met. The file cache that is inactive is used, but free to
// take, so it is added.
func (n *limitNotifier) Refresh(thresholds []eviction.Threshold, node *eviction.NodeStats) error {
	m := node.Memory
	if m == nil || m.AvailableBytes == nil || m.WorkingSetBytes == nil || m.UsageBytes == nil {
		return errors.New("memory is not measured")
	}
	var limits []uint64
	for _, t := range thresholds {
		if t.Signal == eviction.MemoryAvailable {
			limits = append(limits, usageLimit(m, t))
		}
	}
	n.mu.Lock()
	n.limits = limits
	n.mu.Unlock()
	select {
	case n.changed <- struct{}{}:
	default:
	}
	return nil
}

func usageLimit(m *eviction.MemoryStats, t eviction.Threshold) uint64 {
	capacity := *m.AvailableBytes + *m.WorkingSetBytes
	inactive := *m.UsageBytes - min(*m.UsageBytes, *m.WorkingSetBytes)
	return capacity - min(capacity, uint64(t.Value.Of(int64(capacity)))) + inactive
}

// Watch implements [eviction.Notifier].
func (n *limitNotifier) Watch(ctx context.Context, notify func()) error {
	for {
		n.mu.Lock()
		limits := n.limits
		n.mu.Unlock()
		if err := n.watch(ctx, limits, notify); err != nil {
			return err
		}
	}
}

// watch waits for the limits to be crossed, until they change.
func (n *limitNotifier) watch(ctx context.Context, limits []uint64, notify func()) error {
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return fmt.Errorf("%w: eventfd: %w", runtime.ErrNotSupported, err)
	}
	defer unix.Close(event)
	usage, err := os.Open(filepath.Join(n.group, "memory.usage_in_bytes"))
	if err != nil {
		return fmt.Errorf("%w: %w", runtime.ErrNotSupported, err)
	}
	defer usage.Close()
	control, err := os.OpenFile(filepath.Join(n.group, "cgroup.event_control"), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("%w: %w", runtime.ErrNotSupported, err)
	}
	defer control.Close()
	for _, limit := range limits {
		if _, err := fmt.Fprintf(control, "%d %d %d", event, usage.Fd(), limit); err != nil {
			return fmt.Errorf("%w: memory limit: %w", runtime.ErrNotSupported, err)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	done := make(chan struct{})
	defer close(done)
	waiting.Go(func() {
		select {
		case <-n.changed:
			cancel(errChanged)
		case <-done:
		}
	})
	err = await(ctx, event, unix.POLLIN, func() error {
		var counter [8]byte
		if _, err := unix.Read(event, counter[:]); err != nil && err != unix.EAGAIN {
			return fmt.Errorf("eventfd: %w", err)
		}
		notify()
		return nil
	})
	if context.Cause(ctx) == errChanged {
		return nil
	}
	return err
}

// errChanged ends a watch whose limits are out of date.
var errChanged = errors.New("the limits changed")

// await calls ready each time that the file descriptor is, until the context
// ends.
func await(ctx context.Context, fd int, events int16, ready func() error) error {
	stop, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return fmt.Errorf("%w: eventfd: %w", runtime.ErrNotSupported, err)
	}
	defer unix.Close(stop)
	ended := make(chan struct{})
	undo := context.AfterFunc(ctx, func() {
		defer close(ended)
		var one [8]byte
		binary.NativeEndian.PutUint64(one[:], 1)
		unix.Write(stop, one[:])
	})
	defer func() {
		if !undo() { // the func runs: stop is its until it is done
			<-ended
		}
	}()
	for {
		polled := []unix.PollFd{{Fd: int32(fd), Events: events}, {Fd: int32(stop), Events: unix.POLLIN}}
		if _, err := unix.Poll(polled, -1); err != nil && err != unix.EINTR {
			return fmt.Errorf("poll: %w", err)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case polled[0].Revents&events != 0:
			if err := ready(); err != nil {
				return err
			}
		case polled[0].Revents&(unix.POLLERR|unix.POLLNVAL) != 0:
			return errors.New("the kernel ended the watch")
		}
	}
}
