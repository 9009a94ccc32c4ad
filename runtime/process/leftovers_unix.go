//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kubeparts/kubeparts/runtime/process/internal/keeper"
)

// killLeftovers kills what a dead keeper left of a sandbox, and waits until it
// is gone.
func killLeftovers(ctx context.Context, sandboxID string, containers []keeper.Container) error {
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	// A process that was killed has lost its marker before it is gone.
	killed := map[int]uint64{}
	for {
		procs, err := keeper.Processes()
		if errors.Is(err, errors.ErrUnsupported) {
			return killGroups(containers)
		}
		if err != nil {
			return err
		}
		for _, pid := range leftovers(procs, sandboxID, containers, keeper.BootID(), keeper.MarkerOf) {
			if syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed[pid] = 0
			}
		}
		alive := going(procs, killed)
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

// going counts the killed processes that are not gone, and notes when those that
// were just killed had started.
func going(procs []keeper.Process, killed map[int]uint64) (n int) {
	for _, p := range procs {
		ticks, ok := killed[p.PID]
		if !ok || p.Zombie || ticks != 0 && ticks != p.Ticks {
			continue
		}
		killed[p.PID] = p.Ticks
		n++
	}
	return n
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
