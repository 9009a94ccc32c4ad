package probetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/kubeparts/kubeparts/probe"
)

// Targets are containers of a known behaviour that the host of a suite gives
// for its prober. A nil one is not tested, which the suite prints.
type Targets struct {
	// Healthy succeeds.
	Healthy *probe.Target
	// Sick answers, and fails.
	Sick *probe.Target
	// Absent cannot be asked: no such container, port name or command.
	Absent *probe.Target
	// Hanging never answers.
	Hanging *probe.Target
	// Endless answers and never stops answering: a body or an output without
	// an end.
	Endless *probe.Target
	// Verbose succeeds with more output than [probe.OutputLimit].
	Verbose *probe.Target
}

// errNoTargets keeps the suite from passing over nothing.
var errNoTargets = errors.New("there are no targets, so nothing is tested")

// TestProber runs the suite over a prober.
func TestProber(t *testing.T, p probe.Prober, targets Targets) {
	t.Helper()
	if targets == (Targets{}) {
		t.Error(errNoTargets)
	}
	for _, c := range cases {
		target := c.target(targets)
		t.Run(c.name, func(t *testing.T) {
			if target == nil {
				t.Logf("not tested, the host gives no such target: %s", c.rule)
				return
			}
			if err := c.check(t.Context(), p, *target); err != nil {
				t.Errorf("%v\nrule: %s", err, c.rule)
			}
		})
	}
}

// CheckProber is the suite as one error, which joins a *RuleError for each rule
// that the prober breaks; nil when it keeps all. No target at all is an error too.
func CheckProber(ctx context.Context, p probe.Prober, targets Targets) error {
	if targets == (Targets{}) {
		return errNoTargets
	}
	var broken []error
	for _, c := range cases {
		target := c.target(targets)
		if target == nil {
			continue
		}
		if err := c.check(ctx, p, *target); err != nil {
			broken = append(broken, &RuleError{Case: c.name, Rule: c.rule, Err: err})
		}
	}
	return errors.Join(broken...)
}

// RuleError is one rule of the suite that a prober breaks.
type RuleError struct {
	Case string // the name of the case
	Rule string // the sentence that it enforces
	Err  error  // what was seen
}

// Error says which rule was broken, and how.
func (e *RuleError) Error() string {
	return fmt.Sprintf("%s: %v (rule: %s)", e.Case, e.Err, e.Rule)
}

// Unwrap returns Err.
func (e *RuleError) Unwrap() error { return e.Err }

type suiteCase struct {
	name, rule string
	target     func(Targets) *probe.Target
	check      func(context.Context, probe.Prober, probe.Target) error
}

// patience is how long an answer may take that should come at once, and haste
// the timeout of probes that are meant to run into it.
const (
	patience = time.Minute
	haste    = 50 * time.Millisecond
)

var cases = []suiteCase{
	{
		"read-only", "Probe writes to nothing that its target points to",
		func(t Targets) *probe.Target { return t.Healthy },
		func(ctx context.Context, p probe.Prober, target probe.Target) error {
			before := target
			before.Action = *target.Action.DeepCopy()
			before.Env, before.Ports = slices.Clone(target.Env), slices.Clone(target.Ports)
			if _, err := within(ctx, patience, p, target); errors.Is(err, errStillProbing) {
				return err
			}
			if !reflect.DeepEqual(before, target) {
				return errors.New("the target was written to")
			}
			return nil
		},
	},
	{
		"healthy", "a container that works gives Success or Warning, and no error",
		func(t Targets) *probe.Target { return t.Healthy },
		func(ctx context.Context, p probe.Prober, target probe.Target) error {
			r, err := within(ctx, patience, p, target)
			return wantResult(r, err, probe.Success, probe.Warning)
		},
	},
	{
		"sick", "a container that answers and fails gives Failure, and no error: it counts",
		func(t Targets) *probe.Target { return t.Sick },
		func(ctx context.Context, p probe.Prober, target probe.Target) error {
			r, err := within(ctx, patience, p, target)
			return wantResult(r, err, probe.Failure)
		},
	},
	{
		"absent", "a container that can't be asked gives an error, so that it counts neither way",
		func(t Targets) *probe.Target { return t.Absent },
		func(ctx context.Context, p probe.Prober, target probe.Target) error {
			r, err := within(ctx, patience, p, target)
			if err == nil {
				return fmt.Errorf("got %s without an error", r.Result)
			}
			return nil
		},
	},
	{
		"hanging", "Probe returns soon after its context ends, and does not call that a success",
		func(t Targets) *probe.Target { return t.Hanging },
		func(ctx context.Context, p probe.Prober, target probe.Target) error {
			r, err := within(ctx, haste, p, target)
			if errors.Is(err, errStillProbing) {
				return err
			}
			if err == nil && r.Result != probe.Failure && r.Result != probe.Unknown {
				return fmt.Errorf("got %s after a timeout", r.Result)
			}
			return nil
		},
	},
	{
		"ended", "Probe with a context that has ended does not ask the container",
		func(t Targets) *probe.Target { return t.Healthy },
		func(ctx context.Context, p probe.Prober, target probe.Target) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			r, err := within(ctx, patience, p, target)
			if err == nil && r.Result != probe.Failure && r.Result != probe.Unknown {
				return fmt.Errorf("got %s with an ended context", r.Result)
			}
			return nil
		},
	},
	{
		"called-off", "Probe returns soon after its context was cancelled, and does not call that a success",
		func(t Targets) *probe.Target { return t.Hanging },
		func(ctx context.Context, p probe.Prober, target probe.Target) error {
			ctx, cancel := context.WithCancel(ctx)
			stop := time.AfterFunc(haste, cancel)
			defer stop.Stop()
			defer cancel()
			r, err := within(ctx, patience, p, target)
			if err == nil && r.Result != probe.Failure && r.Result != probe.Unknown {
				return fmt.Errorf("got %s of a probe that was called off", r.Result)
			}
			if errors.Is(err, errStillProbing) || errors.Is(err, context.DeadlineExceeded) {
				return errStillProbing
			}
			return nil
		},
	},
	{
		"endless", "an answer without an end takes no longer than the context and leaves no more than OutputLimit bytes",
		func(t Targets) *probe.Target { return t.Endless },
		func(ctx context.Context, p probe.Prober, target probe.Target) error {
			r, err := within(ctx, 10*haste, p, target)
			switch {
			case errors.Is(err, errStillProbing):
				return err
			case len(r.Output) > probe.OutputLimit:
				return fmt.Errorf("got %d bytes of output, the limit is %d", len(r.Output), probe.OutputLimit)
			}
			return nil
		},
	},
	{
		"verbose", "the output of a container is cut to OutputLimit bytes, without an error",
		func(t Targets) *probe.Target { return t.Verbose },
		func(ctx context.Context, p probe.Prober, target probe.Target) error {
			r, err := within(ctx, patience, p, target)
			if err := wantResult(r, err, probe.Success, probe.Warning); err != nil {
				return err
			}
			if len(r.Output) > probe.OutputLimit {
				return fmt.Errorf("got %d bytes of output, the limit is %d", len(r.Output), probe.OutputLimit)
			}
			return nil
		},
	},
	{
		"concurrent", "a Prober may be used from many goroutines",
		func(t Targets) *probe.Target { return t.Healthy },
		func(ctx context.Context, p probe.Prober, target probe.Target) error {
			const probes = 8
			errs := make(chan error, probes)
			for range probes {
				go func() {
					r, err := within(ctx, patience, p, target)
					errs <- wantResult(r, err, probe.Success, probe.Warning)
				}()
			}
			var all []error
			for range probes {
				all = append(all, <-errs)
			}
			return errors.Join(all...)
		},
	},
}

var errStillProbing = errors.New("still probing long after the context ended")

// within probes with a timeout and does not wait for ever for a prober that
// ignores it.
func within(ctx context.Context, timeout time.Duration, p probe.Prober, target probe.Target) (probe.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	type answer struct {
		r   probe.Response
		err error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if cause := recover(); cause != nil {
				a.err = fmt.Errorf("it panicked: %v\n%s", cause, debug.Stack())
			}
			done <- a
		}()
		a.r, a.err = p.Probe(ctx, target)
	}()
	late := time.NewTimer(2 * patience)
	defer late.Stop()
	select {
	case a := <-done:
		return a.r, a.err
	case <-late.C:
		return probe.Response{}, errStillProbing
	}
}

func wantResult(r probe.Response, err error, want ...probe.Result) error {
	if err != nil {
		return fmt.Errorf("got the error %w", err)
	}
	for _, w := range want {
		if r.Result == w {
			return nil
		}
	}
	return fmt.Errorf("got %s, want %v", r.Result, want)
}
