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
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/internal/durable"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/process/internal/keeper"
)

// sandbox is what the agent knows of one. How its containers fare is asked of
// its keeper, and known here only once that is gone.
type sandbox struct {
	dir string
	rec keeper.Sandbox // does not change

	burial sync.Mutex // held while what a dead keeper left is cleared up

	mu        sync.Mutex
	keeperPID int // of a keeper that is this process's child; 0 once reaped
	gone      bool
	remains   map[string]keeper.Container // once gone
}

func (s *sandbox) uid() types.UID { return types.UID(s.rec.UID) }

// CreateSandbox implements [runtime.Backend]. It makes the folder of the
// sandbox and starts its keeper.
func (b *Backend) CreateSandbox(ctx context.Context, cfg runtime.SandboxConfig) (string, error) {
	if cfg.UID == "" {
		return "", errors.New("process: create sandbox: the pod has no UID")
	}
	wrap := func(err error) error {
		return fmt.Errorf("process: create sandbox of pod %s: %w", cfg.PodRef, err)
	}
	key := attempt{cfg.UID, cfg.Attempt}
	if !b.reserve(key) {
		return "", wrap(fmt.Errorf("attempt %d is taken", cfg.Attempt))
	}
	id := newSandboxID()
	s := &sandbox{
		dir: filepath.Join(b.sandboxesDir(), id),
		rec: keeper.Sandbox{
			ID: id, UID: string(cfg.UID), Namespace: cfg.Namespace, Name: cfg.Name,
			Attempt: cfg.Attempt, HostNetwork: cfg.HostNetwork, Groups: groupsOf(cfg.SecurityContext), CreatedAt: time.Now(),
			Labels: maps.Clone(cfg.Labels), Annotations: maps.Clone(cfg.Annotations),
		},
	}
	if err := b.startSandbox(ctx, s); err != nil {
		_ = os.RemoveAll(s.dir)
		b.mu.Lock()
		delete(b.attempts, key)
		b.mu.Unlock()
		return "", wrap(err)
	}
	b.add(s)
	return id, nil
}

// reserve takes an attempt, unless it is taken.
func (b *Backend) reserve(key attempt) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, taken := b.attempts[key]
	if !taken {
		b.attempts[key] = struct{}{}
	}
	return !taken
}

// startSandbox puts the sandbox on disk before its keeper starts, so that there
// is never a keeper that nobody knows of.
func (b *Backend) startSandbox(ctx context.Context, s *sandbox) error {
	if err := os.Mkdir(s.dir, b.folderMode()); err != nil {
		return err
	}
	if err := writeSandbox(s); err != nil {
		return err
	}
	pid, err := keeper.Spawn(ctx, s.dir, &s.rec)
	if err != nil {
		return err
	}
	s.keeperPID = pid
	return nil
}

func writeSandbox(s *sandbox) error {
	records, err := durable.Open(s.dir, nil)
	if err != nil {
		return err
	}
	data, err := json.Marshal(&s.rec)
	if err != nil {
		return err
	}
	return records.Write(keeper.SandboxRecord, data)
}

// add makes a sandbox known, and watched by those who watch.
func (b *Backend) add(s *sandbox) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sandboxes[s.rec.ID] = s
	b.attempts[attempt{s.uid(), s.rec.Attempt}] = struct{}{}
	if b.byPod[s.uid()] == nil {
		b.byPod[s.uid()] = map[string]*sandbox{}
	}
	b.byPod[s.uid()][s.rec.ID] = s
	for w := range b.watches {
		w.follow(s)
	}
}

func (b *Backend) forget(s *sandbox) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.sandboxes, s.rec.ID)
	delete(b.attempts, attempt{s.uid(), s.rec.Attempt})
	delete(b.byPod[s.uid()], s.rec.ID)
	if len(b.byPod[s.uid()]) == 0 {
		delete(b.byPod, s.uid())
	}
}

// find returns a sandbox by its ID, nil when there is none.
func (b *Backend) find(id string) *sandbox {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sandboxes[id]
}

// selected returns the sandboxes that a filter selects.
func (b *Backend) selected(f runtime.Filter) []*sandbox {
	b.mu.Lock()
	defer b.mu.Unlock()
	from := b.sandboxes
	if f.PodUID != "" {
		from = b.byPod[f.PodUID]
	}
	out := make([]*sandbox, 0, len(from))
	for _, s := range from {
		out = append(out, s)
	}
	return out
}

// StopSandbox implements [runtime.Backend]. The keeper kills all that runs, and
// exits. How the containers ended stays on disk.
func (b *Backend) StopSandbox(ctx context.Context, id string) error {
	s := b.find(id)
	if s == nil {
		return nil
	}
	if err := b.stopSandbox(ctx, s); err != nil {
		return fmt.Errorf("process: stop sandbox %s: %w", id, err)
	}
	return nil
}

func (b *Backend) stopSandbox(ctx context.Context, s *sandbox) error {
	if s.isGone() {
		return nil
	}
	err := b.insist(ctx, s, &keeper.Request{Op: keeper.OpShutdown})
	if errors.Is(err, keeper.ErrGone) {
		return b.bury(ctx, s)
	}
	return err
}

// RemoveSandbox implements [runtime.Backend].
func (b *Backend) RemoveSandbox(ctx context.Context, id string) error {
	s := b.find(id)
	if s == nil {
		return nil
	}
	err := b.stopSandbox(ctx, s)
	if err == nil {
		err = os.RemoveAll(s.dir)
	}
	if err != nil {
		return fmt.Errorf("process: remove sandbox %s: %w", id, err)
	}
	b.forget(s)
	s.reap(ctx)
	b.tell(s.uid())
	return nil
}

// ListSandboxes implements [runtime.Backend].
func (b *Backend) ListSandboxes(ctx context.Context, f runtime.Filter) ([]runtime.Sandbox, error) {
	looks, err := b.lookAtAll(ctx, b.selected(f))
	if err != nil {
		return nil, fmt.Errorf("process: list sandboxes: %w", err)
	}
	out := make([]runtime.Sandbox, len(looks))
	for i, l := range looks {
		out[i] = b.describeSandbox(l)
	}
	return out, nil
}

// SandboxStatus implements [runtime.Backend].
func (b *Backend) SandboxStatus(ctx context.Context, id string) (runtime.Sandbox, error) {
	s := b.find(id)
	if s == nil {
		return runtime.Sandbox{}, fmt.Errorf("process: sandbox %q: %w", id, runtime.ErrNotFound)
	}
	l, err := b.look(ctx, s)
	if err != nil {
		return runtime.Sandbox{}, fmt.Errorf("process: sandbox %s: %w", id, err)
	}
	return b.describeSandbox(l), nil
}

func (b *Backend) describeSandbox(l look) runtime.Sandbox {
	rec := &l.sandbox.rec
	out := runtime.Sandbox{
		ID:          rec.ID,
		PodRef:      runtime.PodRef{UID: types.UID(rec.UID), Namespace: rec.Namespace, Name: rec.Name},
		Attempt:     rec.Attempt,
		Ready:       l.ready,
		HostNetwork: rec.HostNetwork,
		CreatedAt:   rec.CreatedAt,
		Labels:      maps.Clone(rec.Labels),
		Annotations: maps.Clone(rec.Annotations),
	}
	if l.ready {
		out.IPs = []string{b.cfg.NodeIP}
	}
	return out
}
