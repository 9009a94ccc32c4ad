package podruntime

import (
	"context"
	"sync"
	"time"
)

// deadline is a point in time that can be moved forward while others wait for
// it.
type deadline struct {
	mu    sync.Mutex
	at    time.Time
	moved context.Context // ends when at changes
	tell  context.CancelFunc
}

func newDeadline(at time.Time) *deadline {
	d := &deadline{at: at}
	d.moved, d.tell = context.WithCancel(context.Background())
	return d
}

// move makes the deadline earlier; a later one changes nothing.
func (d *deadline) move(at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !at.Before(d.at) {
		return
	}
	d.at = at
	d.tell()
	d.moved, d.tell = context.WithCancel(context.Background())
}

// get returns the deadline, and a context that ends when it moves.
func (d *deadline) get() (time.Time, context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at, d.moved
}

// await waits until done is closed, and tells whether it was before the
// deadline.
func (d *deadline) await(done <-chan struct{}) bool {
	for {
		select {
		case <-done:
			return true // also when the deadline has passed
		default:
		}
		at, moved := d.get()
		timer := time.NewTimer(time.Until(at))
		select {
		case <-done:
			timer.Stop()
			return true
		case <-timer.C:
			return false
		case <-moved.Done():
			timer.Stop()
		}
	}
}
