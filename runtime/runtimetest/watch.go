package runtimetest

import (
	"context"
	"slices"
	"sync"

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
	return watch(ctx, &f.mu, &f.watchers, notify)
}

// Watch implements [runtime.Watcher].
func (b *FakeBackend) Watch(ctx context.Context, notify func(types.UID)) error {
	return watch(ctx, &b.mu, &b.watchers, notify)
}

// watch keeps one watcher in a list, which is replaced and never written to,
// until the context ends.
func watch(ctx context.Context, mu *sync.Mutex, list *[]*watcher, notify func(types.UID)) error {
	w := &watcher{notify}
	mu.Lock()
	*list = append(slices.Clone(*list), w)
	mu.Unlock()
	notify("")
	<-ctx.Done()
	mu.Lock()
	*list = slices.DeleteFunc(slices.Clone(*list), func(o *watcher) bool { return o == w })
	mu.Unlock()
	return ctx.Err()
}
