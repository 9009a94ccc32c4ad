package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/kubeparts/kubeparts/runtime"
	v1 "k8s.io/api/core/v1"
)

// errOvertaken ends a SyncPod that a KillPod overtook.
var errOvertaken = errors.New("the pod is being killed")

// SyncPod implements [runtime.Runtime]. It trusts the status of the request, as
// a real engine has to, and refuses what the state forbids: a second instance
// beside one that runs.
func (f *Fake) SyncPod(ctx context.Context, req runtime.SyncRequest) (runtime.SyncResult, error) {
	var res runtime.SyncResult
	ref := runtime.RefOf(req.Pod)
	if err := ctx.Err(); err != nil {
		return res, fmt.Errorf("sync pod %s: %w", ref, err)
	}
	if req.Status == nil {
		req.Status, _ = f.PodStatus(ctx, ref.UID)
	}
	s := f.beginSync(req)
	d := decide(req.Pod, req.Status)
	if d.newSandbox {
		s.createSandbox()
	}
	for _, c := range d.start {
		if err := s.start(ctx, c.Container, c.init, c.order); err != nil {
			return s.res, fmt.Errorf("sync pod %s: %w", ref, err)
		}
	}
	return s.res, nil
}

// syncing is one pass over one pod.
type syncing struct {
	*Fake
	req   runtime.SyncRequest
	ref   runtime.PodRef
	kills int
	res   runtime.SyncResult
}

func (f *Fake) beginSync(req runtime.SyncRequest) *syncing {
	s := &syncing{Fake: f, req: req, ref: runtime.RefOf(req.Pod)}
	f.update(s.ref.UID, func(p *fakePod) bool {
		s.kills = p.kills
		return false
	})
	return s
}

// createSandbox adds a sandbox; with it begins what is kept for the pod.
func (s *syncing) createSandbox() {
	s.mu.Lock()
	if s.pods[s.ref.UID] == nil {
		s.pods[s.ref.UID] = &fakePod{ref: s.ref}
	}
	s.mu.Unlock()
	s.update(s.ref.UID, func(p *fakePod) bool {
		var attempt uint32
		if n := len(p.sandboxes); n > 0 {
			attempt = p.sandboxes[n-1].Attempt + 1
		}
		sb := runtime.SandboxStatus{
			ID:          string(s.ref.UID) + "_" + strconv.Itoa(int(attempt)),
			Attempt:     attempt,
			Ready:       true,
			HostNetwork: s.req.Pod.Spec.HostNetwork,
			CreatedAt:   time.Now(),
		}
		if !sb.HostNetwork {
			sb.IPs = []string{s.nextAddress()}
		}
		p.sandboxes = append(p.sandboxes, sb)
		return true
	})
	s.res.Acted = true
}

// start starts one container. The error ends the pass; what befell the
// container alone goes into the result.
func (s *syncing) start(ctx context.Context, spec *v1.Container, init bool, order int) error {
	script := s.script(Instance{
		Pod: s.ref, Container: spec.Name, Image: spec.Image,
		Command: spec.Command, Args: spec.Args, Attempt: s.nextAttempt(spec.Name), Init: init,
	})
	if err := Wait(ctx, script.StartDelay); err != nil {
		return fmt.Errorf("start container %s: %w", spec.Name, err)
	}
	result := runtime.StartResult{Container: spec.Name}
	overtaken := false
	s.update(s.ref.UID, func(p *fakePod) bool {
		if p.kills != s.kills || !p.stopBy.IsZero() {
			overtaken = true
			return false
		}
		result.Reason, result.Message = s.startIn(p, spec, script, order)
		return true
	})
	if overtaken {
		return fmt.Errorf("start container %s: %w", spec.Name, errOvertaken)
	}
	s.res.Acted = true
	s.res.Containers = append(s.res.Containers, result)
	return nil
}

// startIn makes and starts an instance in the newest sandbox. The lock is held.
// It returns the reason and message of a start that failed.
func (s *syncing) startIn(p *fakePod, spec *v1.Container, script Script, order int) (reason, message string) {
	sb := p.sandboxes[len(p.sandboxes)-1]
	last := p.newest(spec.Name)
	switch {
	case !sb.Ready:
		return "CreateContainerError", "sandbox " + sb.ID + " is not ready"
	case last != nil && last.mayRun():
		return "CreateContainerError", "container " + last.id + " still runs"
	}
	now := time.Now()
	c := &fakeContainer{
		process: process{script: script, state: runtime.StateCreated, created: now},
		name:    spec.Name, sandboxID: sb.ID, image: spec.Image, order: order,
	}
	if last != nil {
		c.attempt = last.attempt + 1
	}
	c.id = string(p.ref.UID) + "_" + spec.Name + "_" + strconv.Itoa(int(c.attempt))
	p.trim(last)
	p.containers = append(p.containers, c)
	if script.StartError != nil {
		c.message = script.StartError.Error()
		return "RunContainerError", c.message
	}
	c.process.start(now, s.ender(p.ref.UID, c))
	return "", ""
}

// trim removes the dead instances of a name but the newest.
func (p *fakePod) trim(newest *fakeContainer) {
	if newest == nil {
		return
	}
	p.containers = slices.DeleteFunc(p.containers, func(c *fakeContainer) bool {
		return c.name == newest.name && c != newest
	})
}

func (s *syncing) nextAttempt(name string) (attempt uint32) {
	s.update(s.ref.UID, func(p *fakePod) bool {
		if c := p.newest(name); c != nil {
			attempt = c.attempt + 1
		}
		return false
	})
	return attempt
}
