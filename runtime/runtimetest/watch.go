package runtimetest

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// watcher is one call of Watch.
type watcher struct{ notify func(types.UID) }

// tell passes a hint on to all watchers. No lock is held.
func tell(watchers []*watcher, uid types.UID) {
	for _, w := range watchers {
		w.notify(uid)
	}
}

// Watch implements [runtime.Watcher].
func (f *Fake) Watch(ctx context.Context, notify func(types.UID)) error {
	w := &watcher{notify}
	f.mu.Lock()
	f.watchers = append(slices.Clone(f.watchers), w)
	f.mu.Unlock()
	<-ctx.Done()
	f.mu.Lock()
	f.watchers = slices.DeleteFunc(slices.Clone(f.watchers), func(o *watcher) bool { return o == w })
	f.mu.Unlock()
	return ctx.Err()
}
