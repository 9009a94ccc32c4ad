package runtimetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// Fake is a [runtime.Runtime] in memory. It behaves: containers start in the
// order that the kubelet keeps, end as their [Script] says, are restarted by
// policy with a growing count, and stop within their grace. Hooks take time, fail or
// hang where they are told to. A test asks it for the state that resulted, never for
// the calls that were made.
//
// It holds the pods of one node, keyed by UID. It starts no goroutine, and an
// idle container owns no timer. Time is package time, so that it runs in a
// bubble of testing/synctest. All its methods may be called concurrently.
//
// It is a [runtime.Watcher], Cleaner, Execer, LogReader, StatsProvider and Resizer;
// [Bare] hides these. It outlives the agent: a test of a restart gives the
// same Fake to the next loop.
//
// What it does not do: pull images (each is present, ImagePuller is missing),
// run probes, send events other than of hooks that failed, make volumes,
// environments or log files, enforce the resources that it notes, write a termination message
// file, tell one network from another (pods get addresses that nothing answers
// at), or survive its process. A container of it prints its script's Output at
// its start and nothing more. Where a test needs more of this, package
// podruntime over a [FakeBackend] does it.
type Fake struct {
	script  ScriptFunc
	hook    ScriptFunc
	events  runtime.EventRecorder
	backoff runtime.BackoffConfig

	mu        sync.Mutex
	pods      map[types.UID]*fakePod
	lives     map[types.UID]int // of pods that it has had and has no more
	revision  uint64
	addresses int        // that were given to sandboxes
	watchers  []*watcher // replaced, never written to
	unsent    []unsent
}

var (
	_ runtime.Runtime = (*Fake)(nil)
	_ runtime.Watcher = (*Fake)(nil)
)

// FakeConfig configures a [Fake]. The zero value is usable.
type FakeConfig struct {
	// Script chooses how containers behave; ByCommand by default.
	Script ScriptFunc
	// Hook chooses how the exec hooks of containers behave; ByCommand by default,
	// so that one succeeds at once unless its command was made by [Script.Command].
	// It is asked at the start of the container, with its Instance but the command of
	// the hook, and Init set, for a hook is to end. A script that exits takes RunFor,
	// and fails with an ExitCode; one that does not hangs until the container has
	// ended; one with a StartError fails at once. The rest of it means nothing.
	// Sleep hooks sleep, and all others succeed at once.
	Hook ScriptFunc
	// Events receives FailedPostStartHook and FailedPreStopHook. Default: none.
	Events runtime.EventRecorder
	// Backoff sets the pace of restarts; the zero value is the kubelet's.
	Backoff runtime.BackoffConfig
}

// NewFake returns a node without pods.
func NewFake(cfg FakeConfig) *Fake {
	if cfg.Script == nil {
		cfg.Script = ByCommand
	}
	if cfg.Hook == nil {
		cfg.Hook = ByCommand
	}
	return &Fake{
		script: cfg.Script, hook: cfg.Hook, events: cfg.Events, backoff: cfg.Backoff,
		pods: map[types.UID]*fakePod{}, lives: map[types.UID]int{},
	}
}

// fakePod is what a Fake keeps for one pod, oldest first.
type fakePod struct {
	ref        runtime.PodRef
	revision   uint64
	sandboxes  []runtime.SandboxStatus
	containers []*fakeContainer
	// kills counts calls of KillPod, so that a SyncPod that was overtaken
	// starts nothing after it.
	kills int
	// closing is set while the pod is killed: once nothing of it runs, its
	// sandboxes are closed.
	closing bool
	backoff runtime.Backoff
}

// drop forgets a pod. No instance of its next life has the ID of one of this.
func (f *Fake) drop(uid types.UID) {
	delete(f.pods, uid)
	f.lives[uid]++
}

// fakeContainer is one instance of a container.
type fakeContainer struct {
	process
	id        string
	name      string
	sandboxID string
	attempt   int32
	hash      uint64
	image     string
	resources v1.ResourceRequirements
	// stopBy is when it is killed, zero until it is to stop; it is asked to
	// end once those with the IDs in after have ended.
	stopBy time.Time
	after  []string
	// preStop is run before that, nil when there is nothing to run any more. Since
	// hookSince it runs, and after it nobody kills the container until spareUntil.
	preStop               *hook
	hookSince, spareUntil time.Time
}

// ListPods implements [runtime.Runtime]. The pods come in order of UID.
func (f *Fake) ListPods(ctx context.Context) ([]runtime.ListedPod, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	f.mu.Lock()
	pods := make([]runtime.ListedPod, 0, len(f.pods))
	for _, p := range f.pods {
		pods = append(pods, runtime.ListedPod{PodRef: p.ref, Running: p.live(), Revision: p.revision})
	}
	f.mu.Unlock()
	slices.SortFunc(pods, func(a, b runtime.ListedPod) int { return cmp.Compare(a.UID, b.UID) })
	return pods, nil
}

// PodStatus implements [runtime.Runtime].
func (f *Fake) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("status of pod %s: %w", uid, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if p := f.pods[uid]; p != nil {
		return p.status(now), nil
	}
	return &runtime.PodStatus{PodRef: runtime.PodRef{UID: uid}, ObservedAt: now}, nil
}

// live tells whether anything of the pod may run.
func (p *fakePod) live() bool {
	for i := range p.sandboxes {
		if p.sandboxes[i].Ready {
			return true
		}
	}
	return p.running() != nil
}

// running returns a container that may run, or nil.
func (p *fakePod) running() *fakeContainer {
	for _, c := range p.containers {
		if c.mayRun() {
			return c
		}
	}
	return nil
}

// newest returns the newest instance of the name, or nil.
func (p *fakePod) newest(name string) *fakeContainer {
	for _, c := range slices.Backward(p.containers) {
		if c.name == name {
			return c
		}
	}
	return nil
}

// byID returns the container of that ID, or nil.
func (p *fakePod) byID(id string) *fakeContainer {
	for _, c := range p.containers {
		if c.id == id {
			return c
		}
	}
	return nil
}

// status is the snapshot that PodStatus hands out.
func (p *fakePod) status(now time.Time) *runtime.PodStatus {
	st := &runtime.PodStatus{PodRef: p.ref, ObservedAt: now}
	st.Sandboxes = make([]runtime.SandboxStatus, 0, len(p.sandboxes))
	for _, s := range slices.Backward(p.sandboxes) {
		s.IPs = slices.Clone(s.IPs)
		st.Sandboxes = append(st.Sandboxes, s)
	}
	if len(st.Sandboxes) > 0 && st.Sandboxes[0].Ready {
		st.IPs = st.Sandboxes[0].IPs
	}
	st.Containers = make([]runtime.ContainerStatus, 0, len(p.containers))
	for _, c := range slices.Backward(p.containers) {
		st.Containers = append(st.Containers, c.status())
	}
	return st
}

func (c *fakeContainer) status() runtime.ContainerStatus {
	return runtime.ContainerStatus{
		ID: c.id, Name: c.name, SandboxID: c.sandboxID, State: c.state,
		CreatedAt: c.created, StartedAt: c.started, FinishedAt: c.finished,
		ExitCode: c.code, Reason: c.reason, Message: c.message,
		RestartCount: c.attempt, Hash: c.hash, Resources: &c.resources,
		Image: c.image, ImageRef: c.image,
	}
}

// update runs what under the lock for a pod that is known, and tells the
// watchers afterwards if it changed the pod. It reports whether the pod is known.
func (f *Fake) update(uid types.UID, what func(*fakePod) (changed bool)) bool {
	f.mu.Lock()
	p := f.pods[uid]
	changed := p != nil && what(p)
	if changed {
		f.revision++
		p.revision = f.revision
	}
	watchers, events := f.watchers, f.unsent
	f.unsent = nil
	f.mu.Unlock()
	f.send(events)
	if changed {
		tell(watchers, uid)
	}
	return p != nil
}
