package podruntime

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// startRetry is how long a start that failed is not repeated, so that a fault
// that stays does not fill runtime and events.
const startRetry = 10 * time.Second

// startError is why a container could not be started.
type startError struct {
	reason  string
	message string
	event   string // what users are told, if not the message
	// retryAt is when to try again, if that is before startRetry is over.
	retryAt time.Time
}

// hold keeps a start that failed from being repeated too soon.
type hold struct {
	until  time.Time
	hash   uint64 // of the spec that failed
	result runtime.StartResult
}

// startAll starts containers together, and returns false if a plain init
// container among them could not be started.
func (p *pass) startAll(ctx context.Context, starts []runtime.Start) bool {
	results := make([]runtime.StartResult, len(starts))
	var wg sync.WaitGroup
	for i, start := range starts {
		if start.Waits() {
			results[i] = runtime.StartResult{Container: start.Container.Name, Reason: start.Reason, Message: start.Message}
			continue
		}
		wg.Go(func() { results[i] = p.start(ctx, start) })
	}
	wg.Wait()
	ok := true
	for i, result := range results {
		if result.Reason == "" && ctx.Err() != nil {
			continue // not known to have been started
		}
		p.report(result)
		if result.Reason != "" && p.isPlainInit(starts[i].Container.Name) {
			ok = false
		}
	}
	return ok && ctx.Err() == nil
}

func (p *pass) report(result runtime.StartResult) {
	result.Message = short(result.Message, toldLimit)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.result.Containers = append(p.result.Containers, result)
}

func (p *pass) isPlainInit(name string) bool {
	for i := range p.pod.Spec.InitContainers {
		if c := &p.pod.Spec.InitContainers[i]; c.Name == name {
			return !runtime.IsSidecar(c)
		}
	}
	return false
}

// start starts one container, unless it failed to a moment ago, and tells users
// what became of it.
func (p *pass) start(ctx context.Context, start runtime.Start) runtime.StartResult {
	c := start.Container
	hash := runtime.ContainerHash(c)
	if h, ok := p.state.held(c.Name, hash, time.Now()); ok {
		p.retryAt(h.until)
		return h.result
	}
	fault := p.attempt(ctx, start)
	if fault == nil || ctx.Err() != nil {
		p.state.hold(c.Name, hold{})
		return runtime.StartResult{Container: c.Name}
	}
	told := fault.event
	if told == "" {
		told = fault.message
	}
	p.warn(p.state, objectOf(p.pod, c.Name), "Failed", "Error: "+told)
	result := runtime.StartResult{Container: c.Name, Reason: fault.reason, Message: fault.message}
	if fault.reason == runtime.ReasonPostStartHookError {
		return result // it ran, and has its back-off
	}
	until := time.Now().Add(startRetry)
	if at := fault.retryAt; !at.IsZero() && at.Before(until) {
		until = at
	}
	p.state.hold(c.Name, hold{until: until, hash: hash, result: result})
	p.retryAt(until)
	return result
}

// held returns the failure that keeps a container from being started.
func (s *podState) held(name string, hash uint64, now time.Time) (hold, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, ok := s.holds[name]
	return h, ok && h.hash == hash && now.Before(h.until)
}

// hold notes the failure of a start; the zero value removes it.
func (s *podState) hold(name string, h hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h == (hold{}) {
		delete(s.holds, name)
		return
	}
	if s.holds == nil {
		s.holds = make(map[string]hold)
	}
	s.holds[name] = h
}

// releaseHolds lets all starts be tried again: the sandbox is another one, or an
// object that they may have lacked has changed.
func (s *podState) releaseHolds() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.holds)
}

// attempt makes and starts one instance: image, configuration, create, start,
// postStart hook.
func (p *pass) attempt(ctx context.Context, start runtime.Start) *startError {
	c := start.Container
	p.state.started(start, time.Now())
	imageRef, fault := p.ensureImage(ctx, c)
	if fault != nil || ctx.Err() != nil {
		return fault
	}
	cfg, err := p.containerConfig(ctx, start, imageRef)
	if err != nil {
		return &startError{reason: runtime.ReasonCreateContainerConfigError, message: err.Error()}
	}
	p.acted()
	id, fault := p.launch(ctx, c, cfg)
	if fault != nil || ctx.Err() != nil {
		return fault
	}
	return p.postStart(ctx, c, id)
}

// launch makes and starts a container.
func (p *pass) launch(ctx context.Context, c *v1.Container, cfg runtime.ContainerConfig) (id string, fault *startError) {
	defer p.state.begin("the start of container ", c.Name)()
	id, err := p.cfg.Backend.CreateContainer(ctx, p.sandboxID, cfg)
	if err != nil {
		return id, &startError{reason: runtime.ReasonCreateContainerError, message: nameFor(err.Error(), id, c.Name)}
	}
	object := objectOf(p.pod, c.Name)
	p.event(object, v1.EventTypeNormal, "Created", "Container created")
	if ctx.Err() != nil {
		return id, nil
	}
	if err := p.cfg.Backend.StartContainer(ctx, id); err != nil {
		return id, &startError{reason: runtime.ReasonRunContainerError, message: nameFor(err.Error(), id, c.Name)}
	}
	p.event(object, v1.EventTypeNormal, "Started", "Container started")
	return id, nil
}

// postStart runs the hook of a container that was just started. A container
// whose hook fails is stopped; one whose hook was cut off with the pass is left
// alone. Why a hook failed is kept from users: it may quote its output.
func (p *pass) postStart(ctx context.Context, c *v1.Container, id string) *startError {
	if c.Lifecycle == nil || c.Lifecycle.PostStart == nil {
		return nil
	}
	object := objectOf(p.pod, c.Name)
	bounded, cancel := context.WithTimeout(ctx, p.cfg.PostStartTimeout)
	defer cancel()
	end := p.state.begin("the postStart hook of ", c.Name)
	err := p.runHook(bounded, &hookTarget{
		container: c, handler: c.Lifecycle.PostStart, object: object,
		podIP: func(ctx context.Context) (string, error) {
			if ips := p.facts(ctx).addresses(); len(ips) > 0 {
				return ips[0], nil
			}
			return "", errNoPodIP
		},
	}, id)
	end()
	if err == nil || ctx.Err() != nil {
		return nil
	}
	p.cfg.Logger.Warn("postStart hook failed", "pod", p.ref.String(), "container", c.Name, "error", err)
	p.event(object, v1.EventTypeWarning, "FailedPostStartHook", "PostStartHook failed")
	err = p.stop(ctx, []runtime.Stop{{
		ID: id, Name: c.Name, Message: "FailedPostStartHook", Grace: runtime.Grace(p.pod, c, runtime.KillOther),
	}})
	if err != nil {
		p.cfg.Logger.Error("container whose hook failed could not be stopped", "pod", p.ref.String(), "container", c.Name, "error", err)
	}
	return &startError{reason: runtime.ReasonPostStartHookError, message: "PostStartHook failed"}
}

func (p *pass) facts(ctx context.Context) podFacts {
	return podFacts{
		pod: p.pod, podIPs: p.podIPs, hostIPs: p.cfg.HostIPs,
		nodeName: p.cfg.NodeName, allocatable: p.cfg.Allocatable,
		objects: objectReader{ctx: ctx, objects: p.cfg.Objects, namespace: p.pod.Namespace},
	}
}

// containerConfig resolves all that a backend is told about a container, and
// makes the folders and files that it names.
func (p *pass) containerConfig(ctx context.Context, start runtime.Start, imageRef string) (runtime.ContainerConfig, error) {
	c := start.Container
	if err := element("container", c.Name); err != nil {
		return runtime.ContainerConfig{}, err
	}
	restarts := start.RestartCount
	if p.req.Status.Container(c.Name) == nil {
		restarts = max(restarts, p.layout.restartsByLogs(p.ref, c.Name))
	}
	env, err := environmentOf(c, p.facts(ctx))
	if err != nil {
		return runtime.ContainerConfig{}, err
	}
	for _, text := range env.skipped {
		p.warn(p.state, objectOf(p.pod, ""), "InvalidEnvironmentVariableNames", text)
	}
	command, err := expandAll(c.Command, env)
	if err != nil {
		return runtime.ContainerConfig{}, fmt.Errorf("command%w", err)
	}
	args, err := expandAll(c.Args, env)
	if err != nil {
		return runtime.ContainerConfig{}, fmt.Errorf("args%w", err)
	}
	mounts, err := mountsOf(c, p.volumes, env)
	if err != nil {
		return runtime.ContainerConfig{}, err
	}
	security := runtime.SecurityContext(p.pod, c)
	if err := checkNonRoot(security); err != nil {
		return runtime.ContainerConfig{}, err
	}
	attempt := uint32(max(restarts, 0))
	message, err := p.layout.makeMessage(p.ref.UID, c, attempt)
	if err != nil {
		return runtime.ContainerConfig{}, fmt.Errorf("termination message: %w", err)
	}
	logDir := p.layout.containerLogDir(p.ref, c.Name)
	if err := os.MkdirAll(logDir, 0o755); err != nil {
		return runtime.ContainerConfig{}, fmt.Errorf("log folder: %w", err)
	}
	cfg := runtime.ContainerConfig{
		Name:            c.Name,
		Attempt:         attempt,
		Image:           c.Image,
		ImageRef:        imageRef,
		Command:         command,
		Args:            args,
		WorkingDir:      c.WorkingDir,
		Env:             env.vars,
		Mounts:          append(mounts, message...),
		LogPath:         filepath.Join(logDir, logName(attempt)),
		Labels:          containerLabels(p.pod, c.Name, p.cfg.Owner),
		Annotations:     containerAnnotations(p.pod, c, int32(attempt)),
		Resources:       c.Resources,
		SecurityContext: security,
		Stdin:           c.Stdin,
		TTY:             c.TTY,
	}
	if c.Lifecycle != nil && c.Lifecycle.StopSignal != nil {
		cfg.StopSignal = string(*c.Lifecycle.StopSignal)
	}
	return cfg, nil
}
