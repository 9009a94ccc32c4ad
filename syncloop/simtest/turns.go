package simtest

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// turn is something of the agent that waits to go on: a call at its border, the
// return of one, or the begin of a goroutine.
type turn struct {
	what   string
	uid    types.UID
	serial uint64
	ctx    context.Context // nil for the begin of a goroutine
	open   chan struct{}

	seen bool // its fate was decided
	fate fate
}

// fate is what the world has decided about a call.
type fate struct {
	// notBefore is when it goes on; a call whose context ends goes on earlier.
	notBefore time.Time
	// fails: it gives an error, before it has any effect or, with late, after.
	fails, late bool
	// pauses: it waits for a turn before it returns, too.
	pauses bool
}

// ready tells whether the turn may be given now.
func (t *turn) ready(now time.Time) bool {
	return !t.fate.notBefore.After(now) || t.ctx != nil && t.ctx.Err() != nil
}

// turns are all that wait. The world gives them, one at a time.
type turns struct {
	mu      sync.Mutex
	waiting []*turn
	fresh   bool
	serial  uint64
	// wake holds at most one word: something has come that the world may not
	// know of.
	wake chan struct{}
}

func newTurns() *turns { return &turns{wake: make(chan struct{}, 1)} }

func (s *turns) add(ctx context.Context, what string, uid types.UID) *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	t := &turn{what: what, uid: uid, serial: s.serial, ctx: ctx, open: make(chan struct{})}
	s.waiting = append(s.waiting, t)
	s.fresh = true
	s.nudge()
	return t
}

// nudge wakes the world.
func (s *turns) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// all returns what waits, in an order that does not depend on who came first of
// those that came at one moment. The caller must not keep it.
func (s *turns) all() []*turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fresh {
		s.fresh = false
		slices.SortFunc(s.waiting, func(a, b *turn) int {
			return cmp.Or(cmp.Compare(a.what, b.what), cmp.Compare(a.uid, b.uid), cmp.Compare(a.serial, b.serial))
		})
	}
	return s.waiting
}

// give lets one go on.
func (s *turns) give(t *turn) {
	s.mu.Lock()
	i := slices.Index(s.waiting, t)
	s.waiting = slices.Delete(s.waiting, i, i+1)
	s.mu.Unlock()
	close(t.open)
}

// clear forgets all: whoever waited has been told otherwise.
func (s *turns) clear() {
	s.mu.Lock()
	s.waiting = nil
	s.mu.Unlock()
}
