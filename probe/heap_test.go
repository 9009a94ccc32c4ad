package probe

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Whatever is put in, moved and taken out, the earliest is always first.
func TestHeapKeepsTheEarliestFirst(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	epoch := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	h := dueHeap{epoch: epoch}
	in := map[*entry]bool{}
	var all []*entry
	for range 200 {
		all = append(all, &entry{index: notInHeap})
	}
	for range 3_000 {
		e := all[random.IntN(len(all))]
		if random.IntN(3) == 0 {
			h.remove(e)
			delete(in, e)
		} else {
			e.tracker.next = epoch.Add(time.Duration(random.IntN(1000)))
			h.put(e)
			in[e] = true
		}
		require.Len(t, h.slots, len(in))
		first := h.first()
		for e := range in {
			require.False(t, e.tracker.next.Before(first.tracker.next))
			require.Same(t, e, h.slots[e.index].e)
		}
		if len(in) == 0 {
			require.Nil(t, first)
		}
	}
}
