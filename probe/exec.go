package probe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// ErrTimedOut is wrapped by what an [Exec] prober says of a command that did not
// end in time. A runtime.Execer that keeps a timeout of its own may wrap it too.
var ErrTimedOut = errors.New("command timed out")

// Exec probes by running a command in the container: the exit code 0 is Success,
// any other Failure, and so is a command that does not end in time, which is
// killed with all that it started.
//
// $(NAME) in the command stands for a variable that the container's spec gives
// literally; one that comes from elsewhere is empty, and an unknown one stays as
// written. No shell is involved.
type Exec struct {
	// Execer runs the commands; required.
	Execer runtime.Execer
}

// Probe implements [Prober] for actions with Exec set.
func (p *Exec) Probe(ctx context.Context, target Target) (Response, error) {
	switch {
	case target.Action.Exec == nil:
		return Response{Result: Unknown}, errors.New("no exec in the probe's action")
	case p.Execer == nil:
		return Response{Result: Unknown}, fmt.Errorf("exec probe: the runtime runs no commands: %w", runtime.ErrNotSupported)
	case ctx.Err() != nil:
		return Response{Result: Unknown}, ctx.Err()
	}
	command, err := expandCommand(target.Action.Exec.Command, target.Env)
	if err != nil {
		return Response{Result: Unknown}, err
	}
	began := time.Now()
	var stdout, stderr head
	code, err := p.Execer.Exec(ctx, target.ContainerID, command, runtime.ExecIO{Stdout: &stdout, Stderr: &stderr})
	switch {
	case stopped(ctx):
		return Response{Result: Unknown}, ctx.Err()
	case errors.Is(err, ErrTimedOut):
		return Response{Result: Failure, Output: clip(err.Error())}, nil
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return Response{Result: Failure, Output: clip(timedOut(ctx, target.Action.Exec.Command, began).Error())}, nil
	case err != nil:
		return Response{Result: Unknown}, err
	}
	r := Response{Result: Success, Output: clip(string(stdout.data) + string(stderr.data))}
	if code != 0 {
		r.Result = Failure
	}
	return r, nil
}

// timedOut names the command as the manifest does: what a variable holds is
// nobody's business. The time is rounded so that it is the same each time.
func timedOut(ctx context.Context, command []string, began time.Time) error {
	deadline, _ := ctx.Deadline()
	after := deadline.Sub(began).Round(time.Millisecond)
	if after > time.Second/2 {
		after = after.Round(time.Second / 10)
	}
	return fmt.Errorf("%w: %q timed out after %s", ErrTimedOut, strings.Join(command, " "), after)
}

func expandCommand(command []string, env []v1.EnvVar) ([]string, error) {
	var values map[string]string // made for the first reference
	left := runtime.MaxExpanded
	lookup := func(name string) (string, bool) {
		if values == nil {
			values = literals(env)
		}
		value, ok := values[name]
		if left -= len(value); left < 0 {
			return "", ok
		}
		return value, ok
	}
	expanded := make([]string, len(command))
	for i, arg := range command {
		expanded[i] = runtime.Expand(arg, lookup)
	}
	if left < 0 {
		return nil, runtime.ErrExpanded
	}
	return expanded, nil
}

// literals are the values that a spec gives literally; the last of several variables
// of one name holds.
func literals(env []v1.EnvVar) map[string]string {
	values := make(map[string]string, len(env))
	for i := range env {
		values[env[i].Name] = env[i].Value
	}
	return values
}

// head keeps the beginning of what is written to it, and takes the rest.
type head struct{ data []byte }

func (h *head) Write(p []byte) (int, error) {
	h.data = append(h.data, p[:min(len(p), OutputLimit-len(h.data))]...)
	return len(p), nil
}
