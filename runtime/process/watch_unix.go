//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime/process/internal/keeper"
)

// watch is one call of Watch. It has a goroutine for each live keeper, which
// also notices when that dies.
type watch struct {
	ctx       context.Context
	notify    func(types.UID)
	failed    chan error // of size 1: the first failure ends the watch
	following sync.WaitGroup
}

// Watch implements [runtime.Watcher]: it tells of every change at once, and of
// each pod when it begins.
func (b *Backend) Watch(ctx context.Context, notify func(types.UID)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &watch{ctx: ctx, notify: notify, failed: make(chan error, 1)}
	b.mu.Lock()
	b.watches[w] = struct{}{}
	for _, s := range b.sandboxes {
		w.follow(s)
	}
	b.mu.Unlock()
	notify("")

	var err error
	select {
	case <-ctx.Done():
		err = ctx.Err()
	case err = <-w.failed:
		err = fmt.Errorf("process: watch: %w", err)
	}
	cancel()
	b.mu.Lock()
	delete(b.watches, w)
	b.mu.Unlock()
	w.following.Wait()
	return err
}

// follow watches one sandbox. It is called under the backend's lock, so that
// none is added once the watch ended.
func (w *watch) follow(s *sandbox) {
	if s.isGone() {
		return
	}
	w.following.Go(func() {
		err := keeper.Watch(w.ctx, s.dir, func() { w.notify(s.uid()) })
		switch {
		case w.ctx.Err() != nil:
		case errors.Is(err, keeper.ErrGone):
			w.notify(s.uid())
		default:
			select {
			case w.failed <- fmt.Errorf("sandbox %s: %w", s.rec.ID, err):
			default:
			}
		}
	})
}

// tell tells those who watch of a change that no keeper tells of.
func (b *Backend) tell(uid types.UID) {
	b.mu.Lock()
	var watches []*watch
	for w := range b.watches {
		watches = append(watches, w)
	}
	b.mu.Unlock()
	for _, w := range watches {
		if w.ctx.Err() == nil {
			w.notify(uid)
		}
	}
}
