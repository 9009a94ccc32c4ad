package syncloop

import (
	"sync"
	"time"
)

// Monitor remembers when a loop last made a step, for health checks. The zero
// value is ready; it may be read from any goroutine while the loop runs.
type Monitor struct {
	mu   sync.Mutex
	last time.Time
	busy bool
}

// Last returns when the last step began or ended, whichever came later, and
// whether a step is under way: then Last is when it began, and one that lies
// long ago is stuck in a handler. It is zero before the first step. The time
// holds a monotonic reading, so that time.Since is not misled by a wall clock
// that jumps.
func (m *Monitor) Last() (at time.Time, busy bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last, m.busy
}

func (m *Monitor) begin() { m.stamp(true) }
func (m *Monitor) end()   { m.stamp(false) }

func (m *Monitor) stamp(busy bool) {
	if m == nil {
		return
	}
	m.mu.Lock()
	m.last, m.busy = time.Now(), busy
	m.mu.Unlock()
}
