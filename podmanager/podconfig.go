package podmanager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// stopLimit is how long Run waits for its sources once its context has ended.
const stopLimit = 10 * time.Second

// Config is what a [PodConfig] runs.
type Config struct {
	// Sources by their names, which become the value of the annotation
	// kubernetes.io/config.source. SourceAPI is special: pods of all others are
	// static. No source at all is allowed.
	Sources map[string]PodSource
	// Events gets the events about refused pods, each once while it lasts. Nil
	// drops them; the Logger is told of them in any case.
	Events EventRecorder
	// OnProblem is told of each error and each warning of a source when it
	// appears, and not again while it lasts. It must not block, and may be
	// called by several sources at once. Nil is allowed.
	OnProblem func(Problem)
	// Checkpoints, if set, writes changes down before they are handed out. When
	// it fails they are handed out all the same, and it is tried again.
	Checkpoints Checkpointer
	// Logger gets problems, refused pods, and when a source is well again. Nil
	// is silent.
	Logger *slog.Logger
}

// Problem is something that a person should know of a source: either Err or
// Warning is set. A refused manifest is a *ManifestError in Err.
type Problem struct {
	// Source is its name; empty when it is the checkpoints that have the problem.
	Source  string
	Err     error
	Warning string
}

// PodConfig runs sources and hands out their changes, in order within each
// source, on one channel. A slow reader blocks no source and loses nothing:
// what sources say meanwhile is kept, merged late, and one word about a pod
// replaces an older one that nobody has read.
//
// Its methods are safe for concurrent use.
type PodConfig struct {
	config  Config
	updates chan Update
	wake    chan struct{}
	// checkpoints sees all updates first.
	checkpoints checkpointing

	mu      sync.Mutex
	mux     *Mux
	sources map[string]*sourceRun
	waiting []*sourceRun // those with something pending, the oldest first
	started bool
}

// sourceRun is a source that is run.
type sourceRun struct {
	status   SourceStatus
	pending  pending
	waiting  bool
	problems map[string]bool
	sent     map[string]bool // the messages of the last events
	// every is how often it should say something, zero for when it likes; began is
	// when it was run.
	every time.Duration
	began time.Time
}

// NewPodConfig checks the configuration. Nothing runs before Run.
func NewPodConfig(config Config) (*PodConfig, error) {
	names := slices.Sorted(maps.Keys(config.Sources))
	c := &PodConfig{
		config:  config,
		updates: make(chan Update),
		wake:    make(chan struct{}, 1),
		mux:     NewMux(names...),
		sources: map[string]*sourceRun{},
	}
	c.checkpoints.writer, c.checkpoints.tell = config.Checkpoints, c.tell
	for _, name := range names {
		switch {
		case name == "":
			return nil, errors.New("podmanager: Config.Sources: a source has no name")
		case config.Sources[name] == nil:
			return nil, fmt.Errorf("podmanager: Config.Sources: source %s is nil", name)
		}
		run := &sourceRun{status: SourceStatus{Name: name}}
		if r, ok := config.Sources[name].(Regular); ok {
			run.every = r.Every()
		}
		c.sources[name] = run
	}
	return c, nil
}

// Updates returns the changes. Each list of pods and each pod is read-only. The
// channel is closed when Run ends. It holds nothing: what is not read yet is not
// [PodConfig.Seen] either.
func (c *PodConfig) Updates() <-chan Update { return c.updates }

// Seen tells whether the source has been heard: its first whole list has been
// handed out. From then on a pod that it does not name is one that it does not
// want. A source that has spoken is not seen before the reader of Updates took
// its first list.
func (c *PodConfig) Seen(source string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sources[source]
	return s != nil && s.status.Seen
}

// SeenAll tells whether all sources have been heard.
func (c *PodConfig) SeenAll() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sources {
		if !s.status.Seen {
			return false
		}
	}
	return true
}

// Status returns how the sources are doing, in the order of their names.
func (c *PodConfig) Status() []SourceStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	all := make([]SourceStatus, 0, len(c.sources))
	for _, name := range c.mux.Sources() {
		s := c.sources[name].status
		s.Pods, s.Silent = c.mux.Len(name), c.sources[name].silent(now)
		all = append(all, s)
	}
	return all
}

// Run runs the sources until ctx ends, and returns when they have. A source
// whose Run fails is reported and leaves the others alone. The error names
// sources that did not stop within 10 s; nil otherwise. A PodConfig runs once.
func (c *PodConfig) Run(ctx context.Context) error {
	c.mu.Lock()
	again := c.started
	c.started = true
	c.mu.Unlock()
	if again {
		return errors.New("podmanager: PodConfig.Run was called twice")
	}
	ended := make(chan struct{}, len(c.sources))
	for name, source := range c.config.Sources {
		go func() {
			c.runSource(ctx, name, source)
			ended <- struct{}{}
		}()
	}
	c.dispatch(ctx)
	close(c.updates)
	return c.join(ended)
}

func (c *PodConfig) runSource(ctx context.Context, name string, source PodSource) {
	s := c.sources[name]
	c.mu.Lock()
	s.began = time.Now()
	c.mu.Unlock()
	err := source.Run(ctx, func(r Report) { c.deliver(name, r) })
	c.mu.Lock()
	s.status.Ended = true
	if err != nil && ctx.Err() == nil {
		s.status.Err, s.status.Since = err, time.Now()
	}
	c.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		c.tell(Problem{Source: name, Err: fmt.Errorf("source %s ended: %w", name, err)})
	}
}

// join waits until all sources have ended.
func (c *PodConfig) join(ended <-chan struct{}) error {
	limit := time.NewTimer(stopLimit)
	defer limit.Stop()
	for range len(c.sources) {
		select {
		case <-ended:
		case <-limit.C:
			return fmt.Errorf("podmanager: sources that did not stop within %s: %v", stopLimit, c.running())
		}
	}
	return nil
}

func (c *PodConfig) running() []string {
	var names []string
	for _, s := range c.Status() {
		if !s.Ended {
			names = append(names, s.Name)
		}
	}
	return names
}

// deliver takes one report of a source. It never waits for the reader.
func (c *PodConfig) deliver(name string, r Report) {
	op := r.Op
	switch op {
	case "", OpSet, OpAdd, OpUpdate, OpRemove, OpRestore:
	default:
		r.Err = errors.Join(r.Err, fmt.Errorf("%w %q from source %s", ErrUnknownOp, op, name))
		op = ""
	}
	c.mu.Lock()
	s := c.sources[name]
	wasIll := s.status.Err != nil
	s.note(r.Err, time.Now())
	problems := s.fresh(name, r)
	if op != "" {
		s.pending.say(op, r.Pods)
		if !s.waiting {
			s.waiting = true
			c.waiting = append(c.waiting, s)
		}
	}
	c.mu.Unlock()

	select {
	case c.wake <- struct{}{}:
	default:
	}
	for _, p := range problems {
		c.tell(p)
	}
	if wasIll && r.Err == nil && c.config.Logger != nil {
		c.config.Logger.Info("source is well again", "source", name)
	}
}

func (s *sourceRun) note(err error, now time.Time) {
	s.status.LastReport = now
	switch {
	case err == nil:
		s.status.Since = time.Time{}
	case s.status.Err == nil:
		s.status.Since = now
	}
	s.status.Err = err
}

// dispatch merges what is pending and hands it out, one source after the other.
func (c *PodConfig) dispatch(ctx context.Context) {
	defer c.checkpoints.stop()
	for {
		name, out, ok := c.next()
		if !ok {
			select {
			case <-ctx.Done():
				return
			case <-c.wake:
			case <-c.checkpoints.due():
				c.checkpoints.write(ctx, nil)
			}
			continue
		}
		c.send(name, out.Events)
		if len(out.Updates) > 0 {
			c.checkpoints.write(ctx, out.Updates)
		}
		for _, u := range out.Updates {
			select {
			case <-ctx.Done():
				return
			case c.updates <- u:
			}
		}
		c.handedOut(name)
	}
}

// next merges what the source that waits longest has said.
func (c *PodConfig) next() (name string, out Merged, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 {
		return "", Merged{}, false
	}
	s := c.waiting[0]
	c.waiting = slices.Delete(c.waiting, 0, 1)
	s.waiting = false
	name = s.status.Name
	for _, w := range s.pending.take() {
		// The name and the operation are known, so there is no error.
		merged, _ := c.mux.Merge(name, w.op, w.pods, time.Now())
		out.Updates = append(out.Updates, merged.Updates...)
		out.Events = append(out.Events, merged.Events...)
	}
	return name, out, true
}

func (c *PodConfig) handedOut(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sources[name].status.Seen = c.mux.Seen(name)
}
