//go:build unix

package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/kubeparts/kubeparts/internal/durable"
	"github.com/kubeparts/kubeparts/runtime/process/internal/keeper"
)

// look is what was seen of a sandbox at one time.
type look struct {
	sandbox    *sandbox
	ready      bool
	silent     bool // the keeper lives and does not answer; this is from disk
	containers []keeper.Container
}

// lookTimeout is how long a keeper may take to answer. It takes microseconds,
// unless somebody stopped the process.
const lookTimeout = 5 * time.Second

// lookers is how many keepers are asked at a time.
const lookers = 8

// look asks the keeper, and when that is gone, clears up after it.
func (b *Backend) look(ctx context.Context, s *sandbox) (look, error) {
	if s.isGone() {
		return s.remember(), nil
	}
	asked, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	resp, err := keeper.Call(asked, s.dir, &keeper.Request{Op: keeper.OpList})
	switch {
	case err == nil:
		return look{sandbox: s, ready: !resp.Closing, containers: resp.Containers}, nil
	case errors.Is(err, keeper.ErrGone):
		if err := b.bury(ctx, s); err != nil {
			return look{}, err
		}
		return s.remember(), nil
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		records, _, err := s.readContainers()
		return look{sandbox: s, ready: true, silent: true, containers: records}, err
	default:
		return look{}, err
	}
}

// lookAtAll looks at several sandboxes at the same time.
func (b *Backend) lookAtAll(ctx context.Context, sandboxes []*sandbox) ([]look, error) {
	looks, errs := make([]look, len(sandboxes)), make([]error, len(sandboxes))
	free := make(chan struct{}, lookers)
	var all sync.WaitGroup
	for i, s := range sandboxes {
		if s.isGone() {
			looks[i] = s.remember()
			continue
		}
		free <- struct{}{}
		all.Go(func() {
			looks[i], errs[i] = b.look(ctx, s)
			<-free
		})
	}
	all.Wait()
	return looks, errors.Join(errs...)
}

func (s *sandbox) isGone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}

// remember is the look at a sandbox whose keeper is gone.
func (s *sandbox) remember() look {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := slices.Sorted(maps.Keys(s.remains))
	l := look{sandbox: s}
	for _, id := range ids {
		l.containers = append(l.containers, s.remains[id])
	}
	return l
}

// lostReason and lostMessage are for a container that ended unseen. The exit
// code is the kubelet's for one.
const (
	lostReason   = "ContainerStatusUnknown"
	lostExitCode = 137
	lostMessage  = "the keeper of the sandbox was killed, or the machine restarted, and nobody saw how the container ended"
)

// bury is called when the keeper is gone. What it left running is killed; what
// it recorded is kept, and what it could not record is made up for.
func (b *Backend) bury(ctx context.Context, s *sandbox) error {
	s.burial.Lock()
	defer s.burial.Unlock()
	if s.isGone() {
		return nil
	}
	s.reap(ctx)
	containers, damaged, err := s.readContainers()
	if err != nil {
		return err
	}
	for _, d := range damaged {
		b.cfg.Logger.Error("damaged state", "err", d)
	}
	if len(damaged) > 0 || mayRun(containers) {
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

// readContainers reads the records of a sandbox's containers. What is damaged
// is set aside and returned apart.
func (s *sandbox) readContainers() ([]keeper.Container, []error, error) {
	records, err := durable.Open(s.dir, nil)
	if err != nil {
		return nil, nil, err
	}
	all, corrupt, err := records.ReadAll()
	if err != nil {
		return nil, nil, err
	}
	var damaged []error
	for _, c := range corrupt {
		damaged = append(damaged, c)
	}
	var containers []keeper.Container
	for name, data := range all {
		if !strings.HasPrefix(name, keeper.ContainerPrefix) {
			continue
		}
		c, err := decodeContainer(s.rec.ID, name, data)
		if err != nil {
			damaged = append(damaged, records.SetAside(name, err))
			continue
		}
		containers = append(containers, c)
	}
	return containers, damaged, nil
}

// write records a container in the place of a keeper that is gone.
func (s *sandbox) write(c *keeper.Container) error {
	records, err := durable.Open(s.dir, nil)
	if err != nil {
		return err
	}
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return records.Write(keeper.ContainerPrefix+keeper.Suffix(c.ID), data)
}

// removeRemains removes a container whose keeper is gone.
func (s *sandbox) removeRemains(id string) error {
	records, err := durable.Open(s.dir, nil)
	if err != nil {
		return err
	}
	if err := records.Remove(keeper.ContainerPrefix + keeper.Suffix(id)); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(s.dir, keeper.HomePrefix+keeper.Suffix(id))); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.remains, id)
	return nil
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

// killLeftovers kills what a dead keeper left of a sandbox, and waits until it
// is gone.
func killLeftovers(ctx context.Context, sandboxID string, containers []keeper.Container) error {
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		alive := 0
		procs, err := keeper.Processes()
		if errors.Is(err, errors.ErrUnsupported) {
			return killGroups(containers)
		}
		if err != nil {
			return err
		}
		for _, pid := range leftovers(procs, sandboxID, containers, keeper.BootID(), keeper.MarkerOf) {
			if syscall.Kill(pid, syscall.SIGKILL) == nil {
				alive++
			}
		}
		if alive == 0 {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("%d processes that a dead keeper left still run: %w", alive, ctx.Err())
		}
	}
}

// killGroups is for systems on which processes can't be told apart.
func killGroups(containers []keeper.Container) error {
	for _, c := range containers {
		if c.State == keeper.Running {
			_ = syscall.Kill(-c.PID, syscall.SIGKILL)
		}
	}
	return nil
}

// leftovers are the processes of a sandbox whose keeper is dead: those that
// carry its marker, the first processes of its containers and their sessions,
// and what descends from all these. A number that was given to another process
// since (another start time, another boot) concerns nobody.
func leftovers(procs []keeper.Process, sandboxID string, containers []keeper.Container, boot string, marker func(pid int) string) []int {
	started := map[int]uint64{}
	for _, c := range containers {
		if c.State == keeper.Running && c.Boot == boot && c.Ticks != 0 {
			started[c.PID] = c.Ticks
		}
	}
	leaders := map[int]bool{}
	for _, p := range procs {
		if ticks, ok := started[p.PID]; ok && ticks == p.Ticks {
			leaders[p.PID] = true
		}
	}
	children := map[int][]keeper.Process{}
	var queue []keeper.Process
	for _, p := range procs {
		children[p.Parent] = append(children[p.Parent], p)
		if leaders[p.Session] || !p.Zombie && strings.HasPrefix(marker(p.PID), sandboxID+"-") {
			queue = append(queue, p)
		}
	}
	seen := map[int]bool{}
	var found []int
	for len(queue) > 0 {
		p := queue[0]
		queue = queue[1:]
		if seen[p.PID] {
			continue
		}
		seen[p.PID] = true
		if !p.Zombie {
			found = append(found, p.PID)
		}
		queue = append(queue, children[p.PID]...)
	}
	slices.Sort(found)
	return found
}
