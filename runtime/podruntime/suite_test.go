package podruntime_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/podruntime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
)

// harness is how the suite gets at a Runtime over a FakeBackend.
func harness(t *testing.T) runtimetest.RuntimeHarness {
	backend := runtimetest.NewFakeBackend(runtimetest.FakeBackendConfig{WriteLogs: true})
	root := t.TempDir()
	open := func(context.Context) (runtime.Runtime, error) {
		return podruntime.New(podruntime.Config{Backend: backend, Root: root, HostIPs: []string{"192.0.2.1"}})
	}
	rt, err := open(t.Context())
	require.NoError(t, err)
	return runtimetest.RuntimeHarness{Runtime: rt, Programs: runtimetest.FakePrograms(), Reopen: open}
}

func TestRuntimeKeepsTheRules(t *testing.T) {
	runtimetest.TestRuntime(t, harness)
}

func TestRuntimeKeepsTheRulesInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := runtimetest.CheckRuntime(t.Context(), func(context.Context) (runtimetest.RuntimeHarness, error) {
			return harness(t), nil
		}, runtimetest.Options{Logf: t.Logf})
		require.NoError(t, err)
	})
}
