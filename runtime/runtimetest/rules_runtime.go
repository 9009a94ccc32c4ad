package runtimetest

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/runtime"
)

var runtimeWholeRules = []rule[*runtimeCase]{
	{"independent", "A call for one pod that is slow delays no call for another pod.", runtimeIndependent},
	{"independent-sync", "A SyncPod that waits for a container delays no call for another pod, and ends with its context.", runtimeIndependentSync},
	{"concurrent", "Calls for different pods may come concurrently.", runtimeConcurrent},
	{"reopen", "Pods outlive the agent: the next one sees the same containers, and restarts none.", runtimeReopen},
	{"no-goroutine-left", "No goroutine is left once it was closed.", runtimeLeaks},
}

func runtimeIndependent(c *runtimeCase) error {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	if _, _, err := c.underWay(ctx, c.longGrace()); err != nil {
		return err
	}
	other := c.pod(v1.RestartPolicyAlways, c.Programs.RunsForever.container("main"))
	return c.result("the life of another pod", async(func() error { return c.lifeOf(other) }))
}

func runtimeIndependentSync(c *runtimeCase) error {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	sync, err := c.replacing(ctx, &v1.Probe{})
	if err != nil {
		return err
	}
	if err := c.pending("SyncPod", sync); err != nil {
		return err
	}
	other := c.pod(v1.RestartPolicyAlways, c.Programs.RunsForever.container("main"))
	if err := c.result("the life of another pod", async(func() error { return c.lifeOf(other) })); err != nil {
		return err
	}
	cancel()
	if err := c.result("SyncPod", sync); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("its error is %w, want the context's", orNone(err))
	}
	return nil
}

// lifeOf lets a pod go through all that pods go through.
func (c *runtimeCase) lifeOf(pod *v1.Pod) error {
	if _, err := c.drive(pod, "main to run", inState(runtime.StateRunning, "main")); err != nil {
		return err
	}
	item, err := c.listed(pod.UID)
	if err == nil && (item == nil || !item.Running) {
		err = fmt.Errorf("pod %s runs and is not in the list as such", pod.Name)
	}
	return errors.Join(err, c.KillPod(c.ctx, killRequest(pod, shortGrace)))
}

func runtimeConcurrent(c *runtimeCase) error {
	const pods = 8
	var lives []<-chan error
	for range pods {
		pod := c.pod(v1.RestartPolicyAlways, c.Programs.RunsForever.container("main"))
		lives = append(lives, async(func() error { return c.lifeOf(pod) }))
	}
	var errs []error
	for _, life := range lives {
		errs = append(errs, c.result("the life of a pod", life))
	}
	return errors.Join(errs...)
}

func runtimeReopen(c *runtimeCase) error {
	switch {
	case c.Limits.DiesWithAgent:
		return conformance.Skip("the limit DiesWithAgent")
	case c.Reopen == nil:
		return conformance.Skip("the host gives no way to reopen it")
	}
	pod, before, err := c.server()
	if err != nil {
		return err
	}
	dead, _, err := c.server()
	if err != nil {
		return err
	}
	if err := c.KillPod(c.ctx, killRequest(dead, shortGrace)); err != nil {
		return err
	}
	deadBefore, err := c.PodStatus(c.ctx, dead.UID)
	if err != nil {
		return err
	}
	next, err := c.Reopen(c.ctx)
	if err != nil {
		return fmt.Errorf("reopening it: %w", err)
	}
	c.Runtime = next
	if err := c.sameAfter(pod, before); err != nil {
		return err
	}
	if err := c.sameAfter(dead, deadBefore); err != nil {
		return err
	}
	if _, err := c.sync(pod); err != nil {
		return err
	}
	if err := c.sameAfter(pod, before); err != nil {
		return fmt.Errorf("after a pass: %w", err)
	}
	if err := c.KillPod(c.ctx, killRequest(pod, shortGrace)); err != nil {
		return err
	}
	st, err := c.PodStatus(c.ctx, pod.UID)
	if err == nil && st.Running() {
		err = fmt.Errorf("after KillPod its containers are %s", describe(st))
	}
	return err
}

// sameAfter gives an error unless the pod's containers are the ones of before.
func (c *runtimeCase) sameAfter(pod *v1.Pod, before *runtime.PodStatus) error {
	st, err := c.PodStatus(c.ctx, pod.UID)
	if err != nil {
		return err
	}
	if st.PodRef != before.PodRef || len(st.Containers) != len(before.Containers) || len(st.Sandboxes) != len(before.Sandboxes) {
		return fmt.Errorf("pod %s has containers %s, want %s", st.PodRef, describe(st), describe(before))
	}
	for i, was := range before.Containers {
		is := st.Containers[i]
		if is.ID != was.ID || is.Name != was.Name || is.State != was.State || is.ExitCode != was.ExitCode ||
			is.RestartCount != was.RestartCount || is.Hash != was.Hash || is.StartedAt.UnixMilli() != was.StartedAt.UnixMilli() {
			return fmt.Errorf("container %s was\n%+v\nand is\n%+v", was.Name, was, is)
		}
	}
	return nil
}

// runtimeLeaks uses all that may start a goroutine; finish looks for what is left.
func runtimeLeaks(c *runtimeCase) error {
	c.noLeaks = true
	if w, ok := c.Runtime.(runtime.Watcher); ok {
		watch := c.watch(w)
		defer watch.cancel()
	}
	pod, st, err := c.server()
	if err != nil {
		return err
	}
	if e, ok := c.Runtime.(runtime.Execer); ok && !c.Limits.NoExec && len(c.Programs.ExecHangs) > 0 {
		if err := execCancelled(c.bench, e, st.Container("main").ID, c.Programs.ExecHangs); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	_ = c.KillPod(ctx, killRequest(pod, shortGrace)) // ends with the context, at any point
	return c.KillPod(c.ctx, killRequest(pod, shortGrace))
}
