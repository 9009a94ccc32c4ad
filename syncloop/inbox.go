package syncloop

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// inbox brings to the loop what comes back from elsewhere. Posting never blocks;
// what is in it is bounded by the work in flight, for each piece of work posts a
// few messages and the loop starts new work only after it took them.
type inbox struct {
	mu       sync.Mutex
	messages []func()
	// wake holds at most one time: somebody should look.
	wake chan time.Time
}

func newInbox() *inbox { return &inbox{wake: make(chan time.Time, 1)} }

// post has the loop call f.
func (b *inbox) post(f func()) {
	b.mu.Lock()
	first := len(b.messages) == 0
	b.messages = append(b.messages, f)
	b.mu.Unlock()
	if first { // for the others the loop was woken, and has not come yet
		b.ring()
	}
}

// ring wakes the loop.
func (b *inbox) ring() {
	select {
	case b.wake <- time.Now():
	default:
	}
}

// take returns what was posted since the last call, in order.
func (b *inbox) take() []func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.messages
	b.messages = nil
	return m
}

// dirtySet holds the pods that the runtime gave a hint about. It can't
// overflow: a pod is in it once.
type dirtySet struct {
	mu    sync.Mutex
	pods  map[types.UID]uint64
	order []types.UID
	wake  chan struct{}
}

func newDirtySet() *dirtySet {
	return &dirtySet{pods: map[types.UID]uint64{}, wake: make(chan struct{}, 1)}
}

// add puts a pod in, with the moment of the hint. It does not block.
func (d *dirtySet) add(uid types.UID, moment uint64) {
	d.mu.Lock()
	if _, in := d.pods[uid]; !in {
		d.order = append(d.order, uid)
	}
	d.pods[uid] = moment
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// next takes the next pod to tell the loop about. It stays in the set, so that
// further hints about it add nothing, until remove.
func (d *dirtySet) next() (types.UID, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.order) == 0 {
		return "", false
	}
	uid := d.order[0]
	d.order = d.order[1:]
	return uid, true
}

// remove takes a pod out and returns the moment of the newest hint about it.
func (d *dirtySet) remove(uid types.UID) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	moment := d.pods[uid]
	delete(d.pods, uid)
	return moment
}
