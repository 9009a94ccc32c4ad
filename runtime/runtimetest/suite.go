package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Options are for [CheckRuntime] and [CheckBackend]. The zero value is usable.
type Options struct {
	// Patience is how long the suite waits for what must happen; a minute. It is
	// no measure of speed: what takes a fraction of it is fine.
	Patience time.Duration
	// Logf is told each rule that was skipped, and why; nil is silent.
	Logf func(format string, args ...any)
	// Only picks the rules to check, by name; nil is all.
	Only func(rule string) bool
}

// RuleError is a rule of a contract that an implementation breaks.
type RuleError struct {
	// Name of the rule, such as kill-forced.
	Name string
	// Text is the rule in words.
	Text string
	// Err says how it was broken.
	Err error
}

// Error gives the name of the rule, how it was broken, and its text.
func (e *RuleError) Error() string {
	return fmt.Sprintf("%s: %v\n\trule: %s", e.Name, e.Err, e.Text)
}

// Unwrap returns Err.
func (e *RuleError) Unwrap() error { return e.Err }

// BrokenRules returns the names of the rules that an error of [CheckRuntime] or
// [CheckBackend] is made of.
func BrokenRules(err error) []string {
	var names []string
	for _, e := range unjoin(err) {
		var broken *RuleError
		if errors.As(e, &broken) {
			names = append(names, broken.Name)
		}
	}
	return names
}

func unjoin(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// rule is one sentence of a contract and how it is checked on a harness. The
// check gives an error for a rule that is broken, or one that skip made.
type rule[C any] struct {
	name, text string
	check      func(C) error
}

// guarded makes an error of a panic, so that it breaks one rule, and what the case
// made is ended all the same.
func guarded(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return call()
}

// skipError says why a rule can't be checked.
type skipError string

func (e skipError) Error() string { return string(e) }

func skip(why string) error { return skipError(why) }

// bench is what every case of a suite stands on.
type bench struct {
	ctx      context.Context
	patience time.Duration
	run      uint32 // random, so that cases may share what they run on
	count    int
}

// subject opens the implementation for one case. What it returns besides checks
// a rule on it; finish ends all that the case made, and the implementation.
type subject[C any] func(*bench) (c C, finish func() error, err error)

// checkRule checks one rule. The check gets a goroutine of its own, so that an
// implementation that hangs costs that rule alone.
func checkRule[C any](ctx context.Context, r rule[C], open subject[C], opts Options) error {
	patience := opts.Patience
	if patience <= 0 {
		patience = time.Minute
	}
	// Calls end with the context, or the check is given up soon after.
	ctx, cancel := context.WithTimeout(ctx, 10*patience)
	defer cancel()
	b := &bench{ctx: ctx, patience: patience, run: rand.Uint32()}
	label := strconv.FormatUint(rand.Uint64(), 36)
	result := make(chan error, 1)
	go pprof.Do(ctx, pprof.Labels(leakLabel, label), func(ctx context.Context) {
		b.ctx = ctx
		c, finish, err := open(b)
		if err != nil {
			result <- fmt.Errorf("opening it: %w", err)
			return
		}
		err = guarded(func() error { return r.check(c) })
		if ferr := finish(); err == nil && ferr != nil {
			err = fmt.Errorf("ending it: %w", ferr)
		}
		result <- err
	})
	var err error
	select {
	case err = <-result:
	case <-time.After(11 * patience):
		err = errors.New("a call does not return")
	}
	if err == nil && r.name == leakRule {
		err = b.noneLeft(label)
	}
	var skipped skipError
	if err == nil || errors.As(err, &skipped) {
		return err
	}
	return &RuleError{Name: r.name, Text: r.text, Err: err}
}

// checkAll checks all rules, one after another, and joins what is broken.
func checkAll[C any](ctx context.Context, rules []rule[C], open subject[C], opts Options) error {
	var errs []error
	for _, r := range rules {
		if opts.Only != nil && !opts.Only(r.name) {
			continue
		}
		err := checkRule(ctx, r, open, opts)
		var skipped skipError
		switch {
		case errors.As(err, &skipped):
			if opts.Logf != nil {
				opts.Logf("skipped %s: %s (%s)", r.name, skipped, r.text)
			}
		case err != nil:
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// testAll runs each rule as a subtest.
func testAll[C any](t *testing.T, rules []rule[C], open func(*testing.T) subject[C]) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			err := checkRule(t.Context(), r, open(t), Options{})
			var skipped skipError
			switch {
			case errors.As(err, &skipped):
				t.Skipf("%s (%s)", skipped, r.text)
			case err != nil:
				t.Error(err)
			}
		})
	}
}

const (
	leakRule  = "no-goroutine-left"
	leakLabel = "runtimetest"
)

// noneLeft returns nil once no goroutine is left that the case started, itself
// or through others: they carry its label.
func (b *bench) noneLeft(label string) error {
	var stacks string
	err := b.await(func() (bool, error) {
		var profile strings.Builder
		if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
			return false, err
		}
		stacks = ""
		for stack := range strings.SplitSeq(profile.String(), "\n\n") {
			if strings.Contains(stack, strconv.Quote(leakLabel)+":"+strconv.Quote(label)) {
				stacks += stack + "\n"
			}
		}
		return stacks == "", nil
	})
	if err != nil {
		return fmt.Errorf("goroutines are left after it was closed: %w\n%s", err, stacks)
	}
	return nil
}

// await polls until the condition holds.
func (b *bench) await(cond func() (bool, error)) error {
	patience := time.NewTimer(b.patience)
	defer patience.Stop()
	for {
		ok, err := cond()
		if ok || err != nil {
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-patience.C:
			return fmt.Errorf("not within %v", b.patience)
		case <-b.ctx.Done():
			return b.ctx.Err()
		}
	}
}

// soon makes a call that must return soon, whatever it returns.
func (b *bench) soon(what string, call func()) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		call()
	}()
	t := time.NewTimer(b.patience)
	defer t.Stop()
	select {
	case <-done:
		return nil
	case <-t.C:
		return fmt.Errorf("%s did not return within %v", what, b.patience)
	}
}

// async makes a call that takes its time.
func async(call func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- guarded(call) }()
	return done
}

// result waits for an async call.
func (b *bench) result(what string, done <-chan error) error {
	var err error // not the result: who comes too late still writes to it
	if late := b.soon(what, func() { err = <-done }); late != nil {
		return late
	}
	return err
}

// name makes a name that no other case uses.
func (b *bench) name(prefix string) string {
	b.count++
	return fmt.Sprintf("%s-%08x-%d", prefix, b.run, b.count)
}
