package resize_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/admission/resize"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func drain(q *resize.Queue) (uids []types.UID) {
	for p, ok := q.Next(); ok; p, ok = q.Next() {
		uids = append(uids, p.UID)
	}
	return uids
}

func TestQueueOrder(t *testing.T) {
	t.Parallel()
	var q resize.Queue
	for _, p := range []resize.Pending{
		{UID: "untold", Grows: true},
		{UID: "young", Grows: true, Since: noon.Add(time.Second)},
		{UID: "old", Grows: true, Since: noon},
		{UID: "guaranteed", Grows: true, Guaranteed: true},
		{UID: "important", Grows: true, Priority: 5},
		{UID: "shrinks-1"},
		{UID: "shrinks-2"},
	} {
		q.Push(p)
	}
	require.Equal(t, 7, q.Len())
	require.Equal(t, []types.UID{"shrinks-1", "shrinks-2", "important", "guaranteed", "old", "young", "untold"}, drain(&q))
	require.Zero(t, q.Len())
}

// Two that shrink were each before the other upstream, so that they changed places
// with each push.
func TestQueueKeepsTheOrderOfEquals(t *testing.T) {
	t.Parallel()
	var q resize.Queue
	q.Push(resize.Pending{UID: "a"})
	q.Push(resize.Pending{UID: "b"})
	for range 3 {
		a, _ := q.Next()
		require.Equal(t, types.UID("a"), a.UID)
		q.Block(a, nil)
		q.Push(resize.Pending{UID: "b"}) // again: it keeps its place
		q.WakeAll()
	}
	require.Equal(t, []types.UID{"a", "b"}, drain(&q))
}

func TestQueueTriesWhatBecamePossible(t *testing.T) {
	t.Parallel()
	short := func(name v1.ResourceName, missing int64) []admission.Shortage {
		return []admission.Shortage{{Resource: name, Requested: missing}}
	}
	var q resize.Queue
	q.Block(resize.Pending{UID: "cpu-300"}, short(v1.ResourceCPU, 300))
	q.Block(resize.Pending{UID: "cpu-100"}, short(v1.ResourceCPU, 100))
	q.Block(resize.Pending{UID: "memory"}, short(v1.ResourceMemory, 1))
	q.Block(resize.Pending{UID: "taint"}, nil)
	require.Empty(t, drain(&q))

	q.Freed(admission.Requests{MilliCPU: 99})
	require.Equal(t, []types.UID{"taint"}, drain(&q), "what waits for no resource is tried each time")
	q.Freed(admission.Requests{MilliCPU: 1})
	require.Equal(t, []types.UID{"cpu-100"}, drain(&q))
	q.Freed(admission.Requests{MilliCPU: 200})
	require.Equal(t, []types.UID{"cpu-300"}, drain(&q), "what becomes free adds up")
	q.WakeAll()
	require.Equal(t, []types.UID{"memory"}, drain(&q))

	q.Block(resize.Pending{UID: "gone"}, short(v1.ResourceCPU, 1))
	q.Remove("gone")
	q.Remove("never there")
	q.Freed(admission.Requests{MilliCPU: 1})
	require.Empty(t, drain(&q))
	require.Zero(t, q.Len())
}

// FuzzCompare: the order is a strict weak one, whatever the data.
func FuzzCompare(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	f.Fuzz(func(t *testing.T, data []byte) {
		var all []resize.Pending
		for ; len(data) >= 3 && len(all) < 12; data = data[3:] {
			p := resize.Pending{Grows: data[0]&1 != 0, Guaranteed: data[0]&2 != 0, Priority: int32(int8(data[1]))}
			if data[0]&4 != 0 {
				p.Since = noon.Add(time.Duration(data[2]) * time.Second)
			}
			all = append(all, p)
		}
		for _, a := range all {
			require.Zero(t, a.Compare(a))
			for _, b := range all {
				require.Equal(t, a.Compare(b), -b.Compare(a))
				for _, c := range all {
					if a.Compare(b) < 0 && b.Compare(c) < 0 {
						require.Negative(t, a.Compare(c))
					}
					if a.Compare(b) == 0 && b.Compare(c) == 0 {
						require.Zero(t, a.Compare(c))
					}
				}
			}
		}
	})
}

// modelPod is one pod of the plain model: what it has and what it asks for, of
// two resources.
type modelPod struct {
	has, wants [2]int64
	priority   int32
	order      int
}

// model grants by looking at everything: the first in the order that fits, again
// and again until none does.
type model struct {
	capacity [2]int64
	pods     map[types.UID]*modelPod
}

func (m *model) fits(p *modelPod) (short []admission.Shortage) {
	for i, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		used := -p.has[i]
		for _, other := range m.pods {
			used += other.has[i]
		}
		if p.wants[i] > 0 && p.wants[i] > m.capacity[i]-used {
			short = append(short, admission.Shortage{Resource: name, Requested: p.wants[i], Used: used, Capacity: m.capacity[i]})
		}
	}
	return short
}

func (p *modelPod) pending(uid types.UID) resize.Pending {
	return resize.Pending{UID: uid, Grows: p.wants[0] > p.has[0] || p.wants[1] > p.has[1], Priority: p.priority}
}

func (m *model) settle() {
	for {
		var best types.UID
		for uid, p := range m.pods {
			if p.has == p.wants || m.fits(p) != nil {
				continue
			}
			if best == "" {
				best = uid
				continue
			}
			b := m.pods[best]
			if c := p.pending(uid).Compare(b.pending(best)); c < 0 || c == 0 && p.order < b.order {
				best = uid
			}
		}
		if best == "" {
			return
		}
		m.pods[best].has = m.pods[best].wants
	}
}

// FuzzQueue: a queue that tries only what may have become possible grants the same
// as one that tries everything each time.
func FuzzQueue(f *testing.F) {
	f.Add([]byte{0, 5, 5, 1, 6, 6, 2, 9, 9, 10, 1, 1, 3, 2, 2, 11, 0, 0, 12, 9, 9})
	f.Add([]byte{0, 9, 1, 1, 1, 9, 0, 1, 9, 1, 9, 1, 8, 0, 0, 9, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		plain := model{capacity: [2]int64{20, 20}, pods: map[types.UID]*modelPod{}}
		real := model{capacity: plain.capacity, pods: map[types.UID]*modelPod{}}
		var q resize.Queue
		try := func() {
			for p, ok := q.Next(); ok; p, ok = q.Next() {
				pod := real.pods[p.UID]
				if short := real.fits(pod); short != nil {
					q.Block(p, short)
					continue
				}
				freed := admission.Requests{MilliCPU: pod.has[0] - pod.wants[0], Memory: pod.has[1] - pod.wants[1]}
				pod.has = pod.wants
				q.Freed(freed)
			}
		}
		for n := 0; len(data) >= 3 && n < 200; data, n = data[3:], n+1 {
			uid := types.UID(fmt.Sprint(data[0] % 8))
			want := [2]int64{int64(data[1] % 16), int64(data[2] % 16)}
			switch op := data[0] / 8 % 8; {
			case op == 6: // it is gone
				if p := real.pods[uid]; p != nil {
					delete(real.pods, uid)
					delete(plain.pods, uid)
					q.Remove(uid)
					q.Freed(admission.Requests{MilliCPU: p.has[0], Memory: p.has[1]})
				}
			case op == 7: // the node is another one
				plain.capacity = [2]int64{want[0] * 4, want[1] * 4}
				real.capacity = plain.capacity
				q.WakeAll()
			case real.pods[uid] == nil: // it comes with little
				real.pods[uid] = &modelPod{has: [2]int64{1, 1}, wants: [2]int64{1, 1}, priority: int32(op) / 3, order: n}
				plain.pods[uid] = &modelPod{has: [2]int64{1, 1}, wants: [2]int64{1, 1}, priority: int32(op) / 3, order: n}
			default:
				p := real.pods[uid]
				if p.wants == p.has {
					p.order, plain.pods[uid].order = n, n
				}
				p.wants, plain.pods[uid].wants = want, want
				if p.wants == p.has {
					q.Remove(uid)
				} else {
					q.Push(p.pending(uid))
				}
			}
			try()
			plain.settle()
			for uid, p := range plain.pods {
				require.Equal(t, p.has, real.pods[uid].has, "pod %s after step %d", uid, n)
			}
			waiting := slices.Collect(func(yield func(types.UID) bool) {
				for uid, p := range real.pods {
					if p.has != p.wants && !yield(uid) {
						return
					}
				}
			})
			require.Len(t, waiting, q.Len())
		}
	})
}
