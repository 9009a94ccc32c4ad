package probe

import "time"

// dueHeap holds the probes that wait for their time, the earliest first. The times
// stand beside the probes, for most of what a heap does is to compare them; they
// count from the manager's epoch.
type dueHeap struct {
	epoch time.Time
	slots []slot
}

type slot struct {
	at time.Duration
	e  *entry
}

const (
	notInHeap = -1
	// arity makes for a flat heap, whose brothers lie in one cache line.
	arity = 4
)

// first is the earliest; nil if there is none.
func (h *dueHeap) first() *entry {
	if len(h.slots) == 0 {
		return nil
	}
	return h.slots[0].e
}

// put sets the place of a probe by its time; one that waits for something else
// has none.
func (h *dueHeap) put(e *entry) {
	due := e.tracker.Due()
	if due.IsZero() {
		h.remove(e)
		return
	}
	s := slot{at: due.Sub(h.epoch), e: e}
	i := int(e.index)
	if i < 0 {
		i = len(h.slots)
		h.slots = append(h.slots, s)
	}
	h.settle(i, s)
}

// remove takes a probe out, if it is in.
func (h *dueHeap) remove(e *entry) {
	i := int(e.index)
	if i < 0 {
		return
	}
	e.index = notInHeap
	end := len(h.slots) - 1
	last := h.slots[end]
	h.slots[end] = slot{}
	h.slots = h.slots[:end]
	if i < end {
		h.settle(i, last)
	}
}

// settle puts s where it belongs, beginning with the place i, which is free.
func (h *dueHeap) settle(i int, s slot) {
	for i > 0 && s.at < h.slots[(i-1)/arity].at {
		i = h.move((i-1)/arity, i)
	}
	for child := h.earliestChild(i); child > 0 && h.slots[child].at < s.at; child = h.earliestChild(i) {
		i = h.move(child, i)
	}
	h.slots[i] = s
	s.e.index = int32(i)
}

// earliestChild is the earliest below i; 0 if there is none.
func (h *dueHeap) earliestChild(i int) int {
	first := arity*i + 1
	if first >= len(h.slots) {
		return 0
	}
	earliest := first
	for child := first + 1; child < min(first+arity, len(h.slots)); child++ {
		if h.slots[child].at < h.slots[earliest].at {
			earliest = child
		}
	}
	return earliest
}

// move moves a slot and returns where it was.
func (h *dueHeap) move(from, to int) int {
	h.slots[to] = h.slots[from]
	h.slots[to].e.index = int32(to)
	return from
}
