//go:build unix

package process

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"time"

	"github.com/kubeparts/kubeparts/runtime/process/internal/keeper"
)

// lostReason and lostMessage are for a container that ended unseen. The exit
// code is the kubelet's for one.
const (
	lostReason   = "ContainerStatusUnknown"
	lostExitCode = 137
	lostMessage  = "the keeper of the sandbox was killed, or the machine restarted, and nobody saw how the container ended"
)

// bury is called when the keeper is gone, or can't be reached any more and goes
// now. What it left running is killed; what it recorded is kept, and what it could
// not record is made up for.
func (b *Backend) bury(ctx context.Context, s *sandbox) error {
	s.burial.Lock()
	defer s.burial.Unlock()
	if s.isGone() {
		return nil
	}
	unreached := s.killKeeper()
	s.reap(ctx)
	containers, damaged, err := s.readContainers()
	if err != nil {
		return err
	}
	for _, d := range damaged {
		b.cfg.Logger.Error("damaged state", "err", d)
	}
	if unreached || len(damaged) > 0 || mayRun(containers) {
		if err := killLeftovers(ctx, s.rec.ID, containers); err != nil {
			return err
		}
	}
	remains := make(map[string]keeper.Container, len(containers))
	for _, c := range containers {
		if c.State == keeper.Running {
			c.State, c.FinishedAt = keeper.Exited, time.Now()
			c.ExitCode, c.Reason, c.Message = lostExitCode, lostReason, lostMessage
			if err := s.write(&c); err != nil {
				b.cfg.Logger.Error("can't record the end of a container", "container", c.ID, "err", err)
			}
		}
		remains[c.ID] = c
	}
	s.mu.Lock()
	s.gone, s.remains = true, remains
	s.mu.Unlock()
	return nil
}

// mayRun tells whether a keeper that died could have left anything running.
func mayRun(containers []keeper.Container) bool {
	boot := keeper.BootID()
	return slices.ContainsFunc(containers, func(c keeper.Container) bool {
		return c.State == keeper.Created || c.State == keeper.Running && c.Boot == boot
	})
}

// killKeeper kills the keeper, and tells whether one lived.
func (s *sandbox) killKeeper() (lived bool) {
	pids := keeper.Keepers(s.dir)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keeperPID != 0 && !slices.Contains(pids, s.keeperPID) {
		pids = append(pids, s.keeperPID) // the number is its own until it is reaped
	}
	for _, pid := range pids {
		lived = syscall.Kill(pid, syscall.SIGKILL) == nil || lived
	}
	return lived
}

// reapTimeout bounds how long a keeper that is exiting is waited for. One that
// lingers is reaped at the next occasion, or when the agent ends.
const reapTimeout = 2 * time.Second

// reap collects the keeper's process, when it is this process's child.
func (s *sandbox) reap(ctx context.Context) {
	s.mu.Lock()
	pid := s.keeperPID
	s.keeperPID = 0
	s.mu.Unlock()
	if pid == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, reapTimeout)
	defer cancel()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for {
		got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		if got == pid || err != nil && !errors.Is(err, syscall.EINTR) {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			s.mu.Lock()
			s.keeperPID = pid
			s.mu.Unlock()
			return
		}
	}
}
