package probe

import "container/heap"

// dueHeap holds the probes that wait for their time, the earliest first.
type dueHeap []*entry

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].tracker.next.Before(h[j].tracker.next) }
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = int32(i), int32(j)
}

// Push is for package heap.
func (h *dueHeap) Push(x any) {
	e := x.(*entry)
	e.index = int32(len(*h))
	*h = append(*h, e)
}

// Pop is for package heap.
func (h *dueHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	e.index = notInHeap
	return e
}

const notInHeap = -1

// put sets the place of a probe by its time; one that waits for something else
// has none.
func (h *dueHeap) put(e *entry) {
	due := !e.tracker.Due().IsZero()
	switch {
	case due && e.index >= 0:
		heap.Fix(h, int(e.index))
	case due:
		heap.Push(h, e)
	default:
		h.remove(e)
	}
}

func (h *dueHeap) remove(e *entry) {
	if e.index >= 0 {
		heap.Remove(h, int(e.index))
	}
}
