//go:build !unix

package process

import (
	"errors"
	"fmt"
	goruntime "runtime"

	"github.com/kubeparts/kubeparts/runtime"
)

// Backend is a [runtime.Backend] of local processes. There is none on this
// system.
type Backend struct{ runtime.Backend }

// New returns an error: this system has neither sessions nor process groups.
func New(Config) (*Backend, error) {
	return nil, fmt.Errorf("process: not supported on %s: %w", goruntime.GOOS, errors.ErrUnsupported)
}

// Close does nothing.
func (*Backend) Close() error { return nil }
