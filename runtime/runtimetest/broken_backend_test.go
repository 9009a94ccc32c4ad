package runtimetest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
)

// TestBrokenBackends runs the suite against backends that each break the
// contract in one way. The rule that says so must be among the broken ones.
func TestBrokenBackends(t *testing.T) {
	type fake = runtimetest.FakeBackend
	tests := []struct {
		rule, what string
		broken     func(*fake) runtime.Backend
	}{
		{"info", "has no name", func(b *fake) runtime.Backend { return nameless{b} }},
		{"sandbox-labels", "adds labels of its own", func(b *fake) runtime.Backend { return labelling{b} }},
		{"sandbox-labels", "hands out what it keeps", func(b *fake) runtime.Backend { return &sharing{FakeBackend: b, kept: map[string]map[string]string{}} }},
		{"sandbox-attempt", "makes a second sandbox for an attempt", func(b *fake) runtime.Backend { return &generous{FakeBackend: b} }},
		{"sandbox-unknown", "has an error of its own for what it does not know", func(b *fake) runtime.Backend { return strange{b} }},
		{"sandbox-stop-unknown", "has an error for what is gone already", func(b *fake) runtime.Backend { return strict{b} }},
		{"sandbox-stop-kills", "leaves containers running in a sandbox that was stopped", func(b *fake) runtime.Backend { return &lenient{FakeBackend: b} }},
		{"sandbox-list", "does not look at the filter", func(b *fake) runtime.Backend { return unfiltered{b} }},
		{"container-attempt", "makes a second container for an attempt", func(b *fake) runtime.Backend { return &generous{FakeBackend: b} }},
		{"container-unknown", "has an error of its own for what it does not know", func(b *fake) runtime.Backend { return strange{b} }},
		{"container-start-fails", "does not tell of a start that failed", func(b *fake) runtime.Backend { return silent{b} }},
		{"container-exit", "loses exit codes", func(b *fake) runtime.Backend { return codeless{b} }},
		{"container-list", "lists what runs only", func(b *fake) runtime.Backend { return runningOnly{b} }},
		{"container-resize", "kills what it resizes", func(b *fake) runtime.Backend { return rough{b} }},
		{"stop-again", "has an error for what is gone already", func(b *fake) runtime.Backend { return strict{b} }},
		{"stop-now", "takes a grace of zero for the default", func(b *fake) runtime.Backend { return patient{b} }},
		{"stop-forced", "gives no grace", func(b *fake) runtime.Backend { return hasty{b} }},
		{"stop-sooner", "sticks to the first grace", func(b *fake) runtime.Backend { return &stubbornBackend{FakeBackend: b, first: map[string]time.Time{}} }},
		{"stop-cancel", "waits on when its context has ended", func(b *fake) runtime.Backend { return deaf{b} }},
		{"stop-cancel-goes-on", "stops stopping when its context ends", func(b *fake) runtime.Backend { return fickle{b} }},
		{"independent", "handles one call at a time", func(b *fake) runtime.Backend { return oneAtATime{b, make(chan struct{}, 1)} }},
		{"exec", "takes a command that failed for an error", func(b *fake) runtime.Backend { return failingBackendExec{b} }},
		{"exec", "is no Execer and does not say so", func(b *fake) runtime.Backend { return struct{ runtime.Backend }{b} }},
	}
	for _, tt := range tests {
		t.Run(tt.rule+"/"+tt.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := runtimetest.CheckBackend(t.Context(), func(context.Context) (runtimetest.BackendHarness, error) {
					return fakeBackendHarness(runtimetest.NewFakeBackend(runtimetest.FakeBackendConfig{}), tt.broken), nil
				}, runtimetest.Options{})
				require.Contains(t, conformance.Broken(err), tt.rule, "%v", err)
			})
		})
	}
}

type rough struct{ *runtimetest.FakeBackend }

func (b rough) ResizeContainer(ctx context.Context, id string, r v1.ResourceRequirements) error {
	return errors.Join(b.FakeBackend.ResizeContainer(ctx, id, r), b.FakeBackend.StopContainer(ctx, id, 0))
}

type nameless struct{ *runtimetest.FakeBackend }

func (nameless) Info(context.Context) (runtime.BackendInfo, error) {
	return runtime.BackendInfo{}, nil
}

type labelling struct{ *runtimetest.FakeBackend }

func (b labelling) SandboxStatus(ctx context.Context, id string) (runtime.Sandbox, error) {
	st, err := b.FakeBackend.SandboxStatus(ctx, id)
	if err == nil {
		st.Labels["example.com/seen"] = "yes"
	}
	return st, err
}

// generous gives each creation an attempt of its own.
type generous struct {
	*runtimetest.FakeBackend
	mu       sync.Mutex
	attempts uint32
}

func (b *generous) next() uint32 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.attempts++
	return b.attempts
}

func (b *generous) CreateSandbox(ctx context.Context, cfg runtime.SandboxConfig) (string, error) {
	cfg.Attempt = b.next()
	return b.FakeBackend.CreateSandbox(ctx, cfg)
}

func (b *generous) CreateContainer(ctx context.Context, sandboxID string, cfg runtime.ContainerConfig) (string, error) {
	cfg.Attempt = b.next()
	return b.FakeBackend.CreateContainer(ctx, sandboxID, cfg)
}

type strange struct{ *runtimetest.FakeBackend }

func (b strange) SandboxStatus(ctx context.Context, id string) (runtime.Sandbox, error) {
	st, err := b.FakeBackend.SandboxStatus(ctx, id)
	if err != nil {
		err = errors.New(err.Error())
	}
	return st, err
}

func (b strange) ContainerStatus(ctx context.Context, id string) (runtime.Container, error) {
	st, err := b.FakeBackend.ContainerStatus(ctx, id)
	if err != nil {
		err = errors.New(err.Error())
	}
	return st, err
}

type strict struct{ *runtimetest.FakeBackend }

func (b strict) StopSandbox(ctx context.Context, id string) error {
	if _, err := b.SandboxStatus(ctx, id); err != nil {
		return err
	}
	return b.FakeBackend.StopSandbox(ctx, id)
}

func (b strict) StopContainer(ctx context.Context, id string, grace time.Duration) error {
	if _, err := b.ContainerStatus(ctx, id); err != nil {
		return err
	}
	return b.FakeBackend.StopContainer(ctx, id, grace)
}

// lenient marks a sandbox as stopped and does nothing else.
type lenient struct {
	*runtimetest.FakeBackend
	stopped sync.Map
}

func (b *lenient) StopSandbox(_ context.Context, id string) error {
	b.stopped.Store(id, true)
	return nil
}

func (b *lenient) SandboxStatus(ctx context.Context, id string) (runtime.Sandbox, error) {
	st, err := b.FakeBackend.SandboxStatus(ctx, id)
	_, stopped := b.stopped.Load(id)
	st.Ready = st.Ready && !stopped
	return st, err
}

type unfiltered struct{ *runtimetest.FakeBackend }

func (b unfiltered) ListSandboxes(ctx context.Context, _ runtime.Filter) ([]runtime.Sandbox, error) {
	return b.FakeBackend.ListSandboxes(ctx, runtime.Filter{})
}

type silent struct{ *runtimetest.FakeBackend }

func (b silent) StartContainer(ctx context.Context, id string) error {
	_ = b.FakeBackend.StartContainer(ctx, id)
	return nil
}

type codeless struct{ *runtimetest.FakeBackend }

func (b codeless) ContainerStatus(ctx context.Context, id string) (runtime.Container, error) {
	st, err := b.FakeBackend.ContainerStatus(ctx, id)
	st.ExitCode = 0
	return st, err
}

type runningOnly struct{ *runtimetest.FakeBackend }

func (b runningOnly) ListContainers(ctx context.Context, f runtime.Filter) ([]runtime.Container, error) {
	list, err := b.FakeBackend.ListContainers(ctx, f)
	return slices.DeleteFunc(list, func(c runtime.Container) bool { return c.State != runtime.StateRunning }), err
}

type patient struct{ *runtimetest.FakeBackend }

func (b patient) StopContainer(ctx context.Context, id string, grace time.Duration) error {
	if grace == 0 {
		grace = time.Minute
	}
	return b.FakeBackend.StopContainer(ctx, id, grace)
}

type hasty struct{ *runtimetest.FakeBackend }

func (b hasty) StopContainer(ctx context.Context, id string, _ time.Duration) error {
	return b.FakeBackend.StopContainer(ctx, id, 0)
}

// stubbornBackend stops each container by the deadline that it heard first.
type stubbornBackend struct {
	*runtimetest.FakeBackend
	mu    sync.Mutex
	first map[string]time.Time
}

func (b *stubbornBackend) StopContainer(ctx context.Context, id string, grace time.Duration) error {
	b.mu.Lock()
	if _, ok := b.first[id]; !ok {
		b.first[id] = time.Now().Add(grace)
	}
	grace = time.Until(b.first[id])
	b.mu.Unlock()
	return b.FakeBackend.StopContainer(ctx, id, grace)
}

type deaf struct{ *runtimetest.FakeBackend }

func (b deaf) StopContainer(ctx context.Context, id string, grace time.Duration) error {
	return b.FakeBackend.StopContainer(context.WithoutCancel(ctx), id, grace)
}

type fickle struct{ *runtimetest.FakeBackend }

func (b fickle) StopContainer(ctx context.Context, id string, grace time.Duration) error {
	if err := runtimetest.Wait(ctx, grace); err != nil {
		return err
	}
	return b.FakeBackend.StopContainer(ctx, id, 0)
}

// oneAtATime lets no call begin before the one before it has ended.
type oneAtATime struct {
	*runtimetest.FakeBackend
	turn chan struct{}
}

func (b oneAtATime) StopContainer(ctx context.Context, id string, grace time.Duration) error {
	b.turn <- struct{}{}
	defer func() { <-b.turn }()
	return b.FakeBackend.StopContainer(ctx, id, grace)
}

func (b oneAtATime) CreateSandbox(ctx context.Context, cfg runtime.SandboxConfig) (string, error) {
	b.turn <- struct{}{}
	defer func() { <-b.turn }()
	return b.FakeBackend.CreateSandbox(ctx, cfg)
}

type failingBackendExec struct{ *runtimetest.FakeBackend }

func (b failingBackendExec) Exec(ctx context.Context, id string, command []string, io runtime.ExecIO) (int, error) {
	code, err := b.FakeBackend.Exec(ctx, id, command, io)
	if err == nil && code != 0 {
		err = errors.New("exit code not zero")
	}
	return code, err
}

// TestLimitsSkipRules checks that a rule which a limit makes void is skipped,
// with a line that says so.
func TestLimitsSkipRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		skipped := 0
		err := runtimetest.CheckBackend(t.Context(), func(context.Context) (runtimetest.BackendHarness, error) {
			return fakeBackendHarness(runtimetest.NewFakeBackend(runtimetest.FakeBackendConfig{
				Limits: runtime.BackendLimits{DiesWithAgent: true, NoExec: true, NoGrace: true},
			}), nil), nil
		}, runtimetest.Options{Logf: func(format string, args ...any) {
			skipped++
			t.Logf(format, args...)
		}})
		require.NoError(t, err)
		require.Greater(t, skipped, 6)
	})
}

// sharing gives everybody the same labels.
type sharing struct {
	*runtimetest.FakeBackend
	mu   sync.Mutex
	kept map[string]map[string]string
}

func (b *sharing) SandboxStatus(ctx context.Context, id string) (runtime.Sandbox, error) {
	s, err := b.FakeBackend.SandboxStatus(ctx, id)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept[id] == nil {
		b.kept[id] = s.Labels
	}
	s.Labels = b.kept[id]
	return s, err
}
