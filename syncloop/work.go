package syncloop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/probe"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// sync makes one pass that brings a pod nearer to its spec. It goes by a status
// that it reads itself, so that no pass acts on what was before the last one.
func (j *job) sync(ctx context.Context) error {
	if err := j.observe(ctx); err != nil {
		j.warn(ctx, "FailedSync", "error determining status: %v", err)
		return fmt.Errorf("determine status: %w", err)
	}
	j.followResize()
	j.sentenceStranded(ctx)
	status := j.say(podstatus.Compute)
	if status.Terminal {
		j.outcome.Terminal = true
		return nil
	}
	j.loop.reconcileMirror(ctx, j.desired)
	res, err := j.loop.cfg.Runtime.SyncPod(ctx, runtime.SyncRequest{
		Pod: j.input.Pod, Status: j.input.Observed, RestartAll: j.input.RestartAll, Ended: status.Ended,
		Probes: runtime.ProbeVerdicts{Liveness: j.verdicts.of(probe.Liveness), Startup: j.verdicts.of(probe.Startup)},
	})
	j.outcome.RetryAt = res.RetryAt
	said := j.recordStarts(res.Containers)
	if failed := (*runtime.ResizeError)(nil); errors.As(err, &failed) {
		j.resizeFailed(failed)
		said = true
	}
	switch {
	case err == nil && res.Acted:
		j.outcome.Again = true
	case err == nil && said:
		j.resay()
	case err != nil && said:
		if !res.Acted || j.observe(ctx) == nil {
			j.resay()
		}
	}
	return err
}

// sentenceStranded passes the verdict on a pod that can't go on.
func (j *job) sentenceStranded(ctx context.Context) {
	v := podstatus.Stranded(j.input)
	if v == nil || podstatus.Compute(j.input).Terminal {
		return
	}
	j.warn(ctx, v.Reason, "%s", v.Message)
	j.input.Verdict, j.outcome.Verdict = v, v
}

// recordStarts keeps how starts went and tells whether that is news.
func (j *job) recordStarts(results []runtime.StartResult) (news bool) {
	for _, res := range results {
		old, had := j.outcome.failures[res.Container]
		if had == (res.Reason != "") && old.Reason == res.Reason && old.Message == res.Message {
			continue
		}
		if !news {
			news = true
			j.outcome.failures = maps.Clone(j.outcome.failures)
		}
		switch {
		case res.Reason == "":
			delete(j.outcome.failures, res.Container)
		case j.outcome.failures == nil:
			j.outcome.failures = map[string]runtime.StartResult{res.Container: res}
		default:
			j.outcome.failures[res.Container] = res
		}
	}
	j.input.StartFailures = j.outcome.failures
	return news
}

// resay says what became known after the last word.
func (j *job) resay() {
	j.input.Now = time.Now()
	j.say(podstatus.Compute)
}

// terminate stops the containers of a pod and sees that nothing of it runs.
func (j *job) terminate(ctx context.Context) error {
	if j.input.Pod != nil {
		// What can't be read now is no reason to let a pod run.
		if err := j.observe(ctx); err == nil {
			j.say(podstatus.Compute)
		}
	}
	err := j.loop.cfg.Runtime.KillPod(ctx, runtime.KillRequest{
		Ref: j.ref, Pod: j.input.Pod, Grace: j.grace, Deadline: j.deadline,
	})
	if err != nil {
		j.warn(ctx, "FailedKillPod", "error killing pod: %v", err)
		return fmt.Errorf("kill pod: %w", err)
	}
	if err := j.observe(ctx); err != nil {
		return fmt.Errorf("see that the pod stopped: %w", err)
	}
	if running := stillRunning(j.input.Observed); len(running) > 0 {
		return fmt.Errorf("detected running containers after a successful KillPod, CRI violation: %s", strings.Join(running, ", "))
	}
	if j.input.Pod == nil {
		return nil
	}
	j.input.Stopped = true
	j.say(podstatus.Compute)
	return nil
}

func stillRunning(s *runtime.PodStatus) []string {
	var names []string
	for i := range s.Containers {
		if c := &s.Containers[i]; c.State == runtime.StateRunning || c.State == runtime.StateUnknown {
			names = append(names, c.Name)
		}
	}
	return names
}

// withAddresses gives a pod that has no network any more the addresses that were
// said last. A sandbox that is ready and has none has none.
func withAddresses(observed *runtime.PodStatus, said *v1.PodStatus) *runtime.PodStatus {
	ready := func(s runtime.SandboxStatus) bool { return s.Ready }
	if said == nil || len(observed.IPs) > 0 || len(said.PodIPs) == 0 || slices.ContainsFunc(observed.Sandboxes, ready) {
		return observed
	}
	kept := *observed
	for _, ip := range said.PodIPs {
		kept.IPs = append(kept.IPs, ip.IP)
	}
	return &kept
}

// cleanUp releases what a stopped pod holds, and says the last word about it.
func (j *job) cleanUp(ctx context.Context) error {
	if cleaner, ok := j.loop.cfg.Runtime.(runtime.Cleaner); ok {
		if err := cleaner.RemoveVolumes(ctx, j.ref.UID); err != nil {
			return fmt.Errorf("remove volumes: %w", err)
		}
	}
	if j.input.Observed == nil {
		// It had ended before this agent came.
		if err := j.observe(ctx); err != nil {
			return fmt.Errorf("determine status: %w", err)
		}
		j.input.Stopped = true
		j.say(podstatus.Compute)
	}
	j.input.Now = time.Now()
	j.say(podstatus.Terminate)
	return nil
}

// remove removes what the runtime keeps of a pod that nobody wants any more.
func (j *job) remove(ctx context.Context) error {
	cleaner, ok := j.loop.cfg.Runtime.(runtime.Cleaner)
	if !ok {
		return nil
	}
	if err := cleaner.RemovePod(ctx, j.ref.UID); err != nil {
		return fmt.Errorf("remove what is kept of the pod: %w", err)
	}
	return nil
}
