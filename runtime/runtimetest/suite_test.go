package runtimetest_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
)

// fakeBackendHarness is how the suite gets at a FakeBackend, or at what wrap
// makes of it.
func fakeBackendHarness(fake *runtimetest.FakeBackend, wrap func(*runtimetest.FakeBackend) runtime.Backend) runtimetest.BackendHarness {
	var backend runtime.Backend = fake
	if wrap != nil {
		backend = wrap(fake)
	}
	return runtimetest.BackendHarness{
		Backend:  backend,
		Programs: runtimetest.FakePrograms(),
		ReadLog:  func(path string) ([]byte, error) { return []byte(fake.Log(path)), nil },
		Reopen:   func(context.Context) (runtime.Backend, error) { return backend, nil },
	}
}

func TestFakeBackendKeepsTheRules(t *testing.T) {
	runtimetest.TestBackend(t, func(t *testing.T) runtimetest.BackendHarness {
		t.Parallel()
		return fakeBackendHarness(runtimetest.NewFakeBackend(runtimetest.FakeBackendConfig{}), nil)
	})
}

func TestFakeBackendKeepsTheRulesInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := runtimetest.CheckBackend(t.Context(), func(context.Context) (runtimetest.BackendHarness, error) {
			return fakeBackendHarness(runtimetest.NewFakeBackend(runtimetest.FakeBackendConfig{}), nil), nil
		}, runtimetest.Options{Logf: t.Logf})
		require.NoError(t, err)
	})
}

// fakeHarness is how the suite gets at a Fake, or at what wrap makes of it.
func fakeHarness(wrap func(*runtimetest.Fake) runtime.Runtime) runtimetest.RuntimeHarness {
	fake := runtimetest.NewFake(runtimetest.FakeConfig{})
	var rt runtime.Runtime = fake
	if wrap != nil {
		rt = wrap(fake)
	}
	return runtimetest.RuntimeHarness{
		Runtime:  rt,
		Programs: runtimetest.FakePrograms(),
		Reopen:   func(context.Context) (runtime.Runtime, error) { return rt, nil },
	}
}

func TestFakeKeepsTheRules(t *testing.T) {
	runtimetest.TestRuntime(t, func(t *testing.T) runtimetest.RuntimeHarness {
		t.Parallel()
		return fakeHarness(nil)
	})
}

func TestFakeKeepsTheRulesInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := runtimetest.CheckRuntime(t.Context(), func(context.Context) (runtimetest.RuntimeHarness, error) {
			return fakeHarness(nil), nil
		}, runtimetest.Options{Logf: t.Logf})
		require.NoError(t, err)
	})
}

func TestHarnessNeedsAProgram(t *testing.T) {
	err := runtimetest.CheckRuntime(t.Context(), func(context.Context) (runtimetest.RuntimeHarness, error) {
		return runtimetest.RuntimeHarness{Runtime: runtimetest.NewFake(runtimetest.FakeConfig{})}, nil
	}, runtimetest.Options{Only: func(rule string) bool { return rule == "kill" }})
	require.ErrorContains(t, err, "Programs.RunsForever of the harness is missing")
	require.Equal(t, []string{"kill"}, conformance.Broken(err))
}

// What a host has no program for is skipped, with a line that says so.
func TestMissingProgramsSkipRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		skipped := 0
		err := runtimetest.CheckRuntime(t.Context(), func(context.Context) (runtimetest.RuntimeHarness, error) {
			h := fakeHarness(func(f *runtimetest.Fake) runtime.Runtime { return runtimetest.Bare(f) })
			h.Programs = runtimetest.Programs{RunsForever: h.Programs.RunsForever}
			return h, nil
		}, runtimetest.Options{Logf: func(format string, args ...any) { skipped++ }})
		require.NoError(t, err)
		require.Greater(t, skipped, 15)
	})
}
