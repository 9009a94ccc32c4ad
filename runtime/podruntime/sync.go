package podruntime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// SyncPod makes one pass over the pod: it carries out what [runtime.Plan]
// decides from pod and status.
//
//   - Containers that must go are stopped together; dead instances beyond the
//     newest of each name are removed with their logs.
//   - A sandbox that is missing, dead or wrong is made anew, with every
//     container in it.
//   - One plain init container is started a pass; it returns then, and the
//     pass after its exit goes on. Sidecars are started together, and after
//     them the regular containers. An image is pulled first where its policy
//     asks for it.
//   - A container that waits for its back-off, or can't be started, is named
//     in the result with the kubelet's Reason and message, and does not hold
//     up the others. RetryAt is the earliest end of a wait; a start that failed
//     is not repeated for 10 seconds.
//   - Running containers are given the resources that the spec says, or are
//     restarted where their resize policy wants it. One that can't be is a
//     [runtime.ResizeError], and does not hold up the start of others.
//
// Volumes are made before the first container; one that can't be made keeps
// the whole pod from starting, and is the error of the pass. Volumes that hold
// ConfigMaps, Secrets or the pod's own fields are brought up to date in each
// pass; where that fails, what runs keeps what it has. A postStart hook
// is part of the start of its container.
//
// When the context ends, pulls and hooks are ended with it, no further
// container is started, and stops that were begun go on by themselves. A pass
// that a KillPod overtakes, or that comes during one, is an error.
func (r *Runtime) SyncPod(ctx context.Context, req runtime.SyncRequest) (runtime.SyncResult, error) {
	if req.Pod == nil {
		return runtime.SyncResult{}, errors.New("sync pod: no pod given")
	}
	ref := runtime.RefOf(req.Pod)
	p := &pass{Runtime: r, ref: ref, pod: req.Pod, req: req}
	err := p.sync(ctx)
	if err != nil {
		err = fmt.Errorf("sync pod %s: %w", ref, err)
	}
	return p.result, err
}

// pass is one SyncPod.
type pass struct {
	*Runtime
	ref   runtime.PodRef
	pod   *v1.Pod
	req   runtime.SyncRequest
	state *podState

	sandboxID string
	podIPs    []string
	volumes   map[string]volume // by name

	mu     sync.Mutex // guards result while containers start
	result runtime.SyncResult
}

func (p *pass) sync(ctx context.Context) error {
	if err := p.layout.check(p.ref); err != nil {
		return err
	}
	p.state = p.Runtime.state(p.ref.UID)
	ctx, leave, err := p.state.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if registrar, ok := p.cfg.Objects.(ObjectRegistrar); ok {
		registrar.Register(p.pod)
	}
	if p.req.Status == nil {
		if p.req.Status, err = p.podStatus(ctx, p.ref.UID); err != nil {
			return err
		}
	}
	if err := p.run(ctx, p.plan()); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ended(ctx)
	}
	return nil
}

// plan decides what to do, and takes over what the decision remembers.
func (p *pass) plan() runtime.Actions {
	p.state.mu.Lock()
	backoff := p.state.backoff
	p.state.mu.Unlock()
	a := runtime.Plan(runtime.PlanInput{
		Pod: p.pod, Status: p.req.Status, Probes: p.req.Probes,
		RestartAll: p.req.RestartAll, Ended: p.req.Ended, Backoff: backoff, Now: time.Now(),
	})
	p.state.mu.Lock()
	p.state.backoff = a.Backoff
	p.state.mu.Unlock()
	return a
}

// run carries the plan out, in its order.
func (p *pass) run(ctx context.Context, a runtime.Actions) error {
	p.retryAt(a.RetryAt)
	p.tell(p.state, p.pod, a.Events)
	if err := p.stopWhatMust(ctx, a); err != nil {
		return err
	}
	if a.KillPod && !a.CreateSandbox {
		return p.remove(ctx, a)
	}
	p.podIPs = p.req.Status.IPs
	if startsAny(a) {
		if err := p.makeVolumes(ctx, a); err != nil {
			return err
		}
	} else {
		p.refreshVolumes(ctx)
	}
	p.sandboxID = a.SandboxID
	if a.CreateSandbox {
		if err := p.createSandbox(ctx, a.Attempt); err != nil {
			return err
		}
	}
	// What can't be removed keeps nothing from starting.
	err := p.remove(ctx, a)
	p.startAll(ctx, a.Ephemeral)
	initialized := p.startAll(ctx, a.Init)
	err = errors.Join(err, p.resize(ctx, a.Resize))
	if initialized {
		p.startAll(ctx, a.Containers)
	}
	return err
}

func startsAny(a runtime.Actions) bool {
	for _, starts := range [][]runtime.Start{a.Ephemeral, a.Init, a.Containers} {
		for i := range starts {
			if !starts[i].Waits() {
				return true
			}
		}
	}
	return false
}

// retryAt makes the result ask for a call at a time, if none is due earlier.
func (p *pass) retryAt(at time.Time) {
	if at.IsZero() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.result.RetryAt.IsZero() || at.Before(p.result.RetryAt) {
		p.result.RetryAt = at
	}
}

func (p *pass) acted() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.result.Acted = true
}

// stopWhatMust stops the whole pod, or what of it must go, and waits for that.
func (p *pass) stopWhatMust(ctx context.Context, a runtime.Actions) error {
	if a.KillPod {
		err := p.stop(ctx, runtime.StopOrder(p.pod, p.req.Status, 0))
		return errors.Join(err, p.stopOldSandboxes(ctx, a))
	}
	var stops []runtime.Stop
	for _, k := range a.Kill {
		stops = append(stops, runtime.Stop{ID: k.ID, Name: k.Name, Message: k.Message, Grace: k.Grace})
	}
	for _, reset := range a.Reset {
		if reset.Kill {
			stops = append(stops, runtime.Stop{ID: reset.ID, Name: reset.Name, Message: "killing"})
		}
	}
	if err := p.stop(ctx, stops); err != nil {
		return err
	}
	for _, reset := range a.Reset {
		if err := p.removeContainer(ctx, reset.ID); err != nil {
			return err
		}
	}
	return nil
}

// stopOldSandboxes stops the sandboxes of a pod that is done or starts anew. Dead
// ones are stopped for what they may still hold, but only when a new one wants
// it: a pod that is done is left alone once its sandboxes are dead.
func (p *pass) stopOldSandboxes(ctx context.Context, a runtime.Actions) error {
	ids := a.StopSandboxes
	if !a.CreateSandbox {
		ids = nil
		for i := range p.req.Status.Sandboxes {
			if s := &p.req.Status.Sandboxes[i]; s.Ready {
				ids = append(ids, s.ID)
			}
		}
	}
	if len(ids) > 0 {
		p.acted()
	}
	return p.stopSandboxes(ctx, ids)
}

// stop stops containers together, each with its own grace; one without a grace
// gets the least, and no hook.
func (p *pass) stop(ctx context.Context, stops []runtime.Stop) error {
	if len(stops) == 0 {
		return nil
	}
	p.acted()
	orders := make([]stopOrder, len(stops))
	for i, stop := range stops {
		orders[i] = p.orderOf(p.pod, &runtime.Container{ID: stop.ID, Name: stop.Name, PodUID: p.ref.UID}, stop)
	}
	return awaitStops(ctx, p.stopAll(p.state, orders))
}

// remove removes what the plan has no more use for, dead containers with their
// logs.
func (p *pass) remove(ctx context.Context, a runtime.Actions) error {
	for _, id := range a.Remove {
		// First the log: a container whose log is left is tried again.
		if c := p.instance(id); c != nil {
			if err := p.layout.removeTraces(p.ref, c.Name, uint32(c.RestartCount)); err != nil {
				return fmt.Errorf("traces of container %s: %w", c.Name, err)
			}
		}
		if err := p.removeContainer(ctx, id); err != nil {
			return err
		}
	}
	for _, id := range a.RemoveSandboxes {
		p.acted()
		if err := p.stopSandboxes(ctx, []string{id}); err != nil {
			return err
		}
		if err := p.cfg.Backend.RemoveSandbox(ctx, id); err != nil && !errors.Is(err, runtime.ErrNotFound) {
			return fmt.Errorf("remove sandbox %s: %w", id, err)
		}
	}
	return nil
}

// instance returns the container of an ID in the status, or nil.
func (p *pass) instance(id string) *runtime.ContainerStatus {
	for i := range p.req.Status.Containers {
		if c := &p.req.Status.Containers[i]; c.ID == id {
			return c
		}
	}
	return nil
}

func (p *pass) removeContainer(ctx context.Context, id string) error {
	p.acted()
	if err := p.cfg.Backend.RemoveContainer(ctx, id); err != nil && !errors.Is(err, runtime.ErrNotFound) {
		return fmt.Errorf("remove container %s: %w", id, err)
	}
	p.state.drop(id)
	return nil
}
