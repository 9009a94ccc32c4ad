package probe

import "time"

// lanes are the probes whose time has come and that wait for a place among those
// in flight. There are four: probes that answered at once the last time, those that
// answered quickly, those that were not made yet, and slow ones. Each of the last
// two may only take a part of the places, so that there is always room for probes
// that are quick, whatever hangs.
type lanes struct {
	queues [4]queue
	// flying counts those in flight by the lane that they came from.
	flying [4]int
	limits [4]int
}

type lane uint8

const (
	instant lane = iota
	quick
	fresh
	slow
)

// How long an attempt may take that still counts as instant, or quick.
const (
	instantUpTo = time.Millisecond
	quickUpTo   = 250 * time.Millisecond
)

// laneFor is the lane of a probe whose last attempt took so long.
func laneFor(took time.Duration) lane {
	switch {
	case took <= instantUpTo:
		return instant
	case took <= quickUpTo:
		return quick
	}
	return slow
}

func newLanes(places int) lanes {
	return lanes{limits: [4]int{places, places, max(1, places*3/4), max(1, places/2)}}
}

func (l *lanes) push(e *entry) { l.queues[e.lane].push(e) }

func (l *lanes) len() int {
	n := 0
	for i := range l.queues {
		n += l.queues[i].len()
	}
	return n
}

func (l *lanes) inFlight() int {
	return l.flying[instant] + l.flying[quick] + l.flying[fresh] + l.flying[slow]
}

// pop takes the next probe for which there is a place: instant ones first. What is
// in flight counts for its own lane and for those before it.
func (l *lanes) pop() *entry {
	flying := l.inFlight()
	for lane := instant; lane <= slow; lane++ {
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
