package syncloop

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// storeDriver writes behind: it commits what changed since the last commit as
// one batch, and then lets go the statuses that waited for it. Its goroutine
// lives while there is something to write.
type storeDriver struct {
	store Store
	sink  *sinkDriver
	log   *slog.Logger
	hook  func(int, time.Duration, error)

	mu      sync.Mutex
	ctx     context.Context // nil before start and after stop
	changes map[types.UID]*storeChange
	// flying is the batch that is being committed.
	flying  map[types.UID]*storeChange
	writing bool
	failed  int
	timer   *time.Timer
	idle    []chan struct{}
	group   sync.WaitGroup
	spawn   spawnFunc
	// trouble is how the commits have fared.
	trouble trouble
}

// storeChange is what is to be written of a pod, and what waits for that.
type storeChange struct {
	// touched: record is to be written, or deleted if it is nil. Otherwise
	// there is only an update, which waits for a commit in flight.
	touched bool
	record  *Record
	ref     runtime.PodRef
	update  *StatusUpdate
	// gone: the loop knows the pod no more.
	gone bool
}

func newStoreDriver(cfg Config, sink *sinkDriver) *storeDriver {
	return &storeDriver{
		store: cfg.Store, sink: sink, log: cfg.Logger, hook: cfg.Hooks.StoreCommitted, spawn: cfg.spawn,
		changes: map[types.UID]*storeChange{},
	}
}

func (d *storeDriver) start(ctx context.Context) {
	d.mu.Lock()
	d.ctx = ctx
	d.mu.Unlock()
}

const (
	storeBackoff    = time.Second
	storeBackoffMax = 5 * time.Second
)

// lastCommit is how long the last commit of a run may take.
const lastCommit = 5 * time.Second

// stop commits what is left, once, although the context has ended.
func (d *storeDriver) stop() {
	d.mu.Lock()
	ctx := d.ctx
	d.ctx = nil
	if d.timer != nil {
		d.timer.Stop()
	}
	d.mu.Unlock()
	d.group.Wait()
	if ctx == nil || d.store == nil {
		return
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastCommit)
	defer cancel()
	if batch := d.take(); len(batch) > 0 {
		_ = d.commit(last, batch)
	}
}

func (d *storeDriver) save(r Record) {
	d.change(r.UID, func(c *storeChange) { c.touched, c.record, c.gone = true, &r, false })
}

func (d *storeDriver) remove(uid types.UID) {
	if d.store != nil {
		d.change(uid, func(c *storeChange) { c.touched, c.record = true, nil })
	}
}

// hold keeps an update until what is to be written of the pod was written, or
// could not be, and then offers it to the sink. An update that need not wait is
// kept only if an older one is: then the newest goes. It tells whether it keeps
// the update.
func (d *storeDriver) hold(ref runtime.PodRef, u StatusUpdate, must bool) bool {
	if !must && !d.holds(ref.UID) {
		return false
	}
	d.change(ref.UID, func(c *storeChange) { c.ref, c.update = ref, &u })
	return true
}

func (d *storeDriver) holds(uid types.UID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	waits := func(c *storeChange) bool { return c != nil && c.update != nil }
	return waits(d.changes[uid]) || waits(d.flying[uid])
}

// forget has a pod removed that the loop knows no more.
func (d *storeDriver) forget(uid types.UID) {
	if d.store != nil {
		d.change(uid, func(c *storeChange) { c.touched, c.record, c.gone = true, nil, true })
	}
}

func (d *storeDriver) change(uid types.UID, set func(*storeChange)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.changes[uid]
	if c == nil {
		c = &storeChange{}
		d.changes[uid] = c
	}
	set(c)
	if d.failed == 0 {
		d.run()
	}
}

// run starts the writer unless it is at work. The lock is held.
func (d *storeDriver) run() {
	if d.writing || d.ctx == nil || len(d.changes) == 0 {
		return
	}
	d.writing = true
	ctx := d.ctx
	d.spawn(&d.group, "store", func() { d.work(ctx) })
}

func (d *storeDriver) work(ctx context.Context) {
	for {
		batch := d.take()
		var err error
		if len(batch) > 0 {
			err = d.commit(ctx, batch)
		}
		d.mu.Lock()
		if err != nil {
			d.putBack(batch)
			d.failed++
			if d.ctx != nil {
				d.timer = time.AfterFunc(min(storeBackoff<<min(d.failed-1, 10), storeBackoffMax), d.retry)
			}
		} else {
			d.failed = 0
		}
		if err != nil || len(d.changes) == 0 || ctx.Err() != nil {
			d.writing = false
			d.tellIdle()
			d.mu.Unlock()
			return
		}
		d.mu.Unlock()
	}
}

func (d *storeDriver) retry() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.run()
}

func (d *storeDriver) take() map[types.UID]*storeChange {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.flying = d.changes
	d.changes = map[types.UID]*storeChange{}
	return d.flying
}

// letGo offers the sink what waited for the batch.
func (d *storeDriver) letGo(uids []types.UID) {
	for _, uid := range uids {
		d.mu.Lock()
		c := d.flying[uid]
		update, gone := c.update, c.gone && d.changes[uid] == nil
		c.update = nil
		if update != nil {
			// Under the lock, so that nothing newer gets there before it.
			d.sink.offer(c.ref, *update)
		}
		d.mu.Unlock()
		if gone {
			d.sink.forget(uid)
		}
	}
}

// putBack keeps what could not be written, unless something newer came. What
// waited for it was let go before. The lock is held.
func (d *storeDriver) putBack(batch map[types.UID]*storeChange) {
	for uid, c := range batch {
		switch newer := d.changes[uid]; {
		case newer == nil:
			d.changes[uid] = c
		case !newer.touched:
			newer.touched, newer.record, newer.gone = c.touched, c.record, c.gone
		}
	}
}

// commit writes a batch in order of UID, and lets go what waited for it.
func (d *storeDriver) commit(ctx context.Context, changes map[types.UID]*storeChange) error {
	var b Batch
	uids := slices.Sorted(maps.Keys(changes))
	for _, uid := range uids {
		switch c := changes[uid]; {
		case c.touched && c.record != nil:
			b.Save = append(b.Save, *c.record)
		case c.touched:
			b.Delete = append(b.Delete, uid)
		}
	}
	var err error
	if len(b.Save)+len(b.Delete) > 0 {
		err = d.write(ctx, b)
	}
	d.letGo(uids)
	return err
}

func (d *storeDriver) write(ctx context.Context, b Batch) error {
	records := len(b.Save) + len(b.Delete)
	began := time.Now()
	err := d.store.Commit(ctx, b)
	if err != nil {
		err = fmt.Errorf("commit %s to the store: %w", count(records, "record", "records"), err)
		d.log.Error("what is remembered of pods was not written, it is tried again", "err", err)
	}
	d.trouble.note(err, time.Now())
	if d.hook != nil {
		d.hook(records, time.Since(began), err)
	}
	return err
}

// settled returns a channel that is closed once nothing is left to write.
func (d *storeDriver) settled() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := make(chan struct{})
	d.idle = append(d.idle, c)
	d.tellIdle()
	return c
}

func (d *storeDriver) tellIdle() {
	if len(d.changes) > 0 || d.writing {
		return
	}
	for _, c := range d.idle {
		close(c)
	}
	d.idle = nil
}
