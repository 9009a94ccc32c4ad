package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/runtime"
)

// RuntimeHarness is a Runtime under test and what the suite must know of it.
type RuntimeHarness struct {
	// Runtime is the one to check.
	Runtime runtime.Runtime
	// Programs are the behaviours that its containers can have.
	Programs Programs
	// Limits are those of the Backend under it, if any.
	Limits runtime.BackendLimits
	// Reopen ends the Runtime as a crash of the agent would, and returns
	// another one over the same state. If it is nil, or containers die with
	// the agent, the rules about restarts are skipped.
	Reopen func(ctx context.Context) (runtime.Runtime, error)
	// Close ends the Runtime and all that belongs to it; may be nil.
	Close func() error
}

// TestRuntime checks each rule of [runtime.Runtime] in a subtest. Each gets a harness of its
// own; newRuntime may call t.Parallel. Run it with -race.
func TestRuntime(t *testing.T, newRuntime func(*testing.T) RuntimeHarness) {
	t.Helper()
	opts := Options{}
	suiteOf(runtimeRules).Test(t, func(t *testing.T) conformance.Open[*runtimeCase] {
		h := newRuntime(t)
		return openRuntime(func(context.Context) (RuntimeHarness, error) { return h, nil }, opts)
	}, opts.suite())
}

// CheckRuntime is [TestRuntime] without package testing: the error joins a
// [RuleError] for each rule that is broken.
func CheckRuntime(ctx context.Context, newRuntime func(context.Context) (RuntimeHarness, error), opts Options) error {
	return suiteOf(runtimeRules).Check(ctx, openRuntime(newRuntime, opts), opts.suite())
}

// runtimeCase is one rule being checked on one Runtime.
type runtimeCase struct {
	*bench
	runtime.Runtime
	RuntimeHarness
	pods []*v1.Pod
}

func openRuntime(newRuntime func(context.Context) (RuntimeHarness, error), opts Options) conformance.Open[*runtimeCase] {
	return func(ctx context.Context) (*runtimeCase, func() error, error) {
		b := newBench(ctx, opts)
		h, err := newRuntime(b.ctx)
		if err != nil {
			return nil, nil, err
		}
		c := &runtimeCase{bench: b, Runtime: h.Runtime, RuntimeHarness: h}
		if err := h.Programs.check(); err != nil {
			return nil, nil, errors.Join(err, c.finish())
		}
		return c, c.finish, nil
	}
}

// finish kills and removes the pods of the case, also after its time is over.
func (c *runtimeCase) finish() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), c.patience)
	defer cancel()
	var errs []error
	for _, pod := range c.pods {
		errs = append(errs, c.KillPod(ctx, killRequest(pod, time.Second)))
		if cleaner, ok := c.Runtime.(runtime.Cleaner); ok {
			errs = append(errs, cleaner.RemovePod(ctx, pod.UID))
		}
	}
	if c.Close != nil {
		errs = append(errs, c.Close())
	}
	errs = append(errs, c.noneLeft())
	return errors.Join(errs...)
}

// PodStatus is the Runtime's. It says what all rules rely on and would break for
// reasons that are hard to guess: a status, with the newest first.
func (c *runtimeCase) PodStatus(ctx context.Context, uid types.UID) (*runtime.PodStatus, error) {
	st, err := c.Runtime.PodStatus(ctx, uid)
	switch {
	case err != nil:
		return st, fmt.Errorf("PodStatus of %s: %w", uid, err)
	case st == nil:
		return nil, fmt.Errorf("PodStatus of %s gives neither a status nor an error", uid)
	}
	sorted := copyStatus(st)
	sorted.Sort()
	if got, want := ids(st), ids(sorted); !slices.Equal(got, want) {
		return st, fmt.Errorf("PodStatus of %s does not give the newest first, see PodStatus.Sort: %q instead of %q", uid, got, want)
	}
	return st, nil
}

// ids lists the sandboxes of a status, and its containers name by name: among
// different ones it is not said which is newer.
func ids(st *runtime.PodStatus) (ids []string) {
	for _, s := range st.Sandboxes {
		ids = append(ids, s.ID)
	}
	byName := func(a, b runtime.ContainerStatus) int { return strings.Compare(a.Name, b.Name) }
	for _, c := range slices.SortedStableFunc(slices.Values(st.Containers), byName) {
		ids = append(ids, c.ID)
	}
	return ids
}

// pod makes a pod, which is killed when the case ends.
func (c *runtimeCase) pod(policy v1.RestartPolicy, containers ...v1.Container) *v1.Pod {
	name := c.name("pod")
	grace := int64(30)
	pod := &v1.Pod{}
	pod.Namespace, pod.Name, pod.UID = "default", name, types.UID("uid-"+name)
	pod.Labels = map[string]string{"example.com/suite": "runtimetest"}
	pod.Spec = v1.PodSpec{
		RestartPolicy:                 policy,
		TerminationGracePeriodSeconds: &grace,
		SecurityContext:               &v1.PodSecurityContext{},
		EnableServiceLinks:            new(bool),
		Containers:                    containers,
	}
	for i := range containers {
		containers[i].ImagePullPolicy = v1.PullIfNotPresent
		containers[i].TerminationMessagePath = v1.TerminationMessagePathDefault
		containers[i].TerminationMessagePolicy = v1.TerminationMessageReadFile
	}
	c.pods = append(c.pods, pod)
	return pod
}

func killRequest(pod *v1.Pod, grace time.Duration) runtime.KillRequest {
	return runtime.KillRequest{Ref: runtime.RefOf(pod), Pod: pod, Grace: grace, Deadline: time.Now().Add(grace)}
}

// sync makes one pass over a pod.
func (c *runtimeCase) sync(pod *v1.Pod) (runtime.SyncResult, error) {
	return c.syncWith(runtime.SyncRequest{Pod: pod})
}

// syncWith makes one pass on a fresh status.
func (c *runtimeCase) syncWith(req runtime.SyncRequest) (res runtime.SyncResult, err error) {
	if req.Status, err = c.PodStatus(c.ctx, req.Pod.UID); err != nil {
		return res, err
	}
	req.RestartAll = runtime.RestartAllTriggered(req.Pod, req.Status)
	return c.SyncPod(c.ctx, req)
}

// drive makes passes over a pod until its status is as it should be.
func (c *runtimeCase) drive(pod *v1.Pod, what string, until func(*runtime.PodStatus) bool) (st *runtime.PodStatus, err error) {
	err = c.await(func() (ok bool, err error) {
		if st, err = c.PodStatus(c.ctx, pod.UID); err != nil || until(st) {
			return true, err
		}
		_, err = c.SyncPod(c.ctx, runtime.SyncRequest{Pod: pod, Status: st, RestartAll: runtime.RestartAllTriggered(pod, st)})
		return false, err
	})
	if err != nil {
		err = fmt.Errorf("pod %s: waiting for %s: %w; its containers are %s", pod.Name, what, err, describe(st))
	}
	return st, err
}

// awaitStatus polls until the status of a pod is as it should be.
func (c *runtimeCase) awaitStatus(pod *v1.Pod, what string, until func(*runtime.PodStatus) bool) error {
	var st *runtime.PodStatus
	err := c.await(func() (ok bool, err error) {
		st, err = c.PodStatus(c.ctx, pod.UID)
		return err == nil && until(st), err
	})
	if err != nil {
		err = fmt.Errorf("pod %s: waiting for %s: %w; its containers are %s", pod.Name, what, err, describe(st))
	}
	return err
}

// describe lists the containers of a status.
func describe(st *runtime.PodStatus) string {
	text := "["
	if st != nil {
		for _, c := range st.Containers {
			text += fmt.Sprintf(" %s=%s(%d, restarts %d)", c.Name, c.State, c.ExitCode, c.RestartCount)
		}
	}
	return text + " ]"
}

// inState is for drive: the newest container of each name is in the state.
func inState(state runtime.State, names ...string) func(*runtime.PodStatus) bool {
	return func(st *runtime.PodStatus) bool {
		for _, name := range names {
			if c := st.Container(name); c == nil || c.State != state {
				return false
			}
		}
		return true
	}
}

// up makes a pod and drives it until its container main runs, skipping the rule
// where there is no such program.
func (c *runtimeCase) up(p Program, what string) (*v1.Pod, *runtime.PodStatus, error) {
	if err := p.missing(what); err != nil {
		return nil, nil, err
	}
	pod := c.pod(v1.RestartPolicyAlways, p.container("main"))
	st, err := c.drive(pod, "main to run", inState(runtime.StateRunning, "main"))
	return pod, st, err
}

// server makes a pod whose container runs.
func (c *runtimeCase) server() (*v1.Pod, *runtime.PodStatus, error) {
	return c.up(c.Programs.RunsForever, "runs")
}

// stubborn makes a pod whose container ignores being asked to stop.
func (c *runtimeCase) stubborn() (*v1.Pod, error) {
	if c.Limits.NoGrace {
		return nil, conformance.Skip("the limit NoGrace makes each stop a kill")
	}
	pod, st, err := c.up(c.Programs.IgnoresTerm, "ignores being asked to stop")
	if err != nil {
		return pod, err
	}
	return pod, c.awaitReady(st)
}

// awaitReady polls until main says that it ignores being asked to stop.
func (c *runtimeCase) awaitReady(st *runtime.PodStatus) error {
	logs, ok := c.Runtime.(runtime.LogReader)
	if !ok {
		return nil
	}
	return c.awaitLog(logs, st.Container("main").ID, "ready")
}

// served makes a pod whose container main has a sidecar, both of which run.
func (c *runtimeCase) served(main Program) (*v1.Pod, *runtime.PodStatus, error) {
	pod := c.pod(v1.RestartPolicyAlways, main.container("main"))
	sidecar := c.Programs.RunsForever.container("sidecar")
	sidecar.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
	pod.Spec.InitContainers = []v1.Container{sidecar}
	st, err := c.drive(pod, "sidecar and main to run", inState(runtime.StateRunning, "sidecar", "main"))
	return pod, st, err
}

// awaitLog polls until the log of a container shows a text.
func (c *runtimeCase) awaitLog(logs runtime.LogReader, id, text string) error {
	var log []byte
	err := c.await(func() (bool, error) {
		r, err := logs.Logs(c.ctx, id, runtime.LogOptions{})
		if err != nil {
			return errors.Is(err, runtime.ErrNotSupported), ignore(err, runtime.ErrNotSupported)
		}
		log, err = io.ReadAll(r)
		return containsText(log, text), errors.Join(err, r.Close())
	})
	if err != nil {
		return fmt.Errorf("the log of container %s does not show %q: %w; it holds %q", id, text, err, log)
	}
	return nil
}

// ignore returns nil for an error of that kind.
func ignore(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}

// listed returns the pod's item in the list of pods, or nil.
func (c *runtimeCase) listed(uid types.UID) (*runtime.ListedPod, error) {
	pods, err := c.ListPods(c.ctx)
	var found *runtime.ListedPod
	for i := range pods {
		if pods[i].UID != uid {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("pod %s is twice in the list", uid)
		}
		found = &pods[i]
	}
	return found, err
}
