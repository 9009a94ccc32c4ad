//go:build linux

package process_test

import (
	"context"
	"testing"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
)

func TestBackendKeepsTheRules(t *testing.T) {
	runtimetest.TestBackend(t, func(t *testing.T) runtimetest.BackendHarness {
		t.Parallel()
		n := newNode(t)
		return runtimetest.BackendHarness{
			Backend:  n.Backend,
			Programs: runtimetest.ShellPrograms("none"),
			LogDir:   n.logs,
			Reopen: func(context.Context) (runtime.Backend, error) {
				n.reopen()
				return n.Backend, nil
			},
		}
	})
}
