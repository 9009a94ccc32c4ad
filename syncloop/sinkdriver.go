package syncloop

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// sinkDriver brings statuses to the sink: for each pod the newest, one at a
// time; several pods at a time. Its goroutines live while there is something to
// send. A pod whose status was refused is tried again with back-off, without
// holding up others.
type sinkDriver struct {
	sink  StatusSink
	limit int
	log   *slog.Logger
	hook  func(runtime.PodRef, uint64, time.Duration, error)

	mu      sync.Mutex
	ctx     context.Context // nil before start and after stop
	entries map[types.UID]*sinkEntry
	queue   []types.UID
	writers int
	group   sync.WaitGroup
	spawn   spawnFunc
	retries timers[types.UID]
	alarm   alarm
	idle    []chan struct{}
}

// sinkEntry is a pod of which something is to be sent.
type sinkEntry struct {
	ref      runtime.PodRef
	newest   StatusUpdate
	made     time.Time
	since    time.Time // something is to be sent
	serial   uint64    // grows with each offer
	err      error     // of the last call, nil if it succeeded
	sending  bool
	queued   bool
	failures int
	// gone: the loop knows the pod no more. What is left is tried once.
	gone bool
}

const (
	sinkBackoff    = time.Second
	sinkBackoffMax = 30 * time.Second
)

func newSinkDriver(cfg Config) *sinkDriver {
	d := &sinkDriver{
		sink: cfg.Sink, limit: cfg.SinkWriters, log: cfg.Logger, hook: cfg.Hooks.StatusSent, spawn: cfg.spawn,
		entries: map[types.UID]*sinkEntry{},
	}
	d.alarm.ring = d.retry
	return d
}

func (d *sinkDriver) start(ctx context.Context) {
	d.mu.Lock()
	d.ctx = ctx
	d.mu.Unlock()
}

// stop waits for the calls in flight, whose context has ended.
func (d *sinkDriver) stop() {
	d.mu.Lock()
	d.ctx = nil
	d.alarm.stop()
	d.mu.Unlock()
	d.group.Wait()
}

// offer makes an update the pod's newest.
func (d *sinkDriver) offer(ref runtime.PodRef, u StatusUpdate) {
	if d.sink == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.entries[ref.UID]
	if e == nil {
		e = &sinkEntry{ref: ref, since: time.Now()}
		d.entries[ref.UID] = e
	}
	if e.newest.Version > u.Version {
		return
	}
	e.newest, e.made, e.gone = u, time.Now(), false
	e.serial++
	if e.failures == 0 {
		d.enqueue(e)
	}
}

// forget says that the loop knows the pod no more.
func (d *sinkDriver) forget(uid types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.entries[uid]
	if e == nil {
		return
	}
	e.gone = true
	if e.failures > 0 && !e.queued && !e.sending {
		d.drop(e)
	}
}

// enqueue, drop and send expect the lock to be held.
func (d *sinkDriver) enqueue(e *sinkEntry) {
	if e.queued || e.sending || d.ctx == nil {
		return
	}
	e.queued = true
	d.queue = append(d.queue, e.ref.UID)
	if d.writers < d.limit {
		d.writers++
		ctx := d.ctx
		d.spawn(&d.group, "sink", func() { d.write(ctx) })
	}
}

func (d *sinkDriver) drop(e *sinkEntry) {
	delete(d.entries, e.ref.UID)
	d.retries.set(e.ref.UID, time.Time{})
	if len(d.entries) == 0 {
		for _, c := range d.idle {
			close(c)
		}
		d.idle = nil
	}
}

// write sends until nothing is left to send.
func (d *sinkDriver) write(ctx context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.queue) > 0 && ctx.Err() == nil {
		e := d.entries[d.queue[0]]
		d.queue = d.queue[1:]
		e.queued, e.sending = false, true
		update, made, serial := e.newest, e.made, e.serial
		d.mu.Unlock()
		err := d.sink.SetStatus(ctx, update)
		if d.hook != nil {
			d.hook(e.ref, update.Version, time.Since(made), err)
		}
		d.mu.Lock()
		e.sending = false
		d.sent(e, serial, err)
	}
	d.writers--
}

// sent follows a call of the sink.
func (d *sinkDriver) sent(e *sinkEntry, serial uint64, err error) {
	e.err = err
	switch {
	case err != nil && e.gone:
		d.drop(e)
	case err != nil:
		wait := min(sinkBackoff<<min(e.failures, 10), sinkBackoffMax)
		e.failures++
		if d.ctx == nil {
			return
		}
		now := time.Now()
		d.retries.set(e.ref.UID, now.Add(wait))
		d.arm(now)
		d.log.Warn("the sink refused a status, it is tried again", "pod", e.ref.String(), "in", wait, "err", err)
	case e.serial == serial:
		d.drop(e)
	default:
		e.failures, e.since = 0, e.made
		d.enqueue(e)
	}
}

func (d *sinkDriver) arm(now time.Time) {
	if at, ok := d.retries.next(); ok {
		d.alarm.setFor(at, now)
	}
}

// retry sends again what is due.
func (d *sinkDriver) retry() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ctx == nil {
		return
	}
	now := time.Now()
	for {
		uid, ok := d.retries.take(now)
		if !ok {
			break
		}
		if e := d.entries[uid]; e != nil {
			d.enqueue(e)
		}
	}
	d.arm(now)
}

// settled returns a channel that is closed once nothing is left to send.
func (d *sinkDriver) settled() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := make(chan struct{})
	if len(d.entries) == 0 {
		close(c)
	} else {
		d.idle = append(d.idle, c)
	}
	return c
}
