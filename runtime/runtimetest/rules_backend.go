package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/runtime"
)

// backendRules are the contract of runtime.Backend, sentence by sentence.
var backendRules = slices.Concat(
	[]rule[*backendCase]{
		{"info", "Info names the backend.", backendInfo},
	},
	sandboxRules, containerRules, stopRules, backendWholeRules,
)

func backendInfo(c *backendCase) error {
	info, err := c.Info(c.ctx)
	if err == nil && info.Name == "" {
		err = errors.New("its name is empty")
	}
	return err
}

var backendWholeRules = []rule[*backendCase]{
	{"independent", "A call for one pod that is slow delays no call for another pod.", backendIndependent},
	{"concurrent", "A Backend is safe for concurrent use.", backendConcurrent},
	{"watch", "A Watcher says with an empty UID that it has begun, hints at each change of a pod, and returns when its context ends.", backendWatch},
	{"exec", "Exec gives what the command printed and its exit code; one that fails is no error.", backendExec},
	{"exec-cancel", "When its context ends, Exec kills the command and returns soon, with the context's error.", backendExecCancel},
	{"exec-unknown", "Exec in a container that is unknown or ended is an error, ErrNotFound for an unknown one.", backendExecUnknown},
	{"reopen", "Sandboxes and containers outlive the agent: the next one sees the same ones, unchanged, and can stop them.", backendReopen},
	{"no-goroutine-left", "No goroutine is left once it was closed.", backendLeaks},
}

func backendIndependent(c *backendCase) error {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	if _, _, err := c.underWay(ctx, c.longGrace()); err != nil {
		return err
	}
	cfg := c.sandboxConfig()
	if err := c.makeLogDir(cfg); err != nil {
		return err
	}
	return c.result("the life of another pod", async(func() error { return c.lifeOf(cfg) }))
}

// lifeOf makes a pod and lets it go through all that pods go through.
func (c *backendCase) lifeOf(cfg runtime.SandboxConfig) error {
	sandboxID, err := c.CreateSandbox(c.ctx, cfg)
	if err != nil {
		return err
	}
	id, err := c.start(cfg, sandboxID, "main", c.Programs.RunsForever)
	if err != nil {
		return errors.Join(err, c.RemoveSandbox(c.ctx, sandboxID))
	}
	list, err := c.ListContainers(c.ctx, runtime.Filter{PodUID: cfg.UID})
	if err == nil && (len(list) != 1 || list[0].ID != id) {
		err = fmt.Errorf("the list of its containers is %+v, want %s alone", list, id)
	}
	return errors.Join(err,
		c.running(id),
		c.StopContainer(c.ctx, id, shortGrace),
		c.StopSandbox(c.ctx, sandboxID),
		c.RemoveContainer(c.ctx, id),
		c.RemoveSandbox(c.ctx, sandboxID),
	)
}

func backendConcurrent(c *backendCase) error {
	const pods = 8
	var calls []<-chan error
	for range pods {
		cfg := c.sandboxConfig()
		if err := c.makeLogDir(cfg); err != nil {
			return err
		}
		calls = append(calls, async(func() error { return c.lifeOf(cfg) }))
		calls = append(calls, async(func() error {
			_, err := c.ListSandboxes(c.ctx, runtime.Filter{})
			_, err2 := c.ListContainers(c.ctx, runtime.Filter{})
			return errors.Join(err, err2)
		}))
	}
	var errs []error
	for _, call := range calls {
		errs = append(errs, c.result("a call", call))
	}
	return errors.Join(errs...)
}

func backendWatch(c *backendCase) error {
	w, ok := c.Backend.(runtime.Watcher)
	if !ok {
		return conformance.Skip("it is no Watcher")
	}
	watch := c.watch(w)
	defer watch.cancel()
	var cfg runtime.SandboxConfig
	var sandboxID string
	err := watch.begun(func() (uid types.UID, err error) {
		cfg, sandboxID, err = c.sandbox()
		return cfg.UID, err
	})
	if err != nil {
		return err
	}
	id, err := c.CreateContainer(c.ctx, sandboxID, c.containerConfig(cfg, "main", 0, c.Programs.RunsForever))
	if err != nil {
		return err
	}
	if err := watch.after("StartContainer", cfg.UID, func() error { return c.StartContainer(c.ctx, id) }); err != nil {
		return err
	}
	if err := watch.after("StopContainer", cfg.UID, func() error { return c.StopContainer(c.ctx, id, shortGrace) }); err != nil {
		return err
	}
	if err := watch.after("StopSandbox", cfg.UID, func() error { return c.StopSandbox(c.ctx, sandboxID) }); err != nil {
		return err
	}
	return watch.end()
}

func backendReopen(c *backendCase) error {
	switch {
	case c.limits.DiesWithAgent:
		return conformance.Skip("its limit DiesWithAgent")
	case c.Reopen == nil:
		return conformance.Skip("the host gives no way to reopen it")
	}
	sb, sandboxID, err := c.sandbox()
	if err != nil {
		return err
	}
	running, err := c.start(sb, sandboxID, "running", c.Programs.RunsForever)
	if err != nil {
		return err
	}
	ended, err := c.start(sb, sandboxID, "ended", c.Programs.RunsForever)
	if err != nil {
		return err
	}
	created, err := c.CreateContainer(c.ctx, sandboxID, c.containerConfig(sb, "created", 0, c.Programs.RunsForever))
	if err != nil {
		return err
	}
	if err := c.StopContainer(c.ctx, ended, shortGrace); err != nil {
		return err
	}
	ids := []string{running, ended, created}
	before, err := c.snapshot(sandboxID, ids)
	if err != nil {
		return err
	}
	next, err := c.Reopen(c.ctx)
	if err != nil {
		return fmt.Errorf("reopening it: %w", err)
	}
	c.Backend = next
	after, err := c.snapshot(sandboxID, ids)
	if err != nil {
		return err
	}
	for i := range before {
		if before[i] != after[i] {
			return fmt.Errorf("before:\n%s\nafter:\n%s", before[i], after[i])
		}
	}
	if err := c.StopContainer(c.ctx, running, shortGrace); err != nil {
		return err
	}
	_, err = c.awaitExit(running)
	return err
}

// snapshot describes a sandbox and its containers in a form that can be
// compared.
func (c *backendCase) snapshot(sandboxID string, ids []string) ([]string, error) {
	s, err := c.SandboxStatus(c.ctx, sandboxID)
	if err != nil {
		return nil, err
	}
	list, err := c.ListContainers(c.ctx, runtime.Filter{PodUID: s.UID})
	if err != nil {
		return nil, err
	}
	var listed []string
	for _, l := range list {
		listed = append(listed, l.ID)
	}
	slices.Sort(listed)
	lines := []string{
		fmt.Sprintf("%s %s %d %v %v %q %q", s.ID, s.PodRef, s.Attempt, s.Ready, s.CreatedAt.UnixMilli(), s.Labels, s.Annotations),
		fmt.Sprint(listed),
	}
	for _, id := range ids {
		st, err := c.ContainerStatus(c.ctx, id)
		if err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprintf("%s %s %d %s created=%d started=%d ended=%d exit=%d %s %s %q %q", st.ID, st.Name, st.Attempt, st.State,
			st.CreatedAt.UnixMilli(), st.StartedAt.UnixMilli(), st.FinishedAt.UnixMilli(), st.ExitCode, st.Reason, st.Image, st.Labels, st.Annotations))
	}
	return lines, nil
}

// backendLeaks uses all that may start a goroutine; finish looks for what is left.
func backendLeaks(c *backendCase) error {
	c.noLeaks = true
	if w, ok := c.Backend.(runtime.Watcher); ok {
		watch := c.watch(w)
		defer watch.cancel()
	}
	sandboxID, id, err := c.started(c.Programs.RunsForever, "runs")
	if err != nil {
		return err
	}
	if e, err := c.execer(len(c.Programs.ExecHangs) == 0); err == nil {
		if err := execCancelled(c.bench, e, id, c.Programs.ExecHangs); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	_ = c.StopContainer(ctx, id, shortGrace) // ends with the context, at any point
	return c.StopSandbox(c.ctx, sandboxID)
}
