package podmanager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// CacheStrategy is how a [Cache] knows its objects. The names are the kubelet's.
type CacheStrategy string

// The strategies.
const (
	// CacheWatch follows objects from the first registration on, with one watch a
	// namespace where the source is a [NamespaceWatcher], with one an object where
	// it is an [ObjectWatcher], and as CacheTTL where it is neither.
	CacheWatch CacheStrategy = "Watch"
	// CacheTTL reads an object again when what is known of it is too old.
	CacheTTL CacheStrategy = "Cache"
	// CacheGet asks the source each time.
	CacheGet CacheStrategy = "Get"
)

// ErrNotRegistered is wrapped by the error of reading an object that no
// registered pod refers to.
var ErrNotRegistered = errors.New("not registered")

// ErrNoObjectSource is wrapped by the error of reading an object of a kind that
// the [Cache] has no source of.
var ErrNoObjectSource = errors.New("there is no source of this kind of object")

// CacheConfig is what a [Cache] is made of. The zero value works, and knows no
// object.
type CacheConfig struct {
	// ConfigMaps and Secrets are the sources; nil for none.
	ConfigMaps, Secrets ObjectSource
	// Strategy is how objects are kept; default CacheWatch.
	Strategy CacheStrategy
	// TTL is how old an object may become with CacheTTL, zero for reading it each
	// time; it is asked at each read. Nil is NodeTTL of no node: a minute.
	TTL func() time.Duration
	// Idle is after which time without a read a watch is given up until the next
	// read; default 5 minutes.
	Idle time.Duration
	// Wait bounds how long a read waits for the first word of a watch; default 1 s.
	Wait time.Duration
	// Logger is told of watches that fail; nil is silent.
	Logger *slog.Logger
}

const (
	defaultIdle = 5 * time.Minute
	defaultWait = time.Second
)

// Cache keeps the ConfigMaps and Secrets that registered pods refer to, and no
// others. Each pod counts once for an object, by its UID; with the last one goes
// the object, and the watch that kept it. To register a pod costs its own
// references; an object that it referred to before is not touched, so that no
// reading becomes necessary by it.
//
// An immutable object is read once. What a source said last stays while it is
// down. Nothing of an object reaches a log or an error.
//
// Reads work before Run and after its end, too: then each asks the source. A
// Cache is safe for concurrent use.
type Cache struct {
	cfg     CacheConfig
	log     *slog.Logger
	changed chan struct{}

	mu      sync.Mutex
	ctx     context.Context // of Run; nil while it does not run
	ran     bool
	pods    map[types.UID]*registration
	entries map[ObjectRef]*cached
	groups  map[ObjectRef]*group
	// ending are the watches that were told to end and have not yet; none is
	// started in their place before.
	ending map[ObjectRef]<-chan struct{}
	// dirty are the objects that changed since the last Take.
	dirty   map[*cached]struct{}
	watches sync.WaitGroup
}

// registration is a pod that is registered.
type registration struct {
	pod  *v1.Pod
	uses []*use // sorted by their objects
}

// use is that a pod refers to an object: a link in the list of the object's users,
// so that a pod comes and goes at a cost that does not know how many there are.
type use struct {
	of            *cached
	user          *registration
	before, after *use
}

// cached is one object.
type cached struct {
	ref   ObjectRef
	users *use // the newest, nil for none

	known  bool   // object is the answer now: zero for one that does not exist
	given  bool   // object is what was given out last
	object Object // of the source
	at     time.Time
	answer uint64 // counts answers, so that one that comes late is known as such
	failed bool   // somebody asked and could not be answered
	frozen bool   // immutable: the object stays
	fetch  *fetch // in flight
}

// NewCache returns a Cache without pods; an error names the field that is wrong.
func NewCache(cfg CacheConfig) (*Cache, error) {
	switch cfg.Strategy {
	case "":
		cfg.Strategy = CacheWatch
	case CacheWatch, CacheTTL, CacheGet:
	default:
		return nil, fmt.Errorf("podmanager: CacheConfig.Strategy: unknown strategy %q", cfg.Strategy)
	}
	if cfg.Idle <= 0 {
		cfg.Idle = defaultIdle
	}
	if cfg.Wait <= 0 {
		cfg.Wait = defaultWait
	}
	if cfg.TTL == nil {
		cfg.TTL = func() time.Duration { return NodeTTL(nil) }
	}
	c := &Cache{
		cfg: cfg, log: cfg.Logger, changed: make(chan struct{}, 1),
		pods:    map[types.UID]*registration{},
		entries: map[ObjectRef]*cached{},
		groups:  map[ObjectRef]*group{},
		ending:  map[ObjectRef]<-chan struct{}{},
		dirty:   map[*cached]struct{}{},
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// Run keeps watches until the context ends. Then it returns when they have; the
// error says if one has not within 10 s. A Cache runs once.
func (c *Cache) Run(ctx context.Context) error {
	c.mu.Lock()
	if c.ran {
		c.mu.Unlock()
		return errors.New("podmanager: Cache.Run was called twice")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.ran, c.ctx = true, ctx
	for _, g := range c.groups {
		c.watch(g)
	}
	c.mu.Unlock()

	<-ctx.Done()
	c.mu.Lock()
	c.ctx = nil
	for _, g := range c.groups {
		c.unwatch(g)
	}
	c.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		c.watches.Wait()
		close(ended)
	}()
	limit := time.NewTimer(stopLimit)
	defer limit.Stop()
	select {
	case <-ended:
		return nil
	case <-limit.C:
		return fmt.Errorf("podmanager: a watch of the cache did not stop within %s", stopLimit)
	}
}

// Register keeps what the pod refers to from now on. A pod that is registered
// already, by its UID, lets go of what it does not refer to any more. The pod is
// read-only, and compared by its pointer: registering the same one again costs
// next to nothing.
func (c *Cache) Register(pod *v1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.pods[pod.UID]
	switch {
	case r == nil:
		r = &registration{}
		c.pods[pod.UID] = r
	case r.pod == pod:
		return
	}
	r.pod = pod
	c.exchange(r, References(pod))
}

// Unregister lets go of what the pod referred to. An unknown pod is ignored.
func (c *Cache) Unregister(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.pods[uid]; r != nil {
		delete(c.pods, uid)
		c.exchange(r, nil)
	}
}

// exchange replaces the references of a pod; both lists are sorted. New ones come
// first, so that nothing that stays in use by way of them is given up.
func (c *Cache) exchange(user *registration, refs []Reference) {
	old := user.uses
	user.uses = make([]*use, len(refs))
	for i, r := range refs {
		at, found := slices.BinarySearchFunc(old, r.ObjectRef, func(u *use, ref ObjectRef) int { return compareRefs(u.of.ref, ref) })
		if found {
			user.uses[i] = old[at]
		} else {
			user.uses[i] = c.use(user, r.ObjectRef)
		}
	}
	for _, u := range old {
		_, found := slices.BinarySearchFunc(refs, u.of.ref, func(r Reference, ref ObjectRef) int { return compareRefs(r.ObjectRef, ref) })
		if !found {
			c.release(u)
		}
	}
}

func (c *Cache) use(user *registration, ref ObjectRef) *use {
	e := c.entries[ref]
	if e == nil {
		e = &cached{ref: ref}
		c.entries[ref] = e
		c.join(e)
	} else if _, watched := c.groupKey(ref); !watched && !e.frozen {
		// Whoever refers to it anew wants it as it is now.
		e.known, e.answer = false, e.answer+1
	}
	u := &use{of: e, user: user, after: e.users}
	if u.after != nil {
		u.after.before = u
	}
	e.users = u
	return u
}

func (c *Cache) release(u *use) {
	e := u.of
	if u.after != nil {
		u.after.before = u.before
	}
	if u.before != nil {
		u.before.after = u.after
	} else {
		e.users = u.after
	}
	if e.users != nil {
		return
	}
	delete(c.entries, e.ref)
	delete(c.dirty, e)
	c.leave(e)
}
