package syncloop

import (
	"cmp"
	"container/heap"
	"time"
)

// timers is the one heap of times that something is to be done at. It wakes
// nobody by itself: whoever owns it asks for the next time, and takes what is
// due. Setting and clearing cost O(log n).
type timers[K cmp.Ordered] struct {
	items timerHeap[K]
	index map[K]*timerItem[K]
}

type timerItem[K cmp.Ordered] struct {
	key K
	at  time.Time
	pos int
}

// set makes the key due at a time; the zero time clears it.
func (t *timers[K]) set(key K, at time.Time) {
	item := t.index[key]
	switch {
	case item == nil && at.IsZero():
	case item == nil:
		if t.index == nil {
			t.index = map[K]*timerItem[K]{}
		}
		item = &timerItem[K]{key: key, at: at}
		t.index[key] = item
		heap.Push(&t.items, item)
	case at.IsZero():
		heap.Remove(&t.items, item.pos)
		delete(t.index, key)
	case !item.at.Equal(at):
		item.at = at
		heap.Fix(&t.items, item.pos)
	}
}

// next returns the earliest time, false if there is none.
func (t *timers[K]) next() (time.Time, bool) {
	if len(t.items) == 0 {
		return time.Time{}, false
	}
	return t.items[0].at, true
}

// take removes and returns the earliest key that is due.
func (t *timers[K]) take(now time.Time) (key K, ok bool) {
	if len(t.items) == 0 || t.items[0].at.After(now) {
		return key, false
	}
	item := heap.Pop(&t.items).(*timerItem[K])
	delete(t.index, item.key)
	return item.key, true
}

type timerHeap[K cmp.Ordered] []*timerItem[K]

func (h timerHeap[K]) Len() int { return len(h) }
func (h timerHeap[K]) Less(i, j int) bool {
	// Of one time the lesser key comes first, so that a replay is exact.
	return cmp.Or(h[i].at.Compare(h[j].at), cmp.Compare(h[i].key, h[j].key)) < 0
}
func (h timerHeap[K]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].pos, h[j].pos = i, j
}
func (h *timerHeap[K]) Push(x any) {
	item := x.(*timerItem[K])
	item.pos = len(*h)
	*h = append(*h, item)
}
func (h *timerHeap[K]) Pop() any {
	old := *h
	item := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return item
}

// alarm calls a function at the next of many times, with one timer.
type alarm struct {
	timer *time.Timer
	at    time.Time
	ring  func()
}

// setFor arms the alarm for a time, unless it is armed for that. It never rings at
// once: two timers in a bubble of testing/synctest that do can crash the race
// detector (golang/go#78156).
func (a *alarm) setFor(at time.Time, now time.Time) {
	wait := max(at.Sub(now), time.Nanosecond)
	if a.timer == nil {
		a.timer = time.AfterFunc(wait, a.ring)
	} else if !a.at.Equal(at) || !at.After(now) {
		a.timer.Reset(wait)
	}
	a.at = at
}

func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
	a.at = time.Time{}
}
