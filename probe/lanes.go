package probe

import "time"

// lanes are the probes whose time has come and that wait for a place among those
// in flight. There are three: probes that answered quickly the last time, those
// that were not made yet, and slow ones. Each of the last two may only take a
// part of the places, so that there is always room for probes that are quick,
// whatever hangs.
type lanes struct {
	queues [3]queue
	// flying counts those in flight by the lane that they came from.
	flying [3]int
	limits [3]int
}

type lane uint8

const (
	quick lane = iota
	fresh
	slow
)

// slowAfter is how long an attempt may take that still counts as quick.
const slowAfter = 250 * time.Millisecond

func newLanes(places int) lanes {
	return lanes{limits: [3]int{places, max(1, places*3/4), max(1, places/2)}}
}

func (l *lanes) push(e *entry) { l.queues[e.lane].push(e) }

func (l *lanes) len() int {
	return l.queues[quick].len() + l.queues[fresh].len() + l.queues[slow].len()
}

// pop takes the next probe for which there is a place: quick ones first. A slow
// probe in flight counts as fresh too, and both count as quick.
func (l *lanes) pop() *entry {
	flying := l.flying[quick] + l.flying[fresh] + l.flying[slow]
	for lane := quick; lane <= slow; lane++ {
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
