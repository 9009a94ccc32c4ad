package runtimetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/runtime"
)

func backendExec(c *backendCase) error {
	e, err := c.execer(c.Programs.ExecPrints == nil)
	if err != nil {
		return err
	}
	_, id, err := c.started(c.Programs.RunsForever, "runs")
	if err != nil {
		return err
	}
	if err := execPrints(c.bench, e, id, c.Programs); err != nil {
		return err
	}
	return c.running(id)
}

// execer returns the Backend's power to run commands, or skips the rule.
func (c *backendCase) execer(noCommand bool) (runtime.Execer, error) {
	e, ok := c.Backend.(runtime.Execer)
	switch {
	case c.limits.NoExec:
		return nil, conformance.Skip("its limit NoExec")
	case !ok:
		return nil, errors.New("it is no Execer, and its limits don't say NoExec")
	case noCommand:
		return nil, conformance.Skip("the host has no such command")
	}
	return e, nil
}

func backendExecCancel(c *backendCase) error {
	e, err := c.execer(len(c.Programs.ExecHangs) == 0)
	if err != nil {
		return err
	}
	_, id, err := c.started(c.Programs.RunsForever, "runs")
	if err != nil {
		return err
	}
	if err := execCancelled(c.bench, e, id, c.Programs.ExecHangs); err != nil {
		return err
	}
	return c.running(id)
}

// execCancelled runs a command that hangs, with streams that would keep it from
// returning if a child of it held them.
func execCancelled(b *bench, e runtime.Execer, id string, command []string) error {
	ctx, cancel := context.WithTimeout(b.ctx, 500*time.Millisecond)
	defer cancel()
	var out bytes.Buffer
	err := b.result("Exec", async(func() error {
		_, err := e.Exec(ctx, id, command, runtime.ExecIO{Stdout: &out, Stderr: &out})
		return err
	}))
	if !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("its error is %w, want the context's", orNone(err))
	}
	return nil
}

func backendExecUnknown(c *backendCase) error {
	e, err := c.execer(c.Programs.ExecPrints == nil)
	if err != nil {
		return err
	}
	command := c.Programs.ExecPrints("hello", 0)
	_, err = e.Exec(c.ctx, "no-such-container", command, runtime.ExecIO{})
	if err := gone("Exec", err); err != nil {
		return err
	}
	_, id, err := c.started(c.Programs.RunsForever, "runs")
	if err != nil {
		return err
	}
	if err := c.StopContainer(c.ctx, id, 0); err != nil {
		return err
	}
	if _, err := e.Exec(c.ctx, id, command, runtime.ExecIO{}); err == nil {
		return errors.New("Exec in a container that ended gave no error")
	}
	return nil
}

// execer returns the Runtime's power to run commands and a container to run
// them in, or skips the rule.
func (c *runtimeCase) execer(noCommand bool) (runtime.Execer, string, error) {
	e, ok := c.Runtime.(runtime.Execer)
	switch {
	case !ok:
		return nil, "", conformance.Skip("it is no Execer")
	case c.Limits.NoExec:
		return nil, "", conformance.Skip("the limit NoExec")
	case noCommand:
		return nil, "", conformance.Skip("the host has no such command")
	}
	_, st, err := c.server()
	if err != nil {
		return nil, "", err
	}
	return e, st.Container("main").ID, nil
}

func runtimeExec(c *runtimeCase) error {
	e, id, err := c.execer(c.Programs.ExecPrints == nil)
	if err != nil {
		return err
	}
	return execPrints(c.bench, e, id, c.Programs)
}

// execPrints runs commands that print and end.
func execPrints(b *bench, e runtime.Execer, id string, programs Programs) error {
	for _, code := range []int{0, 3} {
		var out bytes.Buffer
		got, err := e.Exec(b.ctx, id, programs.ExecPrints("hello", code), runtime.ExecIO{Stdout: &out})
		switch {
		case err != nil:
			return err
		case got != code:
			return fmt.Errorf("the exit code is %d, want %d", got, code)
		case strings.TrimSpace(out.String()) != "hello":
			return fmt.Errorf("it printed %q, want hello", out.String())
		}
		if got, err = e.Exec(b.ctx, id, programs.ExecPrints("hello", code), runtime.ExecIO{}); err != nil || got != code {
			return fmt.Errorf("without streams it gave exit code %d and error %w", got, orNone(err))
		}
	}
	return nil
}

func runtimeExecCancel(c *runtimeCase) error {
	e, id, err := c.execer(len(c.Programs.ExecHangs) == 0)
	if err != nil {
		return err
	}
	return execCancelled(c.bench, e, id, c.Programs.ExecHangs)
}

func runtimeExecUnknown(c *runtimeCase) error {
	e, _, err := c.execer(c.Programs.ExecPrints == nil)
	if err != nil {
		return err
	}
	_, err = e.Exec(c.ctx, "no-such-container", c.Programs.ExecPrints("hello", 0), runtime.ExecIO{})
	return gone("Exec", err)
}
