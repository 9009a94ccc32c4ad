package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/runtime"
)

// BackendHarness is a Backend under test and what the suite must know of it.
type BackendHarness struct {
	// Backend is the one to check; it runs nothing yet that the suite would
	// mistake for its own.
	Backend runtime.Backend
	// Programs are the behaviours that its containers can have.
	Programs Programs
	// LogDir is an existing folder for logs; "" where none are written to
	// disk.
	LogDir string
	// ReadLog reads what a container logged, by the path of its log;
	// os.ReadFile where LogDir is set. Where both are missing, the rules about
	// logs are skipped.
	ReadLog func(path string) ([]byte, error)
	// Reopen ends the Backend as a crash of the agent would, and returns
	// another one over the same state. If it is nil, or the Backend dies with
	// the agent, the rules about restarts are skipped.
	Reopen func(ctx context.Context) (runtime.Backend, error)
	// Close ends the Backend and all that belongs to it; may be nil.
	Close func() error
}

// TestBackend checks each rule of [runtime.Backend] in a subtest. Each gets a harness of its
// own; newBackend may call t.Parallel. Run it with -race.
func TestBackend(t *testing.T, newBackend func(*testing.T) BackendHarness) {
	t.Helper()
	opts := Options{}
	suiteOf(backendRules).Test(t, func(t *testing.T) conformance.Open[*backendCase] {
		h := newBackend(t)
		return openBackend(func(context.Context) (BackendHarness, error) { return h, nil }, opts)
	}, opts.suite())
}

// CheckBackend is [TestBackend] without package testing: the error joins a
// [RuleError] for each rule that is broken.
func CheckBackend(ctx context.Context, newBackend func(context.Context) (BackendHarness, error), opts Options) error {
	return suiteOf(backendRules).Check(ctx, openBackend(newBackend, opts), opts.suite())
}

// backendCase is one rule being checked on one Backend.
type backendCase struct {
	*bench
	runtime.Backend
	BackendHarness
	limits    runtime.BackendLimits
	sandboxes []string
}

func openBackend(newBackend func(context.Context) (BackendHarness, error), opts Options) conformance.Open[*backendCase] {
	return func(ctx context.Context) (*backendCase, func() error, error) {
		b := newBench(ctx, opts)
		h, err := newBackend(b.ctx)
		if err != nil {
			return nil, nil, err
		}
		c := &backendCase{bench: b, Backend: h.Backend, BackendHarness: h}
		if c.ReadLog == nil && c.LogDir != "" {
			c.ReadLog = os.ReadFile
		}
		info, err := h.Backend.Info(b.ctx)
		if err = errors.Join(err, h.Programs.check()); err != nil {
			return nil, nil, errors.Join(err, c.finish())
		}
		c.limits = info.Limits
		return c, c.finish, nil
	}
}

// finish removes what the case made, also after its time is over.
func (c *backendCase) finish() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), c.patience)
	defer cancel()
	var errs []error
	for _, id := range c.sandboxes {
		errs = append(errs, c.Backend.RemoveSandbox(ctx, id))
	}
	if c.Close != nil {
		errs = append(errs, c.Close())
	}
	errs = append(errs, c.noneLeft())
	return errors.Join(errs...)
}

// sandboxConfig describes a new pod's sandbox.
func (c *backendCase) sandboxConfig() runtime.SandboxConfig {
	name := c.name("pod")
	cfg := runtime.SandboxConfig{
		PodRef:          runtime.PodRef{UID: types.UID("uid-" + name), Namespace: "default", Name: name},
		Hostname:        name,
		LogDir:          filepath.Join(c.LogDir, name),
		Labels:          map[string]string{"io.kubernetes.pod.uid": "uid-" + name, "example.com/rule": ""},
		Annotations:     map[string]string{"example.com/text": "line\n\"quoted\" = ü, $(X) \\"},
		SecurityContext: &v1.PodSecurityContext{},
	}
	return cfg
}

// sandbox makes a sandbox, removed when the case ends.
func (c *backendCase) sandbox() (runtime.SandboxConfig, string, error) {
	cfg := c.sandboxConfig()
	id, err := c.makeSandbox(cfg)
	return cfg, id, err
}

func (c *backendCase) makeSandbox(cfg runtime.SandboxConfig) (string, error) {
	if err := c.makeLogDir(cfg); err != nil {
		return "", err
	}
	id, err := c.CreateSandbox(c.ctx, cfg)
	if err != nil {
		return "", err
	}
	if id == "" {
		return "", errors.New("CreateSandbox gave an empty ID")
	}
	c.sandboxes = append(c.sandboxes, id)
	return id, nil
}

// makeLogDir makes the folder of a pod's logs, as whoever uses a Backend does.
func (c *backendCase) makeLogDir(cfg runtime.SandboxConfig) error {
	if c.LogDir == "" {
		return nil
	}
	return os.MkdirAll(cfg.LogDir, 0o755)
}

// containerConfig describes a container of a sandbox.
func (c *backendCase) containerConfig(sb runtime.SandboxConfig, name string, attempt uint32, p Program) runtime.ContainerConfig {
	return runtime.ContainerConfig{
		Name: name, Attempt: attempt,
		Image: p.Image, ImageRef: p.Image, Command: p.Command, Args: p.Args,
		LogPath:         filepath.Join(sb.LogDir, fmt.Sprintf("%s-%d.log", name, attempt)),
		Labels:          map[string]string{"io.kubernetes.container.name": name, "io.kubernetes.pod.uid": string(sb.UID)},
		Annotations:     map[string]string{"io.kubernetes.container.hash": "8e45cbd0", "example.com/empty": ""},
		SecurityContext: &v1.SecurityContext{},
	}
}

// start makes and starts a container in a sandbox.
func (c *backendCase) start(sb runtime.SandboxConfig, sandboxID, name string, p Program) (string, error) {
	id, err := c.CreateContainer(c.ctx, sandboxID, c.containerConfig(sb, name, 0, p))
	if err != nil {
		return "", err
	}
	return id, c.StartContainer(c.ctx, id)
}

// started makes a sandbox with one container that was started, skipping the rule
// where there is no such program.
func (c *backendCase) started(p Program, what string) (sandboxID, id string, err error) {
	if err := p.missing(what); err != nil {
		return "", "", err
	}
	sb, sandboxID, err := c.sandbox()
	if err != nil {
		return "", "", err
	}
	id, err = c.start(sb, sandboxID, "main", p)
	return sandboxID, id, err
}

// stubborn makes a container that runs and ignores being asked to stop.
func (c *backendCase) stubborn() (id string, err error) {
	if c.limits.NoGrace {
		return "", conformance.Skip("its limit NoGrace makes each stop a kill")
	}
	_, id, err = c.started(c.Programs.IgnoresTerm, "ignores being asked to stop")
	if err != nil || c.ReadLog == nil {
		return id, err
	}
	st, err := c.ContainerStatus(c.ctx, id)
	if err != nil {
		return id, err
	}
	return id, c.awaitLog(st.LogPath, "ready")
}

// awaitExit polls until the container has ended.
func (c *backendCase) awaitExit(id string) (st runtime.Container, err error) {
	err = c.await(func() (ok bool, err error) {
		st, err = c.ContainerStatus(c.ctx, id)
		return st.State == runtime.StateExited, err
	})
	if err != nil {
		err = fmt.Errorf("container %s (state %q) did not end: %w", id, st.State, err)
	}
	return st, err
}

// awaitLog polls until a log holds a text.
func (c *backendCase) awaitLog(path, text string) error {
	var log []byte
	err := c.await(func() (bool, error) {
		log, _ = c.ReadLog(path) // it may not be there yet
		return containsText(log, text), nil
	})
	if err != nil {
		return fmt.Errorf("log %s does not show %q: %w; it holds %q", path, text, err, log)
	}
	return nil
}

// running gives an error unless the container runs.
func (c *backendCase) running(id string) error {
	st, err := c.ContainerStatus(c.ctx, id)
	if err == nil && st.State != runtime.StateRunning {
		err = fmt.Errorf("container %s is %s, not running", id, st.State)
	}
	return err
}

// gone gives an error unless the error says that something does not exist.
func gone(what string, err error) error {
	if err == nil {
		return fmt.Errorf("%s gave no error, want ErrNotFound", what)
	}
	if !errors.Is(err, runtime.ErrNotFound) {
		return fmt.Errorf("%s: %w, which is no ErrNotFound", what, err)
	}
	return nil
}

func sameMap(what string, got, want map[string]string) error {
	if !maps.Equal(got, want) {
		return fmt.Errorf("%s came back as %q, want %q", what, got, want)
	}
	return nil
}
