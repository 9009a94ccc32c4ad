//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/process/internal/keeper"
)

// CreateContainer implements [runtime.Backend]. It refuses what [Check] refuses
// of a pod.
func (b *Backend) CreateContainer(ctx context.Context, sandboxID string, cfg runtime.ContainerConfig) (string, error) {
	wrap := func(err error) error {
		return fmt.Errorf("process: create container %q in sandbox %s: %w", cfg.Name, sandboxID, err)
	}
	s := b.find(sandboxID)
	if s == nil {
		return "", wrap(runtime.ErrNotFound)
	}
	id := newContainerID(sandboxID)
	home := filepath.Join(s.dir, keeper.HomePrefix+keeper.Suffix(id))
	cmd, err := b.command(&cfg, s, home)
	if err != nil {
		return "", wrap(err)
	}
	if err := makeHome(home, cmd.User); err != nil {
		return "", wrap(err)
	}
	rec := &keeper.Container{
		ID: id, Name: cfg.Name, Attempt: cfg.Attempt,
		Image: cfg.Image, ImageRef: cfg.ImageRef, LogPath: cfg.LogPath,
		Labels: cfg.Labels, Annotations: cfg.Annotations, CreatedAt: time.Now(),
	}
	if err := b.call(ctx, s, &keeper.Request{Op: keeper.OpCreate, Container: rec, Command: cmd}); err != nil {
		_ = os.RemoveAll(home)
		return "", wrap(err)
	}
	return id, nil
}

// command says how the container's process is started.
func (b *Backend) command(cfg *runtime.ContainerConfig, s *sandbox, home string) (*keeper.Command, error) {
	if len(cfg.Command) == 0 {
		return nil, errors.New("it has no command, and a local process has no image to take one from")
	}
	if sc := cfg.SecurityContext; sc != nil {
		if errs := checkSecurity(sc, b.agent, field.NewPath("securityContext")); len(errs) > 0 {
			return nil, errs.ToAggregate()
		}
	}
	signal, ok := signalNumber(cfg.StopSignal)
	if !ok {
		return nil, fmt.Errorf("unknown stop signal %q", cfg.StopSignal)
	}
	dir := cfg.WorkingDir
	if dir == "" {
		dir = home
	} else if info, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("working directory: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("working directory: %s is no folder", dir)
	}
	user, noNewPrivs := b.credentials(cfg.SecurityContext, s)
	return &keeper.Command{
		Argv:        append(cfg.Command[:len(cfg.Command):len(cfg.Command)], cfg.Args...),
		Env:         environ(cfg, home),
		Dir:         dir,
		User:        user,
		NoNewPrivs:  noNewPrivs,
		StopSignal:  signal,
		MaxLogBytes: b.cfg.MaxLogBytes,
		MaxLogFiles: b.cfg.MaxLogFiles,
	}, nil
}

// makeHome makes the container's own folder, for whom it runs as.
func makeHome(home string, user *keeper.User) error {
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	if user == nil {
		return nil
	}
	return os.Chown(home, int(user.UID), int(user.GID))
}

// call makes a request of a sandbox's keeper that needs it alive.
func (b *Backend) call(ctx context.Context, s *sandbox, req *keeper.Request) error {
	if s.isGone() {
		return errNotReady
	}
	_, err := keeper.Call(ctx, s.dir, req)
	return translate(err)
}

// translate gives the errors of a keeper the names that callers know.
func translate(err error) error {
	switch {
	case errors.Is(err, keeper.ErrGone):
		return errNotReady
	case errors.Is(err, keeper.ErrUnknown):
		return runtime.ErrNotFound
	default:
		return err
	}
}

var errNotReady = errors.New("the sandbox is not ready")

// StartContainer implements [runtime.Backend].
func (b *Backend) StartContainer(ctx context.Context, id string) error {
	s, err := b.sandboxFor(id)
	if err == nil {
		err = b.call(ctx, s, &keeper.Request{Op: keeper.OpStart, ID: id})
	}
	if err != nil {
		return fmt.Errorf("process: start container %s: %w", id, err)
	}
	return nil
}

// StopContainer implements [runtime.Backend].
func (b *Backend) StopContainer(ctx context.Context, id string, grace time.Duration) error {
	return b.end(ctx, "stop", id, &keeper.Request{Op: keeper.OpStop, ID: id, Grace: grace})
}

// RemoveContainer implements [runtime.Backend].
func (b *Backend) RemoveContainer(ctx context.Context, id string) error {
	return b.end(ctx, "remove", id, &keeper.Request{Op: keeper.OpRemove, ID: id})
}

// end makes a request whose purpose is fulfilled when the keeper is gone and
// what it left was cleared up.
func (b *Backend) end(ctx context.Context, what, id string, req *keeper.Request) error {
	s, err := b.sandboxFor(id)
	if err != nil {
		return nil // it is gone already
	}
	err = keeper.ErrGone
	if !s.isGone() {
		err = b.insist(ctx, s, req)
	}
	if errors.Is(err, keeper.ErrGone) {
		err = b.bury(ctx, s)
		if err == nil && req.Op == keeper.OpRemove {
			err = s.removeRemains(id)
		}
	}
	if err != nil {
		return fmt.Errorf("process: %s container %s: %w", what, id, err)
	}
	return nil
}

// insist makes a request that must not fail for a keeper that has hung: a
// container may have stopped it. One that takes longer than it should and does not
// even say that it lives is killed, and then is gone.
func (b *Backend) insist(ctx context.Context, s *sandbox, req *keeper.Request) error {
	for {
		bounded, cancel := context.WithTimeout(ctx, max(req.Grace+b.patience, req.Grace))
		_, err := keeper.Call(bounded, s.dir, req)
		cancel()
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		bounded, cancel = context.WithTimeout(ctx, b.patience)
		_, silent := keeper.Call(bounded, s.dir, &keeper.Request{Op: keeper.OpList})
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(silent, context.DeadlineExceeded):
			// It is at work on what was asked; asked again, it goes on with it.
		case s.killKeeper():
			b.cfg.Logger.Error("the keeper of a sandbox does not answer and was killed", "sandbox", s.rec.ID)
			return keeper.ErrGone
		default:
			return err
		}
	}
}

// sandboxFor returns the sandbox of a container.
func (b *Backend) sandboxFor(containerID string) (*sandbox, error) {
	if id, ok := sandboxOf(containerID); ok {
		if s := b.find(id); s != nil {
			return s, nil
		}
	}
	return nil, runtime.ErrNotFound
}

// ListContainers implements [runtime.Backend].
func (b *Backend) ListContainers(ctx context.Context, f runtime.Filter) ([]runtime.Container, error) {
	looks, err := b.lookAtAll(ctx, b.selected(f))
	if err != nil {
		return nil, fmt.Errorf("process: list containers: %w", err)
	}
	var out []runtime.Container
	for _, l := range looks {
		for i := range l.containers {
			out = append(out, describe(l, &l.containers[i]))
		}
	}
	return out, nil
}

// ContainerStatus implements [runtime.Backend].
func (b *Backend) ContainerStatus(ctx context.Context, id string) (runtime.Container, error) {
	s, err := b.sandboxFor(id)
	if err != nil {
		return runtime.Container{}, fmt.Errorf("process: container %q: %w", id, err)
	}
	l, err := b.look(ctx, s)
	if err != nil {
		return runtime.Container{}, fmt.Errorf("process: container %s: %w", id, err)
	}
	for i := range l.containers {
		if l.containers[i].ID == id {
			return describe(l, &l.containers[i]), nil
		}
	}
	return runtime.Container{}, fmt.Errorf("process: container %s: %w", id, runtime.ErrNotFound)
}

func describe(l look, c *keeper.Container) runtime.Container {
	state := runtime.State(c.State)
	if l.silent && c.State == keeper.Running {
		state = runtime.StateUnknown
	}
	return runtime.Container{
		ID: c.ID, SandboxID: l.sandbox.rec.ID, PodUID: types.UID(l.sandbox.rec.UID),
		Name: c.Name, Attempt: c.Attempt, State: state,
		CreatedAt: c.CreatedAt, StartedAt: c.StartedAt, FinishedAt: c.FinishedAt,
		ExitCode: c.ExitCode, Reason: c.Reason, Message: c.Message,
		Image: c.Image, ImageRef: c.ImageRef, LogPath: c.LogPath,
		Labels: maps.Clone(c.Labels), Annotations: maps.Clone(c.Annotations),
	}
}
