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

const notInHeap = -1

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
	for i > 0 && s.at < h.slots[(i-1)/2].at {
		i = h.move((i-1)/2, i)
	}
	for child := 2*i + 1; child < len(h.slots); child = 2*i + 1 {
		if child+1 < len(h.slots) && h.slots[child+1].at < h.slots[child].at {
			child++
		}
		if s.at <= h.slots[child].at {
			break
		}
		i = h.move(child, i)
	}
	h.slots[i] = s
	s.e.index = int32(i)
}

// move moves a slot and returns where it was.
func (h *dueHeap) move(from, to int) int {
	h.slots[to] = h.slots[from]
	h.slots[to].e.index = int32(to)
	return from
}
