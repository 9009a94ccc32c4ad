package resize

import (
	"cmp"
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
)

// Pending is a resize that is wanted, with what its place in the queue depends
// on.
type Pending struct {
	UID types.UID
	// Grows is that of [Grows]; those that don't go first.
	Grows bool
	// Priority of the pod; the higher go first.
	Priority int32
	// Guaranteed pods go before others.
	Guaranteed bool
	// Since is when the pod was first told that its resize has to wait; the
	// older go first. Zero, for one that was not told yet, is the newest.
	Since time.Time

	order uint64 // of its coming, from 1
}

// PendingOf is the wish of a pod whose spec asks for something else than it was
// granted.
func PendingOf(allocated, desired *v1.Pod, since time.Time) Pending {
	desired = cmp.Or(desired, nobody)
	p := Pending{
		UID: desired.UID, Grows: Grows(allocated, desired), Since: since,
		Guaranteed: admission.QOS(desired) == v1.PodQOSGuaranteed,
	}
	if desired.Spec.Priority != nil {
		p.Priority = *desired.Spec.Priority
	}
	return p
}

// Compare is negative if p goes before q. Those that are equal go in the order in
// which they came, where the kubelet's order of them changes each time.
func (p Pending) Compare(q Pending) int {
	switch {
	case p.Grows != q.Grows:
		return first(!p.Grows)
	case p.Priority != q.Priority:
		return cmp.Compare(q.Priority, p.Priority)
	case p.Guaranteed != q.Guaranteed:
		return first(p.Guaranteed)
	case p.Since.IsZero() != q.Since.IsZero():
		return first(!p.Since.IsZero())
	}
	return p.Since.Compare(q.Since)
}

func first(yes bool) int {
	if yes {
		return -1
	}
	return 1
}

// Queue holds the resizes that are wanted and not granted. Those that are to be
// tried come out in order; one that was deferred comes again only once as much of
// what it lacked became free as was missing. That can't keep one back that would
// fit: whatever others took meanwhile, at least so much must have been freed.
//
// The zero value is an empty queue. It belongs to one goroutine.
type Queue struct {
	items map[types.UID]*item
	// ready are to be tried, in order; blocked wait for a resource, the one
	// with the least to wait for first. Those under "" wait for anything.
	ready   []*item
	blocked map[v1.ResourceName]*blockade
	arrived uint64
}

// item is one resize in the queue.
type item struct {
	Pending
	// on is what it waits for until freed has reached due; meaningless while
	// it is ready.
	isReady bool
	on      v1.ResourceName
	due     int64
}

// blockade are those that wait for one resource, of which so much was freed since
// the first of them came.
type blockade struct {
	freed int64
	items []*item
}

// Len is the number of resizes in the queue.
func (q *Queue) Len() int { return len(q.items) }

// Ready tells whether any of them is to be tried.
func (q *Queue) Ready() bool { return len(q.ready) > 0 }

// Push has a resize tried: a new one, or one whose pod asks for something else
// now, which takes the place of the old one.
func (q *Queue) Push(p Pending) {
	q.makeReady(q.renew(p))
}

// Remove drops the resize of a pod, if there is one.
func (q *Queue) Remove(uid types.UID) { q.take(uid) }

// Next takes out the first resize that is to be tried. One that is deferred is
// given back with [Queue.Block].
func (q *Queue) Next() (Pending, bool) {
	if len(q.ready) == 0 {
		return Pending{}, false
	}
	it := q.ready[0]
	q.take(it.UID)
	return it.Pending, true
}

// Block puts a resize into the queue that was tried and deferred, and that waits
// for what the node is short of: in vain it is tried before that much of the
// first became free. One without a shortage waits for anything to become free.
func (q *Queue) Block(p Pending, short []admission.Shortage) {
	it := q.renew(p)
	var missing int64
	if len(short) > 0 {
		it.on, missing = short[0].Resource, max(short[0].Missing(), 1)
	}
	if q.blocked == nil {
		q.blocked = make(map[v1.ResourceName]*blockade)
	}
	b := q.blocked[it.on]
	if b == nil {
		b = &blockade{}
		q.blocked[it.on] = b
	}
	it.due = plus(b.freed, missing)
	q.keep(it)
	insert(&b.items, it, byDue)
}

// Freed says that a pod gave so much back, or the node got so much more. What
// may fit now is to be tried.
func (q *Queue) Freed(r admission.Requests) {
	if len(q.blocked) == 0 {
		return
	}
	for name := range q.blocked {
		if amount := r.Of(name); name == "" || amount > 0 {
			q.free(name, amount)
		}
	}
}

func (q *Queue) free(name v1.ResourceName, amount int64) {
	b := q.blocked[name]
	b.freed = plus(b.freed, amount)
	n := 0
	for n < len(b.items) && (name == "" || b.items[n].due <= b.freed) {
		n++
	}
	woken := slices.Clone(b.items[:n])
	for _, it := range woken {
		q.take(it.UID)
		q.makeReady(it)
	}
}

// WakeAll has all of them tried: some time passed, or the node is another one.
func (q *Queue) WakeAll() {
	for _, b := range q.blocked {
		for _, it := range slices.Clone(b.items) {
			q.take(it.UID)
			q.makeReady(it)
		}
	}
}

// renew is an item for the wish, in the place of one that is in the queue.
func (q *Queue) renew(p Pending) *item {
	if old := q.take(p.UID); old != nil {
		p.order = old.order
	}
	if p.order == 0 {
		q.arrived++
		p.order = q.arrived
	}
	return &item{Pending: p}
}

func (q *Queue) keep(it *item) {
	if q.items == nil {
		q.items = make(map[types.UID]*item)
	}
	q.items[it.UID] = it
}

func (q *Queue) makeReady(it *item) {
	it.isReady = true
	q.keep(it)
	insert(&q.ready, it, byTurn)
}

// take takes an item out, wherever it is.
func (q *Queue) take(uid types.UID) *item {
	it := q.items[uid]
	if it == nil {
		return nil
	}
	delete(q.items, uid)
	if it.isReady {
		remove(&q.ready, it, byTurn)
		return it
	}
	b := q.blocked[it.on]
	remove(&b.items, it, byDue)
	if len(b.items) == 0 {
		delete(q.blocked, it.on)
	}
	return it
}

func byTurn(a, b *item) int { return cmp.Or(a.Compare(b.Pending), cmp.Compare(a.order, b.order)) }

func byDue(a, b *item) int { return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.order, b.order)) }

func insert(list *[]*item, it *item, order func(a, b *item) int) {
	at, _ := slices.BinarySearchFunc(*list, it, order)
	*list = slices.Insert(*list, at, it)
}

func remove(list *[]*item, it *item, order func(a, b *item) int) {
	if at, found := slices.BinarySearchFunc(*list, it, order); found {
		*list = slices.Delete(*list, at, at+1)
	}
}

// plus adds two amounts that are not negative; the sum is at most the largest.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
