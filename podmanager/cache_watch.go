package podmanager

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The pauses before a watch that ended is begun again: the first where it had
// said something, and doubling to the last where it had not.
const (
	watchPause    = time.Second
	watchPauseMax = 30 * time.Second
)

// group is the objects that one watch follows: those of a namespace, or one.
type group struct {
	key     ObjectRef // without a name for a whole namespace
	entries map[string]*cached
	live    *watch // nil before Run, and while nobody reads
}

// watch is one watch, with all attempts at it.
type watch struct {
	group  *group
	cancel context.CancelFunc
	idle   *time.Timer
	read   time.Time     // when an object of it was read last
	first  chan struct{} // closed by the first list
	synced bool          // first is closed
	heard  bool          // this attempt has said something
	err    error
}

// groupKey names the group of an object; false if it can't be watched.
func (c *Cache) groupKey(ref ObjectRef) (ObjectRef, bool) {
	if c.cfg.Strategy != CacheWatch {
		return ObjectRef{}, false
	}
	switch c.source(ref.Kind).(type) {
	case NamespaceWatcher:
		return ObjectRef{Kind: ref.Kind, Namespace: ref.Namespace}, true
	case ObjectWatcher:
		return ref, true
	}
	return ObjectRef{}, false
}

func (c *Cache) source(kind ObjectKind) ObjectSource {
	if kind == KindSecret {
		return c.cfg.Secrets
	}
	return c.cfg.ConfigMaps
}

// join puts an object under a watch, if it can be watched.
func (c *Cache) join(e *cached) {
	key, ok := c.groupKey(e.ref)
	if !ok {
		return
	}
	g := c.groups[key]
	if g == nil {
		g = &group{key: key, entries: map[string]*cached{}}
		c.groups[key] = g
	}
	g.entries[e.ref.Name] = e
	c.watch(g)
}

// leave takes an object from under its watch, which ends with its last object.
func (c *Cache) leave(e *cached) {
	key, _ := c.groupKey(e.ref)
	g := c.groups[key]
	if g == nil || g.entries[e.ref.Name] != e {
		return
	}
	delete(g.entries, e.ref.Name)
	if len(g.entries) == 0 {
		c.unwatch(g)
		delete(c.groups, key)
	}
}

// watch has the group watched while the cache runs.
func (c *Cache) watch(g *group) *watch {
	if g.live != nil || c.ctx == nil {
		return g.live
	}
	ctx, cancel := context.WithCancel(c.ctx)
	w := &watch{group: g, cancel: cancel, read: time.Now(), first: make(chan struct{})}
	w.idle = time.AfterFunc(c.cfg.Idle, func() { c.unwatchIdle(w) })
	g.live = w
	before, ended := c.ending[g.key], make(chan struct{})
	c.ending[g.key] = ended
	c.watches.Go(func() {
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.ending[g.key] == ended {
				delete(c.ending, g.key)
			}
			close(ended)
		}()
		if before != nil {
			<-before
		}
		c.follow(ctx, w)
	})
	return w
}

// unwatch ends the watch of a group. What is known of objects that may change
// is not known any more, and only kept to tell whether it did.
func (c *Cache) unwatch(g *group) {
	w := g.live
	if w == nil {
		return
	}
	g.live = nil
	w.cancel()
	w.idle.Stop()
	for _, e := range g.entries {
		e.known, e.answer = false, e.answer+1
	}
}

// unwatchIdle ends a watch that nobody read from, until somebody does. One that
// has not said anything yet goes on: somebody waits for it, or will.
func (c *Cache) unwatchIdle(w *watch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.group.live != w {
		return
	}
	idle := time.Since(w.read)
	if idle >= c.cfg.Idle && w.synced {
		c.unwatch(w.group)
		return
	}
	w.idle.Reset(max(c.cfg.Idle-idle, time.Second))
}

// follow watches until the context ends.
func (c *Cache) follow(ctx context.Context, w *watch) {
	timer := time.NewTimer(watchPause)
	defer timer.Stop()
	for pause := watchPause; ctx.Err() == nil; {
		err := c.attempt(ctx, w)
		if ctx.Err() != nil {
			return
		}
		if c.attempted(w, err) {
			pause = watchPause
		}
		timer.Reset(pause)
		pause = min(2*pause, watchPauseMax)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
	}
}

func (c *Cache) attempt(ctx context.Context, w *watch) error {
	key := w.group.key
	deliver := func(r ObjectReport) { c.deliver(w, r) }
	source := c.source(key.Kind)
	if key.Name == "" {
		return source.(NamespaceWatcher).WatchNamespace(ctx, key.Namespace, deliver)
	}
	return source.(ObjectWatcher).WatchObject(ctx, key.Namespace, key.Name, deliver)
}

var errWatchSilent = errors.New("the watch ended without a word")

// attempted notes how an attempt at a watch ended, and tells whether it had said
// something.
func (c *Cache) attempted(w *watch, err error) (heard bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	heard, w.heard = w.heard, false
	if err == nil && !heard {
		err = errWatchSilent
	}
	c.note(w, err)
	return heard
}

// note keeps how a watch does.
func (c *Cache) note(w *watch, err error) {
	if err != nil {
		if w.err == nil {
			c.log.Warn("watch failed; what is known of its objects stays", "objects", w.group.key.String(), "error", err)
		}
		err = fmt.Errorf("watch %s: %w", w.group.key, err)
	}
	w.err = err
}

// deliver takes one word of a watch.
func (c *Cache) deliver(w *watch, r ObjectReport) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := w.group
	if g.live != w {
		return
	}
	c.note(w, r.Err)
	switch r.Op {
	case OpSet:
		w.heard = true
		c.takeList(g, r.Objects)
		if !w.synced {
			w.synced = true
			close(w.first)
		}
	case OpAdd, OpUpdate:
		w.heard = true
		for _, object := range r.Objects {
			if e := c.inGroup(g, object); e != nil && !(e.known && object.olderThan(e.object)) {
				c.take(e, object)
			}
		}
	case OpRemove:
		w.heard = true
		for _, object := range r.Objects {
			if e := c.inGroup(g, object); e != nil {
				c.take(e, Object{})
			}
		}
	}
}

// takeList takes all objects of a group. What a source says that nobody refers
// to is passed over.
func (c *Cache) takeList(g *group, objects []Object) {
	listed := make(map[string]Object, len(g.entries))
	for _, object := range objects {
		if c.inGroup(g, object) != nil {
			listed[object.Ref().Name] = object
		}
	}
	for name, e := range g.entries {
		c.take(e, listed[name])
	}
}

func (c *Cache) inGroup(g *group, object Object) *cached {
	e := g.entries[object.Ref().Name]
	if e == nil || e.ref != object.Ref() {
		return nil
	}
	return e
}
