package runtimetest

import (
	"context"
	"fmt"

	"github.com/kubeparts/kubeparts/runtime"
	"k8s.io/apimachinery/pkg/types"
)

var _ runtime.Cleaner = (*Fake)(nil)

// RemoveVolumes implements [runtime.Cleaner]. There are no volumes to remove.
func (f *Fake) RemoveVolumes(ctx context.Context, uid types.UID) error {
	return f.remove(ctx, uid, "volumes of pod", func(*fakePod) {})
}

// RemovePod implements [runtime.Cleaner].
func (f *Fake) RemovePod(ctx context.Context, uid types.UID) error {
	return f.remove(ctx, uid, "pod", func(*fakePod) { delete(f.pods, uid) })
}

// remove carries out a removal, under the lock, unless a container runs.
func (f *Fake) remove(ctx context.Context, uid types.UID, what string, do func(*fakePod)) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("remove %s %s: %w", what, uid, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.pods[uid]
	if p == nil {
		return nil
	}
	if c := p.running(); c != nil {
		return fmt.Errorf("remove %s %s: container %s still runs", what, uid, c.name)
	}
	do(p)
	return nil
}
