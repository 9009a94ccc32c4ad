package podmanager

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Checkpointer writes down what sources want, so that the next agent knows of it
// before they have spoken. Package checkpoint has one.
type Checkpointer interface {
	// Checkpoint takes changes as the Mux made them, before anybody else hears
	// of them: a pod is on disk before it starts, and off it before it stops.
	// What it can't write it keeps, and writes with a later call; without
	// updates that is all that it is asked for. It is called from one goroutine,
	// and returns soon after its context ends. The updates are read-only.
	Checkpoint(ctx context.Context, updates []Update) error
}

// CheckpointStatus is how checkpoints are doing.
type CheckpointStatus struct {
	// LastGood is when all that was wanted was on disk last; zero if never.
	LastGood time.Time
	// Busy is since when a write has been under way; zero when there is none.
	Busy time.Time
	// Err is why something is not on disk, and Since when: nil and zero when
	// everything is.
	Err   error
	Since time.Time
}

// checkpointing drives a Checkpointer, if there is one. What fails is tried again
// ever less often, and holds up nothing. But for status it belongs to the
// dispatching goroutine.
type checkpointing struct {
	writer Checkpointer
	tell   func(Problem)
	failed int
	retry  *time.Timer // nil before the first failure

	mu     sync.Mutex
	status CheckpointStatus
}

const (
	checkpointBackoff    = time.Second
	checkpointBackoffMax = 5 * time.Second
)

// due is readable when what failed is to be tried again.
func (c *checkpointing) due() <-chan time.Time {
	if c.retry == nil {
		return nil
	}
	return c.retry.C
}

// write has updates written down; without updates, what failed before.
func (c *checkpointing) write(ctx context.Context, updates []Update) {
	if c.writer == nil {
		return
	}
	c.note(func(s *CheckpointStatus) { s.Busy = time.Now() })
	err := c.writer.Checkpoint(ctx, updates)
	if err != nil {
		err = fmt.Errorf("checkpoint: %w", err)
	}
	if err != nil && c.failed == 0 && ctx.Err() == nil {
		c.tell(Problem{Err: err})
	}
	c.note(func(s *CheckpointStatus) {
		s.Busy, s.Err = time.Time{}, err
		switch {
		case err == nil:
			s.LastGood, s.Since = time.Now(), time.Time{}
		case s.Since.IsZero():
			s.Since = time.Now()
		}
	})
	if err == nil {
		c.failed = 0
		c.stop()
		return
	}
	c.failed++
	wait := min(checkpointBackoff<<min(c.failed-1, 10), checkpointBackoffMax)
	if c.retry == nil {
		c.retry = time.NewTimer(wait)
	} else {
		c.retry.Reset(wait)
	}
}

func (c *checkpointing) stop() {
	if c.retry != nil {
		c.retry.Stop()
	}
}

func (c *checkpointing) note(change func(*CheckpointStatus)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.status)
}

// Checkpoints returns how checkpoints are doing; false without a
// [Config.Checkpoints].
func (c *PodConfig) Checkpoints() (status CheckpointStatus, ok bool) {
	k := &c.checkpoints
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.status, k.writer != nil
}
