//go:build !linux

package nodestats

import (
	"context"
	"fmt"
	goruntime "runtime"

	"github.com/kubeparts/kubeparts/eviction"
	"github.com/kubeparts/kubeparts/runtime"
)

// Reader measures a node. There is none for this system: New gives the error.
type Reader struct{}

func unsupported() error {
	return fmt.Errorf("nodestats: %w on %s: this system's memory, disks and processes are measured on Linux only", runtime.ErrNotSupported, goruntime.GOOS)
}

// New says that this system is not supported; the error wraps
// runtime.ErrNotSupported.
func New(Config) (*Reader, error) { return nil, unsupported() }

// NodeStats implements [eviction.NodeMeter].
func (*Reader) NodeStats(context.Context) (*eviction.NodeStats, error) { return nil, unsupported() }

// Layout finds out which file systems the runtime has to itself.
func (*Reader) Layout() (eviction.Layout, error) { return eviction.Layout{}, unsupported() }

// Cgroup is the cgroup that is measured as the node.
func (*Reader) Cgroup() string { return "" }

// Pressure reads what the kernel tells of waiting for a resource.
func (*Reader) Pressure(string) (Pressure, error) { return Pressure{}, unsupported() }

// Notifier wakes an [eviction.Manager] when memory may be short.
func (*Reader) Notifier() eviction.Notifier { return notifier{} }

type notifier struct{}

// Watch implements [eviction.Notifier].
func (notifier) Watch(context.Context, func()) error { return unsupported() }
