package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// errOvertaken ends a SyncPod that a KillPod overtook.
var errOvertaken = errors.New("the pod is being killed")

// SyncPod implements [runtime.Runtime]: it carries out what [runtime.Plan] says.
// It trusts the status of the request, as a real engine has to, and refuses what
// its own state forbids: a second instance beside one that runs, and an attempt
// that was used before.
func (f *Fake) SyncPod(ctx context.Context, req runtime.SyncRequest) (runtime.SyncResult, error) {
	ref := runtime.RefOf(req.Pod)
	s := &syncing{Fake: f, req: req, ref: ref}
	err := ctx.Err()
	if err == nil {
		err = s.run(ctx)
	}
	if err != nil {
		err = fmt.Errorf("sync pod %s: %w", ref, err)
	}
	return s.res, err
}

// syncing is one pass over one pod.
type syncing struct {
	*Fake
	req   runtime.SyncRequest
	ref   runtime.PodRef
	kills int
	res   runtime.SyncResult
}

func (s *syncing) run(ctx context.Context) error {
	var backoff runtime.Backoff
	backoff.Config = s.backoff
	s.update(s.ref.UID, func(p *fakePod) bool {
		s.kills, backoff = p.kills, p.backoff
		if s.req.Status == nil {
			s.req.Status = p.status(time.Now())
		}
		return false
	})
	a := runtime.Plan(runtime.PlanInput{
		Pod: s.req.Pod, Status: s.req.Status, Probes: s.req.Probes,
		RestartAll: s.req.RestartAll, Ended: s.req.Ended, Backoff: backoff, Now: time.Now(),
	})
	s.update(s.ref.UID, func(p *fakePod) bool {
		p.backoff = a.Backoff
		return false
	})
	s.res.RetryAt = a.RetryAt
	if err := s.stop(ctx, a); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if a.CreateSandbox {
		s.createSandbox(a.Attempt)
	}
	s.remove(a)
	if a.KillPod && !a.CreateSandbox {
		return nil
	}
	s.resize(a.Resize)
	for _, starts := range [][]runtime.Start{a.Ephemeral, a.Init, a.Containers} {
		for _, start := range starts {
			ok, err := s.start(ctx, start)
			if err != nil {
				return err
			}
			if !ok && s.isPlainInit(start) {
				return nil
			}
		}
	}
	return nil
}

// stop carries out the kills and resets of the plan.
func (s *syncing) stop(ctx context.Context, a runtime.Actions) error {
	if a.KillPod {
		return s.stopAll(ctx)
	}
	grace := map[string]time.Duration{}
	for _, k := range a.Kill {
		grace[k.ID] = k.Grace
	}
	hookless := map[string]bool{}
	for _, r := range a.Reset {
		if r.Kill {
			grace[r.ID], hookless[r.ID] = runtime.MinGrace, true
		}
	}
	if len(grace) > 0 {
		s.res.Acted = true
		s.update(s.ref.UID, func(p *fakePod) bool {
			for _, c := range p.containers {
				if g, ok := grace[c.id]; ok {
					if hookless[c.id] {
						c.preStop = nil
					}
					c.stopIn(g)
				}
			}
			return s.advanceStop(p)
		})
		if err := s.awaitEnd(ctx, s.ref.UID, func(c *fakeContainer) bool { _, ok := grace[c.id]; return ok }); err != nil {
			return err
		}
	}
	s.removeContainers(a.Reset)
	return nil
}

// stopAll stops the whole pod, each container with its own grace.
func (s *syncing) stopAll(ctx context.Context) error {
	stops := runtime.StopOrder(s.req.Pod, s.req.Status, 0)
	s.update(s.ref.UID, func(p *fakePod) bool {
		s.res.Acted = p.live()
		for _, stop := range stops {
			if c := p.byID(stop.ID); c != nil {
				c.stopIn(stop.Grace)
				c.after = stop.After
			}
		}
		for _, c := range p.containers {
			if c.mayRun() && c.stopBy.IsZero() { // one that the status didn't show
				c.stopIn(runtime.Grace(s.req.Pod, nil, runtime.KillOther))
			}
		}
		p.closing = true
		return s.advanceStop(p)
	})
	return s.awaitEnd(ctx, s.ref.UID, everyContainer)
}

// createSandbox adds a sandbox; what is kept for the pod begins with it.
func (s *syncing) createSandbox(attempt uint32) {
	s.addPod(s.ref)
	s.update(s.ref.UID, func(p *fakePod) bool {
		sb := runtime.SandboxStatus{
			ID: string(s.ref.UID) + "_" + strconv.Itoa(int(attempt)), Attempt: attempt, Ready: true,
			HostNetwork: s.req.Pod.Spec.HostNetwork, CreatedAt: time.Now(),
		}
		if !sb.HostNetwork {
			s.addresses++
			sb.IPs = []string{podAddress(s.addresses)}
		}
		p.sandboxes = append(p.sandboxes, sb)
		return true
	})
	s.res.Acted = true
}

// addPod makes the Fake know a pod.
func (f *Fake) addPod(ref runtime.PodRef) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pods[ref.UID] == nil {
		f.pods[ref.UID] = &fakePod{ref: ref, backoff: runtime.Backoff{Config: f.backoff}}
	}
}

// remove drops the dead containers and sandboxes that the plan names.
func (s *syncing) remove(a runtime.Actions) {
	if len(a.Remove)+len(a.RemoveSandboxes) == 0 {
		return
	}
	s.res.Acted = true
	s.update(s.ref.UID, func(p *fakePod) bool {
		p.containers = slices.DeleteFunc(p.containers, func(c *fakeContainer) bool {
			return !c.mayRun() && slices.Contains(a.Remove, c.id)
		})
		p.sandboxes = slices.DeleteFunc(p.sandboxes, func(sb runtime.SandboxStatus) bool {
			return !sb.Ready && slices.Contains(a.RemoveSandboxes, sb.ID)
		})
		return true
	})
}

// removeContainers drops the instances that a reset wants gone.
func (s *syncing) removeContainers(resets []runtime.Reset) {
	if len(resets) == 0 {
		return
	}
	s.res.Acted = true
	s.update(s.ref.UID, func(p *fakePod) bool {
		p.containers = slices.DeleteFunc(p.containers, func(c *fakeContainer) bool {
			return !c.mayRun() && slices.ContainsFunc(resets, func(r runtime.Reset) bool { return r.ID == c.id })
		})
		return true
	})
}

// start starts one container. What befell it goes into the result, and ok says
// whether it was started; the error ends the pass.
func (s *syncing) start(ctx context.Context, start runtime.Start) (ok bool, err error) {
	spec := start.Container
	if start.Waits() {
		s.res.Containers = append(s.res.Containers, runtime.StartResult{Container: spec.Name, Reason: start.Reason, Message: start.Message})
		return false, nil
	}
	instance := Instance{
		Pod: s.ref, Container: spec.Name, Image: spec.Image, Command: spec.Command, Args: spec.Args,
		Attempt: uint32(start.RestartCount), Init: s.isPlainInit(start),
	}
	script := s.script(instance)
	postStart, preStop := s.hooksOf(instance, spec)
	if err := Wait(ctx, script.StartDelay); err != nil {
		return false, fmt.Errorf("start container %s: %w", spec.Name, err)
	}
	result, id := runtime.StartResult{Container: spec.Name}, ""
	known := s.update(s.ref.UID, func(p *fakePod) bool {
		if p.kills != s.kills || p.closing {
			err = errOvertaken
			return false
		}
		result.Reason, result.Message = s.startIn(p, start, script, preStop)
		if c := p.newest(spec.Name); result.Reason == "" {
			id = c.id
		}
		return true
	})
	if !known {
		err = runtime.ErrNotFound
	}
	s.res.Acted = s.res.Acted || err == nil
	if err == nil && id != "" && postStart != nil {
		result.Reason, result.Message, err = s.postStart(ctx, id, spec, postStart)
	}
	if err != nil {
		return false, fmt.Errorf("start container %s: %w", spec.Name, err)
	}
	s.res.Containers = append(s.res.Containers, result)
	return result.Reason == "", nil
}

// isPlainInit tells whether the start is of an init container that must end for
// the next one to start.
func (s *syncing) isPlainInit(start runtime.Start) bool {
	inits := s.req.Pod.Spec.InitContainers
	for i := range inits {
		if &inits[i] == start.Container {
			return !runtime.IsSidecar(start.Container)
		}
	}
	return false
}

// startIn makes and starts an instance in the newest sandbox. The lock is held.
// It returns the reason and message of a start that failed.
func (s *syncing) startIn(p *fakePod, start runtime.Start, script Script, preStop *hook) (reason, message string) {
	spec, now := start.Container, time.Now()
	c := &fakeContainer{
		process: process{script: script, state: runtime.StateCreated, created: now},
		id:      containerID(p.ref.UID, spec.Name, start.RestartCount, s.lives[p.ref.UID]),
		name:    spec.Name, attempt: start.RestartCount, image: spec.Image, hash: runtime.ContainerHash(spec),
		resources: runtime.Resizable(spec.Resources), preStop: preStop,
	}
	if n := len(p.sandboxes); n > 0 && p.sandboxes[n-1].Ready {
		c.sandboxID = p.sandboxes[n-1].ID
	} else {
		return runtime.ReasonCreateContainerError, "the sandbox is not ready"
	}
	for _, other := range p.containers {
		if other.name == c.name && other.mayRun() {
			return runtime.ReasonCreateContainerError, "container " + other.id + " still runs"
		}
		if other.id == c.id {
			return runtime.ReasonCreateContainerError, "attempt " + c.id + " is reserved"
		}
	}
	p.backoff = p.backoff.Started(start, now)
	p.containers = append(p.containers, c)
	if script.StartError != nil {
		return runtime.ReasonRunContainerError, script.StartError.Error()
	}
	c.process.start(now, s.ender(p.ref.UID, c))
	return "", ""
}

// containerID makes an ID that podOfContainer can take apart: neither name nor
// attempt has an underscore. The first life of a pod is not named.
func containerID(uid types.UID, name string, attempt int32, life int) string {
	id := string(uid) + "_" + name + "_" + strconv.Itoa(int(attempt))
	if life > 0 {
		id += "." + strconv.Itoa(life)
	}
	return id
}

// podOfContainer returns the UID that containerID put into an ID.
func podOfContainer(id string) types.UID {
	for range 2 {
		id = id[:max(0, strings.LastIndexByte(id, '_'))]
	}
	return types.UID(id)
}
