package runtimetest

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/kubeparts/kubeparts/runtime"
)

// Exec implements [runtime.Execer]. A command that was made by [Script.Command]
// behaves as that script says: it prints its Output, runs and ends. Any other
// ends at once with exit code 0.
func (f *Fake) Exec(ctx context.Context, containerID string, command []string, streams runtime.ExecIO) (int, error) {
	var ended <-chan struct{}
	f.update(podOfContainer(containerID), func(p *fakePod) bool {
		if c := p.byID(containerID); c != nil && c.state == runtime.StateRunning {
			ended = c.wait()
		}
		return false
	})
	code, err := exec(ctx, ended, command, streams)
	return code, wrap(err, "exec in container "+containerID)
}

// Exec implements [runtime.Execer]. A command that was made by [Script.Command]
// behaves as that script says: it prints its Output, runs and ends. Any other
// ends at once with exit code 0.
func (b *FakeBackend) Exec(ctx context.Context, containerID string, command []string, streams runtime.ExecIO) (int, error) {
	if b.cfg.Limits.NoExec {
		return 0, fmt.Errorf("exec in container %s: %w", containerID, runtime.ErrNotSupported)
	}
	var ended <-chan struct{}
	b.mu.Lock()
	if c := b.containers[containerID]; c != nil && c.state == runtime.StateRunning {
		ended = c.wait()
	}
	b.mu.Unlock()
	code, err := exec(ctx, ended, command, streams)
	return code, wrap(err, "exec in container "+containerID)
}

// exec runs a command in a container until that ends; a nil channel is of a
// container that does not run.
func exec(ctx context.Context, ended <-chan struct{}, command []string, streams runtime.ExecIO) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if ended == nil {
		return 0, fmt.Errorf("running container: %w", runtime.ErrNotFound)
	}
	script, err := ParseScript(command)
	if err != nil {
		return 0, nil
	}
	if script.StartError != nil {
		return 0, script.StartError
	}
	if streams.Stdout != nil {
		if _, err := io.WriteString(streams.Stdout, script.Output); err != nil {
			return 0, err
		}
	}
	var done <-chan time.Time
	if script.Exits {
		if script.RunFor <= 0 {
			return int(script.ExitCode), nil
		}
		t := time.NewTimer(script.RunFor)
		defer t.Stop()
		done = t.C
	}
	select {
	case <-done:
		return int(script.ExitCode), nil
	case <-ended:
		return exitKilled, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
