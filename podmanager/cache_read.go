package podmanager

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ConfigMap reads a ConfigMap that a registered pod refers to. One that does not
// exist is an error for which [apierrors.IsNotFound] is true. The ConfigMap is
// read-only.
func (c *Cache) ConfigMap(ctx context.Context, namespace, name string) (*v1.ConfigMap, error) {
	object, err := c.read(ctx, ObjectRef{KindConfigMap, namespace, name})
	return object.ConfigMap(), err
}

// Secret is ConfigMap for Secrets. What it returns must not be printed.
func (c *Cache) Secret(ctx context.Context, namespace, name string) (*v1.Secret, error) {
	object, err := c.read(ctx, ObjectRef{KindSecret, namespace, name})
	return object.Secret(), err
}

// fetch is a read of a source that several may wait for.
type fetch struct {
	done   chan struct{}
	object Object
	err    error
}

// read reads an object from where it is known, or waits for it.
func (c *Cache) read(ctx context.Context, ref ObjectRef) (Object, error) {
	deadline := time.Now().Add(c.cfg.Wait)
	for {
		c.mu.Lock()
		e, source := c.entries[ref], c.source(ref.Kind)
		if e == nil || source == nil {
			c.mu.Unlock()
			return Object{}, refuse(ref, e != nil)
		}
		first := c.awaited(e)
		switch {
		case first != nil:
			c.mu.Unlock()
			if err := wait(ctx, first, time.Until(deadline)); err != nil {
				return Object{}, c.unsynced(e, err)
			}
		case c.fresh(e):
			object := e.object
			c.mu.Unlock()
			return existing(ref, object)
		case c.ctx == nil || c.cfg.Strategy == CacheGet:
			c.mu.Unlock()
			object, err := source.Get(ctx, ref.Namespace, ref.Name)
			c.gave(e, object, err)
			return object, err
		case e.fetch == nil:
			f := &fetch{done: make(chan struct{})}
			e.fetch = f
			answer := e.answer
			c.mu.Unlock()
			f.object, f.err = source.Get(ctx, ref.Namespace, ref.Name)
			return c.fetched(e, f, answer)
		default:
			f := e.fetch
			c.mu.Unlock()
			select {
			case <-ctx.Done():
				return Object{}, ctx.Err()
			case <-f.done:
			}
			if !cutOff(f.err) {
				return f.object, f.err
			}
		}
	}
}

// gave notes what was given out without being kept, so that whoever has it is told
// of a change once a watch begins.
func (c *Cache) gave(e *cached, object Object, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case e.known:
	case err == nil || apierrors.IsNotFound(err):
		e.given, e.object = true, object
	default:
		e.failed = true
	}
}

// refuse is why an object can't be read at all.
func refuse(ref ObjectRef, registered bool) error {
	if !registered {
		return fmt.Errorf("object %q/%q %w", ref.Namespace, ref.Name, ErrNotRegistered)
	}
	return fmt.Errorf("%s: %w", ref, ErrNoObjectSource)
}

func existing(ref ObjectRef, object Object) (Object, error) {
	if object.IsZero() {
		return Object{}, ref.NotFound()
	}
	return object, nil
}

// awaited has the object watched, if it can be. It returns what to wait for if
// the watch has not said anything yet.
func (c *Cache) awaited(e *cached) <-chan struct{} {
	if e.frozen {
		return nil
	}
	key, ok := c.groupKey(e.ref)
	if !ok {
		return nil
	}
	w := c.watch(c.groups[key])
	if w == nil {
		return nil
	}
	w.read = time.Now()
	if w.synced {
		return nil
	}
	return w.first
}

// fresh tells whether what is known of an object can be given out.
func (c *Cache) fresh(e *cached) bool {
	switch {
	case !e.known || e.frozen:
		return e.frozen
	case c.ctx == nil || c.cfg.Strategy == CacheGet:
		return false
	}
	if _, watched := c.groupKey(e.ref); watched {
		return true
	}
	return time.Since(e.at) < c.cfg.TTL()
}

// fetched takes what a read of the source came to, unless something else was
// heard of the object meanwhile. What was known stays if the source can't say.
func (c *Cache) fetched(e *cached, f *fetch, answer uint64) (Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(f.done)
	e.fetch = nil
	absent := apierrors.IsNotFound(f.err)
	switch {
	case f.err != nil && !absent:
		e.failed = true
		if e.known {
			f.object, f.err = existing(e.ref, e.object)
		}
	case e.answer != answer || c.entries[e.ref] != e:
	case !absent && e.known && f.object.olderThan(e.object):
		e.at, f.object = time.Now(), e.object
	default:
		c.take(e, f.object)
	}
	return f.object, f.err
}

// unsynced is the error of a read that waited for a watch in vain, in the
// kubelet's words.
func (c *Cache) unsynced(e *cached, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.failed = true
	if key, ok := c.groupKey(e.ref); ok {
		if g := c.groups[key]; g != nil && g.live != nil && g.live.err != nil {
			err = fmt.Errorf("%w: %w", err, g.live.err)
		}
	}
	return fmt.Errorf("failed to sync %s cache: %w", e.ref.resource(), err)
}

var errTimedOut = errors.New("timed out waiting for the condition")

// wait waits for a channel, a context and a time.
func wait(ctx context.Context, c <-chan struct{}, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return errTimedOut
	}
}

// cutOff tells whether an error is that of somebody's context, who is not us.
func cutOff(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// annotationTTL is how many seconds the control plane lets a node keep objects.
const annotationTTL = "node.alpha.kubernetes.io/ttl"

// NodeTTL is how old objects may become on a node with [CacheTTL]: what the
// node's annotation node.alpha.kubernetes.io/ttl says, in seconds, or else a
// minute. Nil is a node without annotations.
func NodeTTL(node *v1.Node) time.Duration {
	if node != nil {
		if seconds, err := strconv.Atoi(node.Annotations[annotationTTL]); err == nil && seconds >= 0 {
			return time.Duration(seconds) * time.Second
		}
	}
	return time.Minute
}
