package podruntime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/internal/repeat"
	"github.com/kubeparts/kubeparts/runtime"
)

// podState is what is remembered of one pod until it is removed. Its lock is
// held for moments, never over a call.
type podState struct {
	mu sync.Mutex
	// backoff and pulls pace the starts and image pulls.
	backoff runtime.Backoff
	pulls   runtime.PullBackoff
	// exited are instances that ended, read whole, by ID: nothing about them
	// changes any more. The map is replaced, never written to.
	exited map[string]runtime.ContainerStatus
	// stops are the stops of containers, in flight or over, by ID.
	stops map[string]*stopping
	// pass is the SyncPod in progress, kill the KillPod; nil if there is none.
	pass *passage
	kill *podKill
	// holds are the starts that failed a moment ago, by container name.
	holds map[string]hold
	// resized are the resources that running containers were given since they
	// were started, by ID.
	resized map[string]v1.ResourceRequirements
	// doing are the calls on their way, oldest first.
	doing []*runtime.Doing
	// told paces events that repeat.
	told map[repeated]repeat.Beat
}

// passage lets a KillPod end a SyncPod, and wait for its end.
type passage struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
}

// errOvertaken ends a SyncPod that a KillPod overtook.
var errOvertaken = fmt.Errorf("the pod is being killed: %w", context.Canceled)

// ended is the error of a context that ended, with its cause.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// state returns the state of a pod, which begins with the call.
func (r *Runtime) state(uid types.UID) *podState {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.pods[uid]
	if s == nil {
		s = &podState{
			backoff: runtime.Backoff{Config: r.cfg.CrashLoop},
			pulls:   runtime.PullBackoff{Config: r.cfg.ImagePull},
		}
		r.pods[uid] = s
	}
	return s
}

// known returns the state of a pod, nil if there is none.
func (r *Runtime) known(uid types.UID) *podState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pods[uid]
}

// forget drops the state of a pod, unless something is being done about it.
func (r *Runtime) forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.pods[uid]
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pass == nil && s.kill == nil {
		delete(r.pods, uid)
	}
}

// enter begins a pass; the function it returns ends it. There is one at a time,
// and none during a kill.
func (s *podState) enter(ctx context.Context) (context.Context, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kill != nil {
		return nil, nil, errOvertaken
	}
	if s.pass != nil {
		return nil, nil, errors.New("another pass over the pod is in progress")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	p := &passage{cancel: cancel, done: make(chan struct{})}
	s.pass = p
	return ctx, func() {
		s.mu.Lock()
		s.pass = nil
		s.mu.Unlock()
		cancel(nil)
		close(p.done)
	}, nil
}

// started notes that a container is about to be started.
func (s *podState) started(start runtime.Start, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backoff = s.backoff.Started(start, now)
}

// drop forgets the stop of a container that was removed.
func (s *podState) drop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.stops, id)
	delete(s.resized, id)
}
