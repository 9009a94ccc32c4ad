package admission

import (
	"context"
	"maps"
	"slices"
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
// that has ended, so that it can still say of a pod that it needs nothing. A Reserver
// that says in time that it has nothing now has answered, however long that took.
//
// The zero value has been kept waiting by nobody. It is safe for concurrent use.
type Patience struct {
	mu     sync.Mutex
	silent map[outsider]silence
}

// silence is since when one has given no answer, and until when it is left alone.
type silence struct{ since, until time.Time }

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
	clear(p.silent)
}

// rests tells whether one is left alone now.
func (p *Patience) rests(who outsider) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.silent[who].until)
}

// limit is how long to wait for one.
func (p *Patience) limit(who outsider) time.Duration {
	if p.rests(who) {
		return 0
	}
	return patience
}

// asked takes note of one that was waited for since then, and whether it gave an answer.
// That the caller, whose context it is, gave up himself says nothing of it.
func (p *Patience) asked(ctx context.Context, who outsider, began time.Time, answered bool) {
	if p == nil || !answered && ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	took := now.Sub(began)
	if answered || took <= slow {
		delete(p.silent, who)
		return
	}
	if p.silent == nil {
		p.silent = make(map[outsider]silence)
	}
	s, again := p.silent[who]
	if !again {
		s.since = began
	}
	s.until = now.Add(restFor * took)
	p.silent[who] = s
}

// Silence is one that gave a chain no answer when it was asked last.
type Silence struct {
	// Name is that of a check, or the node, or a fresh node.
	Name string
	// Since is when it was first asked in vain.
	Since time.Time
	// Until is before when nobody waits for it again.
	Until time.Time
}

// Silent lists those that gave no answer when they were asked last, as the chain's
// Patience remembers. It may be called from many goroutines.
func (c *Chain) Silent() []Silence {
	p := c.Patience
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []Silence
	for _, who := range slices.Sorted(maps.Keys(p.silent)) {
		s := p.silent[who]
		list = append(list, Silence{c.nameOf(who), s.since, s.until})
	}
	return list
}

func (c *Chain) nameOf(who outsider) string {
	switch {
	case who == cachedNode:
		return "the node"
	case who == freshNode:
		return "a fresh node"
	case int(who) < len(c.Checks):
		return c.Checks[who].Name
	}
	return "a check that is gone"
}
