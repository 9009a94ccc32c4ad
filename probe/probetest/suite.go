package probetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/probe"
)

// Targets are containers of a known behaviour that the host of a suite gives
// for its prober. Rules that need one that is nil are skipped.
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

// TestProber checks each rule of a [probe.Prober] in a subtest.
func TestProber(t *testing.T, p probe.Prober, targets Targets) {
	t.Helper()
	if targets == (Targets{}) {
		t.Error(errNoTargets)
	}
	rules.Test(t, func(*testing.T) conformance.Open[subject] { return open(p, targets) }, options)
}

// RuleError is a rule that an implementation breaks: its Name and Text, and how, Err.
// The errors of the suites join one for each.
type RuleError = conformance.RuleError

// CheckProber is [TestProber] without package testing: the error joins a
// [RuleError] for each rule that is broken. No target at all is an error too.
func CheckProber(ctx context.Context, p probe.Prober, targets Targets) error {
	if targets == (Targets{}) {
		return errNoTargets
	}
	return rules.Check(ctx, open(p, targets), options)
}

// subject is a prober, and whom it may ask.
type subject struct {
	prober  probe.Prober
	targets Targets
}

func open(p probe.Prober, targets Targets) conformance.Open[subject] {
	return func(context.Context) (subject, func() error, error) { return subject{p, targets}, nil, nil }
}

// patience is how long an answer may take that should come at once, and haste
// the timeout of probes that are meant to run into it.
const (
	patience = time.Minute
	haste    = 50 * time.Millisecond
)

// options give a prober time enough for the patience of a few probes.
var options = conformance.Options{Limit: 4 * patience}

var rules = conformance.Rules[subject]{
	{Name: "read-only", Text: "Probe writes to nothing that its target points to", Check: of(healthy, checkReadOnly)},
	{Name: "healthy", Text: "a container that works gives Success or Warning, and no error", Check: of(healthy, checkHealthy)},
	{Name: "sick", Text: "a container that answers and fails gives Failure, and no error: it counts", Check: of(sick, checkSick)},
	{Name: "absent", Text: "a container that can't be asked gives an error, so that it counts neither way", Check: of(absent, checkAbsent)},
	{Name: "hanging", Text: "Probe returns soon after its context ends, and does not call that a success", Check: of(hanging, checkHanging)},
	{Name: "ended", Text: "Probe with a context that has ended does not ask the container", Check: of(healthy, checkEnded)},
	{Name: "called-off", Text: "Probe returns soon after its context was cancelled, and does not call that a success", Check: of(hanging, checkCalledOff)},
	{Name: "endless", Text: "an answer without an end takes no longer than the context and leaves no more than OutputLimit bytes", Check: of(endless, checkEndless)},
	{Name: "verbose", Text: "the output of a container is cut to OutputLimit bytes, without an error", Check: of(verbose, checkVerbose)},
	{Name: "concurrent", Text: "a Prober may be used from many goroutines", Check: of(healthy, checkConcurrent)},
}

func healthy(t Targets) *probe.Target { return t.Healthy }
func sick(t Targets) *probe.Target    { return t.Sick }
func absent(t Targets) *probe.Target  { return t.Absent }
func hanging(t Targets) *probe.Target { return t.Hanging }
func endless(t Targets) *probe.Target { return t.Endless }
func verbose(t Targets) *probe.Target { return t.Verbose }

// of makes the check of a rule that needs one of the targets.
func of(which func(Targets) *probe.Target, check func(context.Context, asker) error) func(context.Context, subject) error {
	return func(ctx context.Context, s subject) error {
		target := which(s.targets)
		if target == nil {
			return conformance.Skip("the host gives no such target")
		}
		return check(ctx, asker{s.prober, *target})
	}
}

// asker has a prober ask one target.
type asker struct {
	prober probe.Prober
	target probe.Target
}

// within probes with a timeout.
func (a asker) within(ctx context.Context, timeout time.Duration) (probe.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return a.prober.Probe(ctx, a.target)
}

func checkReadOnly(ctx context.Context, a asker) error {
	before := a.target
	before.Action = *a.target.Action.DeepCopy()
	before.Env, before.Ports = slices.Clone(a.target.Env), slices.Clone(a.target.Ports)
	_, _ = a.within(ctx, patience)
	if !reflect.DeepEqual(before, a.target) {
		return errors.New("the target was written to")
	}
	return nil
}

func checkHealthy(ctx context.Context, a asker) error {
	r, err := a.within(ctx, patience)
	return wantResult(r, err, probe.Success, probe.Warning)
}

func checkSick(ctx context.Context, a asker) error {
	r, err := a.within(ctx, patience)
	return wantResult(r, err, probe.Failure)
}

func checkAbsent(ctx context.Context, a asker) error {
	r, err := a.within(ctx, patience)
	if err == nil {
		return fmt.Errorf("got %s without an error", r.Result)
	}
	return nil
}

func checkHanging(ctx context.Context, a asker) error {
	r, err := a.within(ctx, haste)
	return wantNoSuccess(r, err, "after a timeout")
}

func checkEnded(ctx context.Context, a asker) error {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	r, err := a.within(ctx, patience)
	return wantNoSuccess(r, err, "with an ended context")
}

func checkCalledOff(ctx context.Context, a asker) error {
	ctx, cancel := context.WithCancel(ctx)
	stop := time.AfterFunc(haste, cancel)
	defer stop.Stop()
	defer cancel()
	r, err := a.within(ctx, patience)
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("it probed on after it was called off")
	}
	return wantNoSuccess(r, err, "of a probe that was called off")
}

func checkEndless(ctx context.Context, a asker) error {
	r, _ := a.within(ctx, 10*haste)
	return wantInLimit(r)
}

func checkVerbose(ctx context.Context, a asker) error {
	r, err := a.within(ctx, patience)
	if err := wantResult(r, err, probe.Success, probe.Warning); err != nil {
		return err
	}
	return wantInLimit(r)
}

func checkConcurrent(ctx context.Context, a asker) error {
	const probes = 8
	errs := make(chan error, probes)
	for range probes {
		go func() {
			errs <- conformance.Guard(func() error { return checkHealthy(ctx, a) })
		}()
	}
	var all []error
	for range probes {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

func wantResult(r probe.Response, err error, want ...probe.Result) error {
	if err != nil {
		return fmt.Errorf("got the error %w", err)
	}
	if !slices.Contains(want, r.Result) {
		return fmt.Errorf("got %s, want %v", r.Result, want)
	}
	return nil
}

func wantNoSuccess(r probe.Response, err error, when string) error {
	if err == nil && r.Result != probe.Failure && r.Result != probe.Unknown {
		return fmt.Errorf("got %s %s", r.Result, when)
	}
	return nil
}

func wantInLimit(r probe.Response) error {
	if len(r.Output) > probe.OutputLimit {
		return fmt.Errorf("got %d bytes of output, the limit is %d", len(r.Output), probe.OutputLimit)
	}
	return nil
}
