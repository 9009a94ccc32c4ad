package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

var restartRules = []rule[*runtimeCase]{
	{"exit", "A container that ended is exited, with exit code, reason and time, and stays visible.", exitVisible},
	{"restart-never", "A container that ended is not restarted under Never, nor under OnFailure if it succeeded.", restartNever},
	{"restart-ended", "A container that is said to have ended for good is not started, also if the runtime knows nothing of it.", restartEnded},
	{"restart-count", "A container that is restarted has a new ID, and a restart count that is one more; the instance before it comes after it in the status.", restartCount},
	{"restart-backoff", "A container that ends again and again has to wait, with the reason CrashLoopBackOff and the time to come back.", restartBackoff},
	{"restart-rest", "While a container waits, passes do nothing more once the instances that nobody needs were removed.", restartRest},
	{"restart-all", "A rule that restarts all containers has each begin anew, with a restart count that is one more, and leaves nothing of what was before.", restartAll},
	{"restart-stopped", "A pod that was stopped as a whole starts again in another sandbox, of a higher attempt, and its restart counts go on.", restartStopped},
	{"restart-definition", "A container of another definition is restarted, with the hash of the new one.", restartDefinition},
	{"restart-liveness", "A container whose liveness probe failed is killed and restarted; the verdict counts for that instance alone.", restartLiveness},
	{"restart-grace", "A container that is killed for its liveness probe gets the grace of that probe, where it has one.", restartGrace},
}

func exitVisible(c *runtimeCase) error {
	for _, code := range []int32{0, 3} {
		p, err := c.Programs.exits(code)
		if err != nil {
			return err
		}
		pod := c.pod(v1.RestartPolicyNever, p.container("main"))
		if _, err := c.drive(pod, "main to end", inState(runtime.StateExited, "main")); err != nil {
			return err
		}
		if _, err := c.sync(pod); err != nil {
			return err
		}
		st, err := c.PodStatus(c.ctx, pod.UID)
		if err != nil {
			return err
		}
		main := st.Container("main")
		switch {
		case main == nil:
			return errors.New("a container that ended is not visible any more")
		case main.ExitCode != code:
			return fmt.Errorf("its exit code is %d, want %d", main.ExitCode, code)
		case main.Reason == "" || code == 0 && main.Reason != reasonCompleted || code != 0 && main.Reason == reasonCompleted:
			return fmt.Errorf("its reason is %q with exit code %d", main.Reason, code)
		case main.StartedAt.IsZero() || main.FinishedAt.Before(main.StartedAt):
			return fmt.Errorf("it started at %v and ended at %v", main.StartedAt, main.FinishedAt)
		}
	}
	return nil
}

func restartEnded(c *runtimeCase) error {
	pod := c.pod(v1.RestartPolicyNever, c.Programs.RunsForever.container("main"), c.Programs.RunsForever.container("ended"))
	err := c.await(func() (bool, error) {
		st, err := c.PodStatus(c.ctx, pod.UID)
		if err != nil || inState(runtime.StateRunning, "main")(st) {
			return true, err
		}
		_, err = c.SyncPod(c.ctx, runtime.SyncRequest{Pod: pod, Status: st, Ended: map[string]bool{"ended": true}})
		return false, err
	})
	if err != nil {
		return fmt.Errorf("waiting for main to run: %w", err)
	}
	st, err := c.PodStatus(c.ctx, pod.UID)
	if err == nil && st.Container("ended") != nil {
		err = fmt.Errorf("its containers are %s", describe(st))
	}
	return err
}

func restartNever(c *runtimeCase) error {
	for code, policy := range map[int32]v1.RestartPolicy{3: v1.RestartPolicyNever, 0: v1.RestartPolicyOnFailure} {
		p, err := c.Programs.exits(code)
		if err != nil {
			return err
		}
		pod := c.pod(policy, p.container("main"))
		st, err := c.drive(pod, "main to end", inState(runtime.StateExited, "main"))
		if err != nil {
			return err
		}
		id := st.Container("main").ID
		for range 3 {
			if _, err := c.sync(pod); err != nil {
				return err
			}
		}
		if st, err = c.PodStatus(c.ctx, pod.UID); err != nil {
			return err
		}
		if len(st.Containers) != 1 || st.Containers[0].ID != id {
			return fmt.Errorf("under %s with exit code %d its containers are %s", policy, code, describe(st))
		}
	}
	return nil
}

func restartCount(c *runtimeCase) error {
	p, err := c.Programs.exits(3)
	if err != nil {
		return err
	}
	pod := c.pod(v1.RestartPolicyAlways, p.container("main"))
	st, err := c.drive(pod, "main to end", inState(runtime.StateExited, "main"))
	if err != nil {
		return err
	}
	first := *st.Container("main")
	st, err = c.drive(pod, "another instance of main", func(st *runtime.PodStatus) bool {
		return st.Container("main") != nil && st.Container("main").ID != first.ID
	})
	if err != nil {
		return err
	}
	second := *st.Container("main")
	if first.RestartCount != 0 || second.RestartCount != 1 {
		return fmt.Errorf("the restart counts are %d and then %d, want 0 and 1", first.RestartCount, second.RestartCount)
	}
	for i := 1; i < len(st.Containers); i++ {
		if st.Containers[i].CreatedAt.After(st.Containers[i-1].CreatedAt) {
			return fmt.Errorf("the containers are not newest first: %s", describe(st))
		}
	}
	return nil
}

func restartBackoff(c *runtimeCase) error {
	p, err := c.Programs.exits(3)
	if err != nil {
		return err
	}
	pod := c.pod(v1.RestartPolicyAlways, p.container("main"))
	var res runtime.SyncResult
	waits := func(r runtime.StartResult) bool {
		return r.Container == "main" && r.Reason == runtime.ReasonCrashLoopBackOff
	}
	err = c.await(func() (ok bool, err error) {
		res, err = c.sync(pod)
		return slices.ContainsFunc(res.Containers, waits), err
	})
	if err != nil {
		return fmt.Errorf("no container waits: %w; the last result is %+v", err, res)
	}
	if !res.RetryAt.After(time.Now()) {
		return fmt.Errorf("RetryAt is %v, want a time to come", res.RetryAt)
	}
	return nil
}

func restartRest(c *runtimeCase) error {
	p, err := c.Programs.exits(3)
	if err != nil {
		return err
	}
	pod := c.pod(v1.RestartPolicyAlways, p.container("main"))
	var res runtime.SyncResult
	err = c.await(func() (rests bool, err error) {
		res, err = c.sync(pod)
		return !res.RetryAt.IsZero() && !res.Acted, err
	})
	if err != nil {
		return fmt.Errorf("each pass says that it acted, or does not say when to come back: %w; the last result is %+v", err, res)
	}
	st, err := c.PodStatus(c.ctx, pod.UID)
	if err == nil && len(st.Containers) != 1 {
		err = fmt.Errorf("its containers are %s, want the newest alone", describe(st))
	}
	return err
}

func restartAll(c *runtimeCase) error {
	p, err := c.Programs.exits(3)
	if err != nil {
		return err
	}
	pod := c.pod(v1.RestartPolicyAlways, p.container("main"), c.Programs.RunsForever.container("other"))
	main := &pod.Spec.Containers[0]
	main.RestartPolicy = new(v1.ContainerRestartPolicyNever)
	main.RestartPolicyRules = []v1.ContainerRestartRule{{
		Action:    v1.ContainerRestartRuleActionRestartAllContainers,
		ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{3}},
	}}
	st, err := c.drive(pod, "other to run", inState(runtime.StateRunning, "other"))
	if err != nil {
		return err
	}
	first := *st.Container("other") // main may have ended before it ran
	st, err = c.drive(pod, "another instance of other", func(st *runtime.PodStatus) bool {
		other := st.Container("other")
		return other != nil && other.ID != first.ID
	})
	if err != nil {
		return err
	}
	was := func(i runtime.ContainerStatus) bool { return i.ID == first.ID }
	if st.Container("other").RestartCount != first.RestartCount+1 || slices.ContainsFunc(st.Containers, was) {
		err = fmt.Errorf("its restart count was %d, and its containers are %s", first.RestartCount, describe(st))
	}
	return err
}

func restartStopped(c *runtimeCase) error {
	pod, before, err := c.server()
	if err != nil {
		return err
	}
	if err := c.KillPod(c.ctx, killRequest(pod, shortGrace)); err != nil {
		return err
	}
	st, err := c.drive(pod, "main to run again", inState(runtime.StateRunning, "main"))
	if err != nil {
		return err
	}
	switch now, was := st.Sandboxes[0], before.Sandboxes[0]; {
	case now.ID == was.ID || now.Attempt <= was.Attempt:
		err = fmt.Errorf("its newest sandbox is %s of attempt %d after %s of attempt %d", now.ID, now.Attempt, was.ID, was.Attempt)
	case st.Container("main").SandboxID != now.ID || st.Container("main").RestartCount != 1:
		err = fmt.Errorf("main is in sandbox %s and has restart count %d, want %s and 1", st.Container("main").SandboxID, st.Container("main").RestartCount, now.ID)
	}
	return err
}

func restartDefinition(c *runtimeCase) error {
	if err := c.Programs.Other.missing("runs and has another image"); err != nil {
		return err
	}
	pod, st, err := c.server()
	if err != nil {
		return err
	}
	first := *st.Container("main")
	changed := pod.DeepCopy()
	other := c.Programs.Other.container("main")
	main := &changed.Spec.Containers[0]
	main.Image, main.Command, main.Args = other.Image, other.Command, other.Args
	st, err = c.drive(changed, "another instance of main to run", func(st *runtime.PodStatus) bool {
		return inState(runtime.StateRunning, "main")(st) && st.Container("main").ID != first.ID
	})
	if err != nil {
		return err
	}
	if got, want := st.Container("main").Hash, runtime.ContainerHash(main); got != want {
		return fmt.Errorf("the new instance has hash %x, want %x", got, want)
	}
	return nil
}

func restartLiveness(c *runtimeCase) error {
	pod, st, err := c.server()
	if err != nil {
		return err
	}
	first := st.Container("main").ID
	probes := runtime.ProbeVerdicts{Liveness: map[string]runtime.Verdict{first: runtime.VerdictFailure}}
	for range 3 {
		if _, err := c.syncWith(runtime.SyncRequest{Pod: pod, Probes: probes}); err != nil {
			return err
		}
	}
	st, err = c.drive(pod, "another instance of main to run", func(st *runtime.PodStatus) bool {
		return inState(runtime.StateRunning, "main")(st) && st.Container("main").ID != first
	})
	if err == nil && st.Container("main").RestartCount != 1 {
		err = fmt.Errorf("its restart count is %d, want 1", st.Container("main").RestartCount)
	}
	return err
}

func restartGrace(c *runtimeCase) error {
	short := int64(shortGrace / time.Second)
	sync, err := c.replacing(c.ctx, &v1.Probe{TerminationGracePeriodSeconds: &short})
	if err != nil {
		return err
	}
	return c.result("SyncPod", sync)
}

// replacing begins a pass over a pod whose container ignores being asked to stop and
// has failed this liveness probe. The grace of the pod is one that no rule waits out.
func (c *runtimeCase) replacing(ctx context.Context, liveness *v1.Probe) (<-chan error, error) {
	pod, err := c.stubborn()
	if err != nil {
		return nil, err
	}
	pod = pod.DeepCopy()
	pod.Spec.TerminationGracePeriodSeconds = new(int64(c.longGrace() / time.Second))
	liveness.Exec = &v1.ExecAction{Command: []string{"check"}}
	pod.Spec.Containers[0].LivenessProbe = liveness
	st, err := c.PodStatus(c.ctx, pod.UID)
	if err != nil {
		return nil, err
	}
	failed := runtime.ProbeVerdicts{Liveness: map[string]runtime.Verdict{st.Container("main").ID: runtime.VerdictFailure}}
	return async(func() error {
		_, err := c.SyncPod(ctx, runtime.SyncRequest{Pod: pod, Status: st, Probes: failed})
		return err
	}), nil
}
