package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubeparts/kubeparts/runtime"
)

var stopRules = []rule[*backendCase]{
	{"stop", "StopContainer asks the container to end and returns when it ended, without waiting for the rest of its grace.", stopGraceful},
	{"stop-again", "StopContainer of a container that ended, was never started or is gone is no error.", stopAgain},
	{"stop-now", "A grace of zero kills at once.", stopNow},
	{"stop-forced", "StopContainer kills what still runs when grace is over, and not before.", stopForced},
	{"stop-sooner", "StopContainer called again with a shorter grace: the shorter one holds, for both calls.", stopSooner},
	{"stop-later", "StopContainer called again with a longer grace: the shorter one holds.", stopLater},
	{"stop-cancel", "When its context ends, StopContainer returns soon, with the context's error.", stopCancel},
	{"stop-cancel-goes-on", "When the context of StopContainer ends, the stop goes on by itself.", stopCancelGoesOn},
}

// shortGrace is one that a rule waits out.
const shortGrace = 2 * time.Second

// longGrace is one that no rule waits out.
func (b *bench) longGrace() time.Duration { return 8 * b.patience }

func stopGraceful(c *backendCase) error {
	_, id, err := c.started(c.Programs.RunsForever, "runs")
	if err != nil {
		return err
	}
	stop := async(func() error { return c.StopContainer(c.ctx, id, c.longGrace()) })
	if err := c.result("StopContainer", stop); err != nil {
		return err
	}
	st, err := c.ContainerStatus(c.ctx, id)
	if err == nil && (st.State != runtime.StateExited || st.FinishedAt.IsZero()) {
		err = fmt.Errorf("it is %s, ended at %v, after StopContainer returned", st.State, st.FinishedAt)
	}
	return err
}

func stopAgain(c *backendCase) error {
	sb, sandboxID, err := c.sandbox()
	if err != nil {
		return err
	}
	id, err := c.start(sb, sandboxID, "main", c.Programs.RunsForever)
	if err != nil {
		return err
	}
	never, err := c.CreateContainer(c.ctx, sandboxID, c.containerConfig(sb, "other", 0, c.Programs.RunsForever))
	if err != nil {
		return err
	}
	for _, id := range []string{id, id, never, "no-such-container"} {
		if err := c.StopContainer(c.ctx, id, time.Second); err != nil {
			return fmt.Errorf("StopContainer: %w", err)
		}
	}
	for range 2 {
		if err := c.RemoveContainer(c.ctx, id); err != nil {
			return fmt.Errorf("RemoveContainer: %w", err)
		}
	}
	return c.StopContainer(c.ctx, id, time.Second)
}

func stopNow(c *backendCase) error {
	id, err := c.stubborn()
	if err != nil {
		return err
	}
	if err := c.result("StopContainer", async(func() error { return c.StopContainer(c.ctx, id, 0) })); err != nil {
		return err
	}
	_, err = c.awaitExit(id)
	return err
}

func stopForced(c *backendCase) error {
	id, err := c.stubborn()
	if err != nil {
		return err
	}
	asked := time.Now()
	if err := c.result("StopContainer", async(func() error { return c.StopContainer(c.ctx, id, shortGrace) })); err != nil {
		return err
	}
	st, err := c.ContainerStatus(c.ctx, id)
	switch {
	case err != nil:
		return err
	case st.State != runtime.StateExited:
		return fmt.Errorf("it is %s after StopContainer returned", st.State)
	case st.ExitCode == 0:
		return errors.New("its exit code is 0 although it was killed")
	}
	return notBefore(st.FinishedAt, asked, shortGrace)
}

// notBefore gives an error for a container that was killed before its grace was
// over, by more than clocks are coarse.
func notBefore(ended, asked time.Time, grace time.Duration) error {
	const coarse = 100 * time.Millisecond
	if after := ended.Sub(asked); after < grace-coarse {
		return fmt.Errorf("it ended %v after it was asked to, with %v of grace", after, grace)
	}
	return nil
}

// underWay begins the stop of a container that ignores being asked to.
func (c *backendCase) underWay(ctx context.Context, grace time.Duration) (id string, stop <-chan error, err error) {
	if id, err = c.stubborn(); err != nil {
		return "", nil, err
	}
	stop = async(func() error { return c.StopContainer(ctx, id, grace) })
	return id, stop, c.pending("StopContainer", stop)
}

func stopSooner(c *backendCase) error {
	id, first, err := c.underWay(c.ctx, c.longGrace())
	if err != nil {
		return err
	}
	if err := c.result("the second StopContainer", async(func() error { return c.StopContainer(c.ctx, id, time.Second) })); err != nil {
		return err
	}
	return c.result("the first StopContainer", first)
}

func stopLater(c *backendCase) error {
	id, first, err := c.underWay(c.ctx, shortGrace)
	if err != nil {
		return err
	}
	second := async(func() error { return c.StopContainer(c.ctx, id, c.longGrace()) })
	return errors.Join(c.result("the first StopContainer", first), c.result("the second StopContainer", second))
}

// pending lets a call get going, and gives an error if it returned already.
func (b *bench) pending(what string, done <-chan error) error {
	t := time.NewTimer(500 * time.Millisecond)
	defer t.Stop()
	select {
	case err := <-done:
		return fmt.Errorf("%s returned %v although the container runs", what, err)
	case <-t.C:
		return nil
	}
}

func stopCancel(c *backendCase) error {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	id, stop, err := c.underWay(ctx, c.longGrace())
	if err != nil {
		return err
	}
	cancel()
	if err := c.result("StopContainer", stop); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("its error is %w, want the context's", orNone(err))
	}
	return c.running(id)
}

func stopCancelGoesOn(c *backendCase) error {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	id, stop, err := c.underWay(ctx, shortGrace)
	if err != nil {
		return err
	}
	cancel()
	_ = c.result("StopContainer", stop)
	_, err = c.awaitExit(id)
	return err
}

// orNone makes an error out of none, for messages.
func orNone(err error) error {
	if err == nil {
		return errors.New("nil")
	}
	return err
}
