package probe

import "time"

// lanes are the probes whose time has come and that wait for a place among those
// in flight. There are five: probes that answered at once the last time, those that
// answered quickly, those that were not made yet, slow ones, and those that ran into
// their timeout. Each of the last three may only take a part of the places, so that
// there is always room for those before it, whatever hangs.
//
// What flies for longer than patience gives its place up, to so many as places for
// the overdue: a manifest may have timeouts of an hour.
type lanes struct {
	queues [lanesInAll]queue
	// flying counts those in flight by the lane that they came from.
	flying  [lanesInAll]int
	limits  [lanesInAll]int
	overdue int // in flight, without a place
	most    int // of overdue
}

type lane uint8

const (
	instant lane = iota
	quick
	fresh
	slow
	hung
	lanesInAll
)

// patience is how long an attempt has a place; overduePerPlace is how many may fly
// on without one.
const (
	patience        = time.Second
	overduePerPlace = 16
)

// How long an attempt may take that still counts as instant, or quick.
const (
	instantUpTo = time.Millisecond
	quickUpTo   = 250 * time.Millisecond
)

// laneFor is the lane of a probe whose last attempt took so long.
func laneFor(took, timeout time.Duration) lane {
	switch {
	case took >= timeout:
		return hung
	case took <= instantUpTo:
		return instant
	case took <= quickUpTo:
		return quick
	}
	return slow
}

func newLanes(places int) lanes {
	return lanes{
		limits: [lanesInAll]int{places, places, max(1, places*3/4), max(1, places*5/8), max(1, places/2)},
		most:   overduePerPlace * places,
	}
}

func (l *lanes) push(e *entry) { l.queues[e.lane].push(e) }

func (l *lanes) len() int {
	n := 0
	for i := range l.queues {
		n += l.queues[i].len()
	}
	return n
}

func (l *lanes) inFlight() int { return l.placed() + l.overdue }

// placed are those in flight that have a place.
func (l *lanes) placed() int {
	n := 0
	for _, flying := range l.flying {
		n += flying
	}
	return n
}

// land gives back what an attempt had.
func (l *lanes) land(f *flight) {
	if f.overdue {
		l.overdue--
	} else {
		l.flying[f.lane]--
	}
}

// outstay takes its place from an attempt that flies for too long, if there is room
// for it without one.
func (l *lanes) outstay(f *flight, now time.Time) {
	deadline, _ := f.ctx.Deadline()
	if flew := f.timeout - deadline.Sub(now); f.overdue || flew <= patience || l.overdue >= l.most {
		return
	}
	l.flying[f.lane]--
	l.overdue++
	f.overdue = true
}

// pop takes the next probe for which there is a place: instant ones first. What is
// in flight counts for its own lane and for those before it.
func (l *lanes) pop() *entry {
	flying := l.placed()
	for lane := range lanesInAll {
		if flying >= l.limits[lane] {
			return nil
		}
		if e := l.queues[lane].pop(); e != nil {
			return e
		}
		flying -= l.flying[lane]
	}
	return nil
}

// oldest is when the probe that waits longest was due; zero if none does.
func (l *lanes) oldest() time.Time {
	var oldest time.Time
	for i := range l.queues {
		if e := l.queues[i].peek(); e != nil && (oldest.IsZero() || e.tracker.next.Before(oldest)) {
			oldest = e.tracker.next
		}
	}
	return oldest
}

// queue is first in, first out.
type queue struct {
	list []*entry
	head int
}

func (q *queue) len() int { return len(q.list) - q.head }

func (q *queue) push(e *entry) { q.list = append(q.list, e) }

func (q *queue) peek() *entry {
	if q.len() == 0 {
		return nil
	}
	return q.list[q.head]
}

func (q *queue) pop() *entry {
	e := q.peek()
	if e == nil {
		return nil
	}
	q.list[q.head] = nil
	q.head++
	switch {
	case q.len() == 0:
		q.list, q.head = nil, 0
	case q.head > 64 && q.head > len(q.list)/2:
		q.list = append([]*entry(nil), q.list[q.head:]...)
		q.head = 0
	}
	return e
}
