package runtimetest

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

var (
	_ runtime.Cleaner       = (*Fake)(nil)
	_ runtime.Execer        = (*Fake)(nil)
	_ runtime.LogReader     = (*Fake)(nil)
	_ runtime.StatsProvider = (*Fake)(nil)
)

// RemoveVolumes implements [runtime.Cleaner]. There are no volumes to remove.
func (f *Fake) RemoveVolumes(ctx context.Context, uid types.UID) error {
	return f.remove(ctx, uid, "volumes of pod", func(*fakePod) {})
}

// RemovePod implements [runtime.Cleaner].
func (f *Fake) RemovePod(ctx context.Context, uid types.UID) error {
	return f.remove(ctx, uid, "pod", func(*fakePod) { f.drop(uid) })
}

// remove carries out a removal, under the lock, unless a container runs.
func (f *Fake) remove(ctx context.Context, uid types.UID, what string, do func(*fakePod)) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("remove %s %s: %w", what, uid, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.pods[uid]
	if p == nil {
		return nil
	}
	if c := p.running(); c != nil {
		return fmt.Errorf("remove %s %s: container %s still runs", what, uid, c.name)
	}
	do(p)
	return nil
}

// PodStats implements [runtime.StatsProvider]. What it measures is known and
// zero: nothing runs.
func (f *Fake) PodStats(ctx context.Context, uid types.UID) (*runtime.PodStats, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("stats of pod %s: %w", uid, err)
	}
	var stats *runtime.PodStats
	f.update(uid, func(p *fakePod) bool {
		stats = &runtime.PodStats{PodRef: p.ref, Time: time.Now()}
		for _, c := range p.containers {
			if c.state == runtime.StateRunning {
				stats.Containers = append(stats.Containers, runtime.ContainerStats{
					Name: c.name, CPU: new(time.Duration), MemoryBytes: new(uint64), Processes: new(uint64),
				})
			}
		}
		return false
	})
	if stats == nil {
		return nil, fmt.Errorf("stats of pod %s: %w", uid, runtime.ErrNotFound)
	}
	return stats, nil
}

// Logs implements [runtime.LogReader]. The log of a container is the Output of
// its script, written when it started.
func (f *Fake) Logs(ctx context.Context, containerID string, opts runtime.LogOptions) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("log of container %s: %w", containerID, err)
	}
	var log *logStream
	f.update(podOfContainer(containerID), func(p *fakePod) bool {
		c := p.byID(containerID)
		if c == nil {
			return false
		}
		log = &logStream{text: strings.NewReader(c.log(opts)), ctx: ctx, ended: closed, closed: make(chan struct{})}
		if opts.Follow {
			log.ended = c.wait()
		}
		return false
	})
	if log == nil {
		return nil, fmt.Errorf("log of container %s: %w", containerID, runtime.ErrNotFound)
	}
	return log, nil
}

// log returns the part of the container's log that is asked for.
func (c *fakeContainer) log(opts runtime.LogOptions) string {
	if c.started.IsZero() || c.started.Before(opts.SinceTime) {
		return ""
	}
	lines := slices.Collect(strings.Lines(c.script.Output))
	if opts.TailLines > 0 && len(lines) > opts.TailLines {
		lines = lines[len(lines)-opts.TailLines:]
	}
	var text strings.Builder
	for _, line := range lines {
		if opts.Timestamps {
			text.WriteString(c.started.Format(time.RFC3339Nano) + " ")
		}
		text.WriteString(line)
	}
	return text.String()
}

// logStream is a log that goes on until the container ends.
type logStream struct {
	text   *strings.Reader
	ctx    context.Context
	ended  <-chan struct{}
	closed chan struct{}
	once   sync.Once
}

// Read gives the text, and then waits for the end of the container.
func (l *logStream) Read(p []byte) (int, error) {
	if n, err := l.text.Read(p); err == nil {
		return n, nil
	}
	select {
	case <-l.ended:
		return 0, io.EOF
	case <-l.closed:
		return 0, io.ErrClosedPipe
	case <-l.ctx.Done():
		return 0, l.ctx.Err()
	}
}

// Close implements [io.Closer]; a Read that waits returns.
func (l *logStream) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// resize notes other resources for containers that run.
func (s *syncing) resize(steps []runtime.Resize) {
	for _, step := range steps {
		s.update(s.ref.UID, func(p *fakePod) bool {
			c := p.byID(step.ID)
			if c == nil || !c.mayRun() {
				return false
			}
			c.resources = step.Resources
			s.res.Acted = true
			return true
		})
	}
}

// CanResize implements [runtime.Resizer].
func (f *Fake) CanResize() bool { return true }
