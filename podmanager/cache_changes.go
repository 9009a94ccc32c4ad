package podmanager

import (
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Changed has a value when there is something to take, and perhaps one too many.
// The channel is always the same one, is never closed, and serves one reader: a
// podruntime that has the Cache as its Objects is that reader.
func (c *Cache) Changed() <-chan struct{} { return c.changed }

// Take returns the registered pods of which an object changed, came or went
// since it was called last, sorted. An object that was asked for in vain counts
// once it can be answered for. What nobody took yet coalesces.
func (c *Cache) Take() []types.UID {
	c.mu.Lock()
	defer c.mu.Unlock()
	var uids []types.UID
	for e := range c.dirty {
		for u := e.users; u != nil; u = u.after {
			uids = append(uids, u.user.pod.UID)
		}
	}
	clear(c.dirty)
	slices.Sort(uids)
	return slices.Compact(uids)
}

// tell notes that the users of an object may want to look at it.
func (c *Cache) tell(e *cached) {
	if e.users == nil {
		return
	}
	c.dirty[e] = struct{}{}
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// take takes over what a source says of an object now; zero for one that does
// not exist.
func (c *Cache) take(e *cached, object Object) {
	news := e.failed || e.given && !e.object.Equal(object)
	e.known, e.given, e.object, e.at, e.failed, e.answer = true, true, object, time.Now(), false, e.answer+1
	if object.Immutable() {
		e.frozen = true
		c.leave(e)
	}
	if news {
		c.tell(e)
	}
}

// CacheStats are what a [Cache] holds.
type CacheStats struct {
	// Pods that are registered, objects that they refer to, and watches.
	Pods, Objects, Watches int
	// Err is what is wrong with watches now, joined; nil when they are well.
	Err error
}

// Stats returns what the cache holds.
func (c *Cache) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := CacheStats{Pods: len(c.pods), Objects: len(c.entries)}
	var errs []error
	for _, g := range c.groups {
		if g.live != nil {
			s.Watches++
			errs = append(errs, g.live.err)
		}
	}
	s.Err = errors.Join(errs...)
	return s
}
