package admission

import (
	"sync"
	"time"
)

const (
	// patience bounds one read of the node, and one reservation.
	patience = 10 * time.Second
	// slow is how long one that comes to nothing may take without consequences.
	slow = time.Second
	// restFor is for how many times as long it is left alone then.
	restFor = 9
)

// Patience remembers who kept a chain waiting and gave no answer: the node, the fresh
// node, or one of its Reservers. Each is left alone then for nine times as long as it
// took, so that who judges many pods in turn waits for it a tenth of the time, however
// many there are. A node is not read meanwhile. A Reserver is called with a context
// that has ended, so that it can still say of a pod that it needs nothing.
//
// The zero value has been kept waiting by nobody. It is safe for concurrent use.
type Patience struct {
	mu    sync.Mutex
	until map[outsider]time.Time
}

// outsider is whom a chain waits for: the place of a Reserver among its checks, or
// one of the others.
type outsider int

const (
	cachedNode outsider = -1
	freshNode  outsider = -2
)

// Forget has all asked again as if they had always answered. A nil Patience has
// nothing to forget.
func (p *Patience) Forget() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.until)
}

// rests tells whether one is left alone now.
func (p *Patience) rests(who outsider) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.until[who])
}

// limit is how long to wait for one.
func (p *Patience) limit(who outsider) time.Duration {
	if p.rests(who) {
		return 0
	}
	return patience
}

// noAnswer takes note of one that was asked then and gave no answer.
func (p *Patience) noAnswer(who outsider, began time.Time) {
	now := time.Now()
	took := now.Sub(began)
	if p == nil || took <= slow {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until == nil {
		p.until = make(map[outsider]time.Time)
	}
	p.until[who] = now.Add(restFor * took)
}
