package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// runtimeRules are the contract of runtime.Runtime, sentence by sentence.
var runtimeRules = slices.Concat(syncRules, restartRules, observeRules, killRules, powerRules, runtimeWholeRules)

var syncRules = []rule[*runtimeCase]{
	{"sync-start", "SyncPod starts the containers of a pod in a ready sandbox, and has a result of each, without a reason.", syncStart},
	{"sync-idle", "A pass with nothing to do costs no action.", syncIdle},
	{"sync-host-network", "A pod on the node's network runs as any other; its sandbox says so, and is not replaced.", syncHostNetwork},
	{"sync-read-only", "SyncPod does not write to what it is given.", syncReadOnly},
	{"sync-init-order", "Init containers run in order, each to its end before the next one starts, and all before the containers.", syncInitOrder},
	{"sync-init-failed", "A failed init container of a pod that is never restarted keeps the others from starting.", syncInitFailed},
	{"sync-sidecar", "A sidecar is started before the containers, is not waited for, and runs beside them.", syncSidecar},
	{"sync-ephemeral", "An ephemeral container is started in a pod that runs, and does nothing to the others.", syncEphemeral},
	{"sync-start-fails", "A start that fails is in the result with a reason, and keeps no sibling from starting.", syncStartFails},
	{"sync-deleting", "In a pod that is being deleted no container is restarted.", syncDeleting},
	{"sync-cancel", "SyncPod returns soon after its context ended, with the context's error.", syncCancel},
}

func syncStart(c *runtimeCase) error {
	pod := c.pod(v1.RestartPolicyAlways, c.Programs.RunsForever.container("a"), c.Programs.RunsForever.container("b"))
	var results []runtime.StartResult
	acted := false
	err := c.await(func() (bool, error) {
		res, err := c.sync(pod)
		if !acted && !res.Acted && err == nil {
			err = errors.New("the first pass over a pod did not say that it acted")
		}
		acted = true
		results = append(results, res.Containers...)
		if err != nil {
			return false, err
		}
		st, err := c.PodStatus(c.ctx, pod.UID)
		return err == nil && inState(runtime.StateRunning, "a", "b")(st), err
	})
	if err != nil {
		return fmt.Errorf("waiting for a and b to run: %w", err)
	}
	for _, name := range []string{"a", "b"} {
		if !slices.Contains(results, runtime.StartResult{Container: name}) {
			return fmt.Errorf("container %s was started, and the results are %+v", name, results)
		}
	}
	st, err := c.PodStatus(c.ctx, pod.UID)
	if err != nil {
		return err
	}
	a, b := st.Container("a"), st.Container("b")
	switch {
	case st.PodRef != runtime.RefOf(pod):
		return fmt.Errorf("the status is of pod %s, want %s", st.PodRef, runtime.RefOf(pod))
	case len(st.Sandboxes) != 1 || !st.Sandboxes[0].Ready || st.Sandboxes[0].ID == "" || st.Sandboxes[0].CreatedAt.IsZero():
		return fmt.Errorf("its sandboxes are %+v, want one that is ready", st.Sandboxes)
	case len(st.Containers) != 2 || a.ID == b.ID || a.ID == "" || b.ID == "":
		return fmt.Errorf("its containers are %+v, want two with IDs of their own", st.Containers)
	case a.SandboxID != st.Sandboxes[0].ID:
		return fmt.Errorf("container a is in sandbox %s, want %s", a.SandboxID, st.Sandboxes[0].ID)
	case a.StartedAt.IsZero() || a.CreatedAt.IsZero() || !a.FinishedAt.IsZero():
		return fmt.Errorf("container a was created at %v, started at %v, ended at %v", a.CreatedAt, a.StartedAt, a.FinishedAt)
	case a.RestartCount != 0:
		return fmt.Errorf("its first instance has restart count %d", a.RestartCount)
	case a.Hash != runtime.ContainerHash(&pod.Spec.Containers[0]):
		return fmt.Errorf("container a has hash %x, want %x", a.Hash, runtime.ContainerHash(&pod.Spec.Containers[0]))
	case a.Image != pod.Spec.Containers[0].Image:
		return fmt.Errorf("container a has image %q, want %q", a.Image, pod.Spec.Containers[0].Image)
	}
	return nil
}

func syncIdle(c *runtimeCase) error {
	pod, before, err := c.server()
	if err != nil {
		return err
	}
	return c.idle(pod, before)
}

func syncHostNetwork(c *runtimeCase) error {
	pod := c.pod(v1.RestartPolicyAlways, c.Programs.RunsForever.container("main"))
	pod.Spec.HostNetwork = true
	st, err := c.drive(pod, "main to run", inState(runtime.StateRunning, "main"))
	if err != nil {
		return err
	}
	if !st.Sandboxes[0].HostNetwork {
		return fmt.Errorf("its sandbox is %+v", st.Sandboxes[0])
	}
	return c.idle(pod, st)
}

// idle sees that passes over a pod that runs leave it as it is.
func (c *runtimeCase) idle(pod *v1.Pod, before *runtime.PodStatus) error {
	for range 3 {
		res, err := c.sync(pod)
		if err != nil {
			return err
		}
		if res.Acted {
			return fmt.Errorf("a pass over a pod that runs says that it acted: %+v", res)
		}
	}
	after, err := c.PodStatus(c.ctx, pod.UID)
	if err != nil {
		return err
	}
	if len(after.Containers) != 1 || after.Containers[0].ID != before.Containers[0].ID || len(after.Sandboxes) != 1 {
		return fmt.Errorf("passes over a pod that runs changed it:\n%s\n%s", all(before), all(after))
	}
	return nil
}

func syncReadOnly(c *runtimeCase) error {
	pod := c.pod(v1.RestartPolicyAlways, c.Programs.RunsForever.container("main"))
	for range 3 {
		st, err := c.PodStatus(c.ctx, pod.UID)
		if err != nil {
			return err
		}
		podBefore, before := pod.DeepCopy(), copyStatus(st)
		if _, err := c.SyncPod(c.ctx, runtime.SyncRequest{Pod: pod, Status: st}); err != nil {
			return err
		}
		switch {
		case !reflect.DeepEqual(podBefore, pod):
			return fmt.Errorf("the pod was changed from\n%+v to\n%+v", podBefore, pod)
		case !reflect.DeepEqual(before, st):
			return fmt.Errorf("the status was changed from\n%s to\n%s", all(before), all(st))
		}
		if err := c.KillPod(c.ctx, killRequest(pod, shortGrace)); err != nil {
			return err
		}
	}
	return nil
}

func copyStatus(st *runtime.PodStatus) *runtime.PodStatus {
	c := *st
	c.IPs, c.Sandboxes, c.Containers = slices.Clone(st.IPs), slices.Clone(st.Sandboxes), slices.Clone(st.Containers)
	for i := range c.Sandboxes {
		c.Sandboxes[i].IPs = slices.Clone(c.Sandboxes[i].IPs)
	}
	return &c
}

func syncInitOrder(c *runtimeCase) error {
	p, err := c.Programs.exits(0)
	if err != nil {
		return err
	}
	pod := c.pod(v1.RestartPolicyAlways, c.Programs.RunsForever.container("main"))
	pod.Spec.InitContainers = []v1.Container{p.container("one"), p.container("two")}
	ended := map[string]time.Time{}
	started := map[string]time.Time{}
	_, err = c.drive(pod, "main to run", func(st *runtime.PodStatus) bool {
		for _, s := range st.Containers { // those of an earlier pass may be removed
			started[s.Name] = s.StartedAt
			if s.State == runtime.StateExited {
				ended[s.Name] = s.FinishedAt
			}
		}
		return inState(runtime.StateRunning, "main")(st)
	})
	if err != nil {
		return err
	}
	for _, pair := range [][2]string{{"one", "two"}, {"two", "main"}} {
		end, start := ended[pair[0]], started[pair[1]]
		if end.IsZero() || start.Before(end) {
			return fmt.Errorf("%s started at %v, and %s before it ended at %v", pair[1], start, pair[0], end)
		}
	}
	return nil
}

func syncInitFailed(c *runtimeCase) error {
	p, err := c.Programs.exits(3)
	if err != nil {
		return err
	}
	pod := c.pod(v1.RestartPolicyNever, c.Programs.RunsForever.container("main"))
	pod.Spec.InitContainers = []v1.Container{p.container("one"), p.container("two")}
	if _, err := c.drive(pod, "one to end", inState(runtime.StateExited, "one")); err != nil {
		return err
	}
	for range 3 {
		if _, err := c.sync(pod); err != nil {
			return err
		}
	}
	st, err := c.PodStatus(c.ctx, pod.UID)
	if err == nil && (st.Container("two") != nil || st.Container("main") != nil) {
		err = fmt.Errorf("its containers are %s", describe(st))
	}
	return err
}

func syncSidecar(c *runtimeCase) error {
	_, st, err := c.served(c.Programs.RunsForever)
	if err == nil && st.Container("main").StartedAt.Before(st.Container("sidecar").StartedAt) {
		err = errors.New("main started before its sidecar")
	}
	return err
}

func syncEphemeral(c *runtimeCase) error {
	pod, before, err := c.server()
	if err != nil {
		return err
	}
	pod = pod.DeepCopy()
	debug := c.Programs.RunsForever.container("debug")
	pod.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{
		Name: debug.Name, Image: debug.Image, Command: debug.Command, Args: debug.Args, ImagePullPolicy: v1.PullIfNotPresent,
		TerminationMessagePath: v1.TerminationMessagePathDefault, TerminationMessagePolicy: v1.TerminationMessageReadFile,
	}}}
	st, err := c.drive(pod, "debug to run", inState(runtime.StateRunning, "debug"))
	if err == nil && (st.Container("main").ID != before.Container("main").ID || len(st.Sandboxes) != 1) {
		err = fmt.Errorf("it was %s and is %s", all(before), all(st))
	}
	return err
}

func syncStartFails(c *runtimeCase) error {
	if err := c.Programs.CantStart.missing("can't be started"); err != nil {
		return err
	}
	pod := c.pod(v1.RestartPolicyAlways, c.Programs.CantStart.container("broken"), c.Programs.RunsForever.container("main"))
	var reason string
	err := c.await(func() (bool, error) {
		// An error about the pod may come beside the result.
		res, _ := c.sync(pod)
		for _, r := range res.Containers {
			if r.Container == "broken" {
				reason = r.Reason
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("no result for the container whose start fails: %w", err)
	}
	if reason == "" {
		return errors.New("the result of a start that failed has no reason")
	}
	err = c.awaitStatus(pod, "main to run", inState(runtime.StateRunning, "main"))
	return err
}

func syncDeleting(c *runtimeCase) error {
	p, err := c.Programs.exits(3)
	if err != nil {
		return err
	}
	pod := c.pod(v1.RestartPolicyAlways, p.container("main"), c.Programs.RunsForever.container("other"))
	if _, err := c.drive(pod, "main to end", inState(runtime.StateExited, "main")); err != nil {
		return err
	}
	now := metav1.Now()
	deleting := pod.DeepCopy()
	deleting.DeletionTimestamp = &now
	if _, err := c.sync(deleting); err != nil {
		return err
	}
	st, err := c.PodStatus(c.ctx, pod.UID)
	if err == nil && (st.Container("main") == nil || st.Container("main").RestartCount != 0) {
		err = fmt.Errorf("its containers are %s", describe(st))
	}
	return err
}

func syncCancel(c *runtimeCase) error {
	pod := c.pod(v1.RestartPolicyAlways, c.Programs.RunsForever.container("main"))
	st, err := c.PodStatus(c.ctx, pod.UID)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	err = c.result("SyncPod", async(func() error {
		_, err := c.SyncPod(ctx, runtime.SyncRequest{Pod: pod, Status: st})
		return err
	}))
	if !errors.Is(err, context.Canceled) {
		return fmt.Errorf("its error is %w, want the context's", orNone(err))
	}
	return nil
}
