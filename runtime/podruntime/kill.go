package podruntime

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// podKill is a KillPod in progress. It goes on when those who wait for it leave.
type podKill struct {
	deadline time.Time // under the lock of the pod's state
	done     chan struct{}
	err      error // once done
}

// KillPod stops the pod's containers, all at once, then its sandboxes.
//
// Each container gets its Killing event, its preStop hook (never twice, however
// often KillPod is called), and then the rest of the grace to end by itself, but
// at least two seconds. A sidecar waits with its own end, not with its hook,
// until all regular containers and the sidecars after it have ended or have
// failed to. A pod of which only the runtime knows is stopped by what its
// annotations say; where the request has no grace, that is theirs too.
//
// A SyncPod in progress is cancelled, and what it still managed to start is
// stopped too. Cancelling the context ends the wait; the stopping goes on by
// itself, and ends soon after its deadline.
func (r *Runtime) KillPod(ctx context.Context, req runtime.KillRequest) error {
	if req.Ref.UID == "" && req.Pod != nil {
		req.Ref = runtime.RefOf(req.Pod)
	}
	s := r.state(req.Ref.UID)
	k := r.beginKill(ctx, s, req)
	select {
	case <-k.done:
		if k.err != nil {
			return fmt.Errorf("kill pod %s: %w", req.Ref, k.err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("kill pod %s: %w", req.Ref, ctx.Err())
	}
}

// beginKill joins the kill in progress, whose deadline it may move forward, or
// begins one.
func (r *Runtime) beginKill(ctx context.Context, s *podState, req runtime.KillRequest) *podKill {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.kill; k != nil {
		by := deadlineOf(req)
		if !by.IsZero() && (k.deadline.IsZero() || by.Before(k.deadline)) {
			k.deadline = by
			for _, stop := range s.stops {
				stop.deadline.move(by)
			}
		}
		return k
	}
	k := &podKill{deadline: deadlineOf(req), done: make(chan struct{})}
	s.kill = k
	pass := s.pass
	if pass != nil {
		pass.cancel(errOvertaken)
	}
	go func() {
		found, err := r.kill(context.WithoutCancel(ctx), s, k, pass, req)
		s.mu.Lock()
		s.kill, k.err = nil, err
		s.mu.Unlock()
		if !found && err == nil {
			r.forget(req.Ref.UID)
		}
		close(k.done)
	}()
	return k
}

// deadlineOf is when the grace of a request is over; zero if it gives none.
func deadlineOf(req runtime.KillRequest) time.Time {
	if req.Deadline.IsZero() && req.Grace > 0 {
		return time.Now().Add(req.Grace)
	}
	return req.Deadline
}

// kill stops what runs of the pod, waits for the pass that it overtook, stops
// what that left, and stops the sandboxes whatever became of the containers. It
// tells whether there was anything of the pod.
func (r *Runtime) kill(ctx context.Context, s *podState, k *podKill, pass *passage, req runtime.KillRequest) (found bool, err error) {
	seen, err := r.readSoon(ctx, req.Ref.UID)
	if err != nil {
		return true, err
	}
	stopErr := r.stopRunning(ctx, s, k, req, seen)
	if pass != nil {
		// It was cancelled and comes back soon. A backend that does not let it
		// go is not waited for longer than the containers were.
		s.mu.Lock()
		limit := newDeadline(time.Now().Add(max(time.Until(k.deadline), requestTimeout)))
		s.mu.Unlock()
		limit.await(pass.done)
		if seen, err = r.readSoon(ctx, req.Ref.UID); err != nil {
			return true, errors.Join(stopErr, err)
		}
		stopErr = errors.Join(stopErr, r.stopRunning(ctx, s, k, req, seen))
	}
	defer s.begin("the end of its sandboxes", "")()
	err = errors.Join(stopErr, r.stopSandboxes(ctx, seen.sandboxIDs()))
	return len(seen.sandboxes)+len(seen.containers) > 0, err
}

// readSoon is read for those that no caller's context bounds.
func (r *Runtime) readSoon(ctx context.Context, uid types.UID) (*observation, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return r.read(ctx, uid)
}

// stopRunning stops the containers that run, and returns when they have ended.
func (r *Runtime) stopRunning(ctx context.Context, s *podState, k *podKill, req runtime.KillRequest, seen *observation) error {
	stops := runtime.StopOrder(req.Pod, seen.status(), req.Grace)
	orders := make([]stopOrder, 0, len(stops))
	s.mu.Lock()
	by := k.deadline
	s.mu.Unlock()
	for _, stop := range stops {
		o := r.orderOf(req.Pod, seen.container(stop.ID), stop)
		o.by = by
		if by.IsZero() {
			o.by = time.Now().Add(stop.Grace)
			if req.Pod == nil {
				o.by = time.Now().Add(annotatedGrace(seen.container(stop.ID)))
			}
		}
		orders = append(orders, o)
	}
	if len(orders) == 0 {
		return nil
	}
	return awaitStops(ctx, r.stopAll(s, orders))
}

// orderOf makes the order to stop one container out of the plan's. What the pod
// does not tell is read from the container's annotations.
func (r *Runtime) orderOf(pod *v1.Pod, c *runtime.Container, stop runtime.Stop) stopOrder {
	o := stopOrder{id: stop.ID, name: stop.Name, message: stop.Message, by: time.Now().Add(stop.Grace), after: stop.After}
	ref := refOf(c)
	if pod != nil {
		o.object = objectOf(pod, stop.Name)
	} else {
		o.object = unknownObject(ref, stop.Name)
	}
	var spec *v1.Container
	if pod != nil {
		spec = findContainer(pod, stop.Name)
	}
	if spec == nil {
		spec = annotatedContainer(c)
	}
	if spec != nil && spec.Lifecycle != nil && spec.Lifecycle.PreStop != nil && stop.Grace >= time.Second {
		o.hook = &hookTarget{
			container: spec, handler: spec.Lifecycle.PreStop, object: o.object,
			podIP: func(ctx context.Context) (string, error) { return r.podIP(ctx, ref) },
		}
	}
	return o
}

// stopSandboxes stops every sandbox of a pod, also those that are dead already:
// it frees what they may still hold.
func (r *Runtime) stopSandboxes(ctx context.Context, ids []string) error {
	var errs []error
	for _, id := range ids {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		err := r.cfg.Backend.StopSandbox(ctx, id)
		cancel()
		if err != nil && !errors.Is(err, runtime.ErrNotFound) {
			errs = append(errs, fmt.Errorf("stop sandbox %s: %w", id, err))
		}
	}
	return errors.Join(errs...)
}
