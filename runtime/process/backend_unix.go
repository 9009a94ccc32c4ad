//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// Backend is a [runtime.Backend] of local processes. It is also a
// [runtime.Watcher], a [runtime.Execer], a [runtime.ContainerResizer] and a
// [runtime.StatsProvider].
type Backend struct {
	cfg      Config
	agent    Agent
	lock     *os.File
	problems []error
	procs    procCache
	patience time.Duration // how long a keeper may take to answer

	mu        sync.Mutex // never held over a call
	sandboxes map[string]*sandbox
	byPod     map[types.UID]map[string]*sandbox
	attempts  map[attempt]struct{} // of the sandboxes that are, or are being made
	watches   map[*watch]struct{}
}

// attempt is what no two sandboxes have in common.
type attempt struct {
	uid types.UID
	n   uint32
}

var (
	_ runtime.Backend       = (*Backend)(nil)
	_ runtime.Watcher       = (*Backend)(nil)
	_ runtime.Execer        = (*Backend)(nil)
	_ runtime.StatsProvider = (*Backend)(nil)

	_ runtime.ContainerResizer = (*Backend)(nil)
)

// New takes possession of the root, finds what an earlier agent left running
// there, and returns the backend. It fails with [ErrLocked] when another agent
// uses the root. State that is damaged is set aside, logged and told by
// [Backend.Problems]; it keeps nothing else from being found.
func New(cfg Config) (*Backend, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	b := &Backend{
		cfg: cfg, agent: Self(), patience: lookTimeout,
		sandboxes: map[string]*sandbox{},
		byPod:     map[types.UID]map[string]*sandbox{},
		attempts:  map[attempt]struct{}{},
		watches:   map[*watch]struct{}{},
	}
	for _, dir := range []string{cfg.Root, b.sandboxesDir()} {
		if err := os.MkdirAll(dir, b.folderMode()); err != nil {
			return nil, fmt.Errorf("process: root: %w", err)
		}
	}
	if b.lock, err = lockRoot(cfg.Root); err != nil {
		return nil, fmt.Errorf("process: root %s: %w", cfg.Root, err)
	}
	if err := b.load(); err != nil {
		_ = b.lock.Close()
		return nil, fmt.Errorf("process: root %s: %w", cfg.Root, err)
	}
	return b, nil
}

// Close gives the root back, for the next agent. Nothing that runs is touched.
// The backend must not be used afterwards.
func (b *Backend) Close() error {
	// A child between fork and exec has the file open too, and would keep the lock.
	return errors.Join(syscall.Flock(int(b.lock.Fd()), syscall.LOCK_UN), b.lock.Close())
}

// Problems tells what New found damaged.
func (b *Backend) Problems() []error { return b.problems }

// Info says that pods share the machine's network and files, and nothing else is
// missing.
func (b *Backend) Info(context.Context) (runtime.BackendInfo, error) {
	if _, err := os.Stat(b.sandboxesDir()); err != nil {
		return runtime.BackendInfo{}, fmt.Errorf("process: root: %w", err)
	}
	return runtime.BackendInfo{
		Name:    Name,
		Version: Version,
		Limits:  runtime.BackendLimits{SharedNetwork: true, SharedFiles: true},
	}, nil
}

// ResizeContainer has nothing to do: processes are held to no requests and no
// limits, neither to the first ones nor to others.
func (b *Backend) ResizeContainer(context.Context, string, v1.ResourceRequirements) error { return nil }

func (b *Backend) sandboxesDir() string { return filepath.Join(b.cfg.Root, "s") }

// folderMode lets others pass, where a container may be somebody else.
func (b *Backend) folderMode() os.FileMode {
	if b.agent.UID == 0 {
		return 0o711
	}
	return 0o700
}

// lockRoot locks the root as long as the file is open. The lock ends with the
// process, however it ends.
func lockRoot(root string) (*os.File, error) {
	path := filepath.Join(root, "lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock: %w", err)
		}
		owner, _ := os.ReadFile(path)
		return nil, fmt.Errorf("%w: process %s", ErrLocked, strings.TrimSpace(string(owner)))
	}
	// Who it is, for the message above; that it can't be written is no harm.
	if file.Truncate(0) == nil {
		_, _ = fmt.Fprintf(file, "%d\n", os.Getpid())
	}
	return file, nil
}
