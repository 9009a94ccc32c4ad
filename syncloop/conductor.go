package syncloop

import (
	"context"
	"sync"
)

// Conductor decides what is left to chance otherwise: which goroutine runs
// first, and which of several ready channels is read. A simulation gives one, so
// that a run can be repeated; nobody else needs one.
type Conductor interface {
	// Go calls f in a goroutine of its own, sooner or later. What it is for is
	// said by one word: worker, sink or store.
	Go(what string, f func())
	// Step takes the place of the function [Step].
	Step(ctx context.Context, ch Channels, h SyncHandler, m *Monitor) bool
}

// spawnFunc starts a goroutine that the group waits for.
type spawnFunc func(group *sync.WaitGroup, what string, f func())

func (c Config) spawn(group *sync.WaitGroup, what string, f func()) {
	if c.Conductor == nil {
		group.Go(f)
		return
	}
	group.Add(1)
	c.Conductor.Go(what, func() {
		defer group.Done()
		f()
	})
}
