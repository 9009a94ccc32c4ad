package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// watching is a call of Watch and the hints that it gave.
type watching struct {
	*bench
	cancel context.CancelFunc
	done   <-chan error

	mu    sync.Mutex
	hints map[types.UID]int
}

func (b *bench) watch(w runtime.Watcher) *watching {
	ctx, cancel := context.WithCancel(b.ctx)
	watch := &watching{bench: b, cancel: cancel, hints: map[types.UID]int{}}
	watch.done = async(func() error { return w.Watch(ctx, watch.notify) })
	return watch
}

func (w *watching) notify(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hints[uid]++
}

func (w *watching) count(uid types.UID) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hints[uid]
}

// begun waits for the word that the watch has begun, makes a change, and waits
// for the hint at it.
func (w *watching) begun(change func() (types.UID, error)) error {
	if err := w.await(func() (bool, error) { return w.count("") > 0, nil }); err != nil {
		return fmt.Errorf("no word that it has begun, which is an empty UID: %w", err)
	}
	uid, err := change()
	if err != nil {
		return err
	}
	if err := w.await(func() (bool, error) { return w.count(uid) > 0, nil }); err != nil {
		return fmt.Errorf("no hint at a change: %w", err)
	}
	return nil
}

// after makes a change that must be hinted at.
func (w *watching) after(what string, uid types.UID, change func() error) error {
	before := w.count(uid)
	if err := change(); err != nil {
		return err
	}
	if err := w.await(func() (bool, error) { return w.count(uid) > before, nil }); err != nil {
		return fmt.Errorf("no hint after %s: %w", what, err)
	}
	return nil
}

// end ends the call of Watch.
func (w *watching) end() error {
	w.cancel()
	if err := w.soon("Watch", func() { <-w.done }); err != nil {
		return errors.Join(errors.New("its context ended"), err)
	}
	return nil
}
