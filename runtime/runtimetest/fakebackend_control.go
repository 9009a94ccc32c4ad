package runtimetest

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// Exit ends a running container with an exit code, as if it had ended by
// itself. It gives ErrNotFound unless a container of that name runs.
func (b *FakeBackend) Exit(uid types.UID, container string, code int32) error {
	return b.control(uid, container, func(c *backendContainer) { c.end(time.Now(), code, "") })
}

// LoseTrack puts a running container into the state unknown, as an engine does
// that was restarted. It gives ErrNotFound unless a container of that name runs.
func (b *FakeBackend) LoseTrack(uid types.UID, container string) error {
	return b.control(uid, container, func(c *backendContainer) { c.forgetRun() })
}

// Forget drops all sandboxes and containers of a pod without a trace.
func (b *FakeBackend) Forget(uid types.UID) {
	b.mu.Lock()
	var ids []string
	if pod := b.pods[uid]; pod != nil {
		for _, s := range pod.sandboxes {
			ids = append(ids, s.id)
		}
	}
	b.mu.Unlock()
	for _, id := range ids {
		_ = b.RemoveSandbox(context.Background(), id)
	}
}

// FailSandbox ends the newest sandbox of a pod and all that runs in it, as a
// reboot does. It gives ErrNotFound for a pod without a sandbox.
func (b *FakeBackend) FailSandbox(uid types.UID) error {
	b.mu.Lock()
	var id string
	if pod := b.pods[uid]; pod != nil {
		id = pod.sandboxes[len(pod.sandboxes)-1].id
	}
	b.mu.Unlock()
	if id == "" {
		return fmt.Errorf("sandbox of pod %s: %w", uid, runtime.ErrNotFound)
	}
	return b.StopSandbox(context.Background(), id)
}

// control changes the running container of a name.
func (b *FakeBackend) control(uid types.UID, container string, do func(*backendContainer)) error {
	return b.change(context.Background(), func() (types.UID, error) {
		if pod := b.pods[uid]; pod != nil {
			for _, c := range pod.containers {
				if c.cfg.Name == container && c.state == runtime.StateRunning {
					do(c)
					return uid, nil
				}
			}
		}
		return "", fmt.Errorf("running container %s of pod %s: %w", container, uid, runtime.ErrNotFound)
	})
}
