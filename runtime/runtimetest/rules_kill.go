package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/runtime"
)

var killRules = []rule[*runtimeCase]{
	{"kill", "KillPod returns nil once nothing of the pod runs; what it stopped stays visible.", killAll},
	{"kill-again", "KillPod may be called again, and for a pod that is not known.", killAgain},
	{"kill-without-spec", "KillPod stops a pod that only the runtime knows, without its spec.", killWithoutSpec},
	{"kill-forced", "KillPod kills what still runs at the deadline, and not before.", killForced},
	{"kill-begun", "The Deadline holds also where the Grace would end later: the stop began before.", killBegun},
	{"kill-sooner", "KillPod called again with an earlier deadline moves the stop forward, for both calls.", killSooner},
	{"kill-later", "KillPod called again with a later deadline changes nothing.", killLater},
	{"kill-cancel", "When its context ends, KillPod returns soon, with the context's error.", killCancel},
	{"kill-cancel-goes-on", "Cancelling the context of KillPod ends the wait, not the stopping.", killCancelGoesOn},
	{"kill-overtakes", "KillPod may overtake a SyncPod whose context was cancelled: nothing of the pod runs when both have returned.", killOvertakes},
	{"kill-sidecar-last", "A sidecar ends after the containers that it serves.", killSidecarLast},
	{"kill-sidecar-waits", "While a container takes its time to stop, its sidecar runs.", killSidecarWaits},
}

func killAll(c *runtimeCase) error {
	pod, before, err := c.server()
	if err != nil {
		return err
	}
	kill := async(func() error { return c.KillPod(c.ctx, killRequest(pod, c.longGrace())) })
	if err := c.result("KillPod", kill); err != nil {
		return err
	}
	st, err := c.PodStatus(c.ctx, pod.UID)
	if err != nil {
		return err
	}
	main := st.Container("main")
	switch {
	case st.Running():
		return fmt.Errorf("after KillPod its containers are %s", describe(st))
	case main == nil || main.ID != before.Container("main").ID || main.State != runtime.StateExited || main.FinishedAt.IsZero():
		return fmt.Errorf("the container that was stopped is not visible as exited: %s", describe(st))
	case len(st.IPs) != 0:
		return fmt.Errorf("its IPs are %v", st.IPs)
	}
	for _, s := range st.Sandboxes {
		if s.Ready {
			return fmt.Errorf("sandbox %s is ready", s.ID)
		}
	}
	listed, err := c.listed(pod.UID)
	if err == nil && listed != nil && listed.Running {
		err = errors.New("the list says that it runs")
	}
	return err
}

func killAgain(c *runtimeCase) error {
	pod, _, err := c.server()
	if err != nil {
		return err
	}
	for range 3 {
		if err := c.KillPod(c.ctx, killRequest(pod, shortGrace)); err != nil {
			return err
		}
	}
	ref := runtime.PodRef{UID: "no-such-pod"}
	err = c.KillPod(c.ctx, runtime.KillRequest{Ref: ref, Grace: time.Second, Deadline: time.Now().Add(time.Second)})
	if err != nil {
		return fmt.Errorf("of a pod that is not known: %w", err)
	}
	return nil
}

func killWithoutSpec(c *runtimeCase) error {
	pod, _, err := c.server()
	if err != nil {
		return err
	}
	req := killRequest(pod, shortGrace)
	req.Pod = nil
	if err := c.KillPod(c.ctx, req); err != nil {
		return err
	}
	st, err := c.PodStatus(c.ctx, pod.UID)
	if err == nil && st.Running() {
		err = fmt.Errorf("its containers are %s", describe(st))
	}
	return err
}

func killForced(c *runtimeCase) error {
	pod, err := c.stubborn()
	if err != nil {
		return err
	}
	asked := time.Now()
	if err := c.result("KillPod", async(func() error { return c.KillPod(c.ctx, killRequest(pod, shortGrace)) })); err != nil {
		return err
	}
	st, err := c.PodStatus(c.ctx, pod.UID)
	if err != nil {
		return err
	}
	main := st.Container("main")
	switch {
	case main == nil || main.State != runtime.StateExited:
		return fmt.Errorf("its containers are %s", describe(st))
	case main.ExitCode == 0:
		return errors.New("its exit code is 0 although it was killed")
	}
	return notBefore(main.FinishedAt, asked, shortGrace)
}

func killBegun(c *runtimeCase) error {
	pod, err := c.stubborn()
	if err != nil {
		return err
	}
	req := killRequest(pod, shortGrace)
	req.Grace = c.longGrace()
	return c.result("KillPod", async(func() error { return c.KillPod(c.ctx, req) }))
}

// underWay begins to kill a pod whose container ignores being asked to stop.
func (c *runtimeCase) underWay(ctx context.Context, grace time.Duration) (pod *v1.Pod, kill <-chan error, err error) {
	if pod, err = c.stubborn(); err != nil {
		return nil, nil, err
	}
	kill = async(func() error { return c.KillPod(ctx, killRequest(pod, grace)) })
	return pod, kill, c.pending("KillPod", kill)
}

func killSooner(c *runtimeCase) error {
	pod, first, err := c.underWay(c.ctx, c.longGrace())
	if err != nil {
		return err
	}
	second := async(func() error { return c.KillPod(c.ctx, killRequest(pod, shortGrace)) })
	return errors.Join(c.result("the second KillPod", second), c.result("the first KillPod", first))
}

func killLater(c *runtimeCase) error {
	pod, first, err := c.underWay(c.ctx, shortGrace)
	if err != nil {
		return err
	}
	second := async(func() error { return c.KillPod(c.ctx, killRequest(pod, c.longGrace())) })
	return errors.Join(c.result("the first KillPod", first), c.result("the second KillPod", second))
}

func killCancel(c *runtimeCase) error {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	pod, kill, err := c.underWay(ctx, c.longGrace())
	if err != nil {
		return err
	}
	cancel()
	if err := c.result("KillPod", kill); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("its error is %w, want the context's", orNone(err))
	}
	st, err := c.PodStatus(c.ctx, pod.UID)
	if err == nil && !st.Running() {
		err = fmt.Errorf("it was killed before its deadline: %s", describe(st))
	}
	return err
}

func killCancelGoesOn(c *runtimeCase) error {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	pod, kill, err := c.underWay(ctx, shortGrace)
	if err != nil {
		return err
	}
	cancel()
	_ = c.result("KillPod", kill)
	err = c.awaitStatus(pod, "main to end by itself", func(st *runtime.PodStatus) bool { return !st.Running() })
	return err
}

func killOvertakes(c *runtimeCase) error {
	for round := range 5 {
		pod := c.pod(v1.RestartPolicyAlways, c.Programs.RunsForever.container("a"), c.Programs.RunsForever.container("b"))
		ctx, cancel := context.WithCancel(c.ctx)
		defer cancel()
		st, err := c.PodStatus(c.ctx, pod.UID)
		if err != nil {
			return err
		}
		sync := async(func() error {
			_, err := c.SyncPod(ctx, runtime.SyncRequest{Pod: pod, Status: st})
			return err
		})
		select { // cancel it early, on the way, or when it is done
		case err := <-sync:
			sync = async(func() error { return err })
		case <-time.After(time.Duration(round*round) * time.Millisecond):
		}
		cancel()
		kill := async(func() error { return c.KillPod(c.ctx, killRequest(pod, shortGrace)) })
		if err := c.result("KillPod", kill); err != nil {
			return err
		}
		_ = c.result("SyncPod", sync)
		if st, err = c.PodStatus(c.ctx, pod.UID); err != nil {
			return err
		}
		if st.Running() {
			return fmt.Errorf("its containers are %s", describe(st))
		}
	}
	return nil
}

func killSidecarLast(c *runtimeCase) error {
	if c.Limits.NoGrace {
		return conformance.Skip("the limit NoGrace makes each stop a kill")
	}
	pod, _, err := c.served(c.Programs.RunsForever)
	if err != nil {
		return err
	}
	if err := c.KillPod(c.ctx, killRequest(pod, c.longGrace())); err != nil {
		return err
	}
	st, err := c.PodStatus(c.ctx, pod.UID)
	if err != nil {
		return err
	}
	main, last := st.Container("main"), st.Container("sidecar")
	if main == nil || last == nil || last.FinishedAt.Before(main.FinishedAt) {
		return fmt.Errorf("main is %+v and its sidecar %+v", main, last)
	}
	return nil
}

func killSidecarWaits(c *runtimeCase) error {
	if c.Limits.NoGrace {
		return conformance.Skip("the limit NoGrace makes each stop a kill")
	}
	if err := c.Programs.IgnoresTerm.missing("ignores being asked to stop"); err != nil {
		return err
	}
	pod, st, err := c.served(c.Programs.IgnoresTerm)
	if err != nil {
		return err
	}
	if err := c.awaitReady(st); err != nil {
		return err
	}
	kill := async(func() error { return c.KillPod(c.ctx, killRequest(pod, c.longGrace())) })
	if err := c.pending("KillPod", kill); err != nil {
		return err
	}
	if st, err = c.PodStatus(c.ctx, pod.UID); err != nil {
		return err
	}
	if !inState(runtime.StateRunning, "sidecar", "main")(st) {
		return fmt.Errorf("while main is being stopped its containers are %s", describe(st))
	}
	err = c.KillPod(c.ctx, killRequest(pod, shortGrace))
	return errors.Join(err, c.result("the first KillPod", kill))
}
