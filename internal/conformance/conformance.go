// Package conformance is what the suites of this module are made of, such as
// runtimetest.TestRuntime: [Rules], each one sentence of an interface's contract and
// how it is checked. Whoever implements the interface has every rule checked on a
// subject of its own, in subtests ([Rules.Test]) or for an error ([Rules.Check]) that
// joins a [RuleError] for each rule that is broken.
//
// That an implementation keeps all rules is no proof that it is right. One that
// breaks a rule is wrong.
package conformance

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"testing"
	"time"
)

// Rule is one sentence of a contract, and how it is checked on a subject S: an
// implementation, and what else the suite must know of it.
type Rule[S any] struct {
	// Name of the rule, such as kill-forced.
	Name string
	// Text is the rule in words.
	Text string
	// Check says how the subject breaks the rule; nil, if it keeps it, and a [Skip],
	// if that can't be checked. A panic breaks it. Once the context has ended it returns soon.
	Check func(ctx context.Context, subject S) error
}

// Rules are a suite, in the order in which they are checked.
type Rules[S any] []Rule[S]

// Open makes the subject of one rule. The function that it returns ends the subject
// after the check, also when the rule is broken, and its error breaks the rule; nil
// if there is nothing to end. A [Skip] as the error skips the rule.
type Open[S any] func(ctx context.Context) (subject S, end func() error, err error)

// Options are for [Rules.Check] and [Rules.Test]. The zero value is usable.
type Options struct {
	// Limit is how long one rule may take; 2 minutes if it is zero. Then its context
	// ends, and if it does not return soon after, it is left behind, broken. It is no
	// measure of speed.
	Limit time.Duration
	// Only picks the rules to check, by name; nil is all.
	Only func(rule string) bool
	// Logf is told by Check which rules were skipped, and why; nil is silent.
	Logf func(format string, args ...any)
}

// RuleError is a rule that an implementation breaks.
type RuleError struct {
	// Name and Text are those of the rule.
	Name, Text string
	// Err says how it was broken.
	Err error
}

// Error gives the name of the rule, how it was broken, and its text.
func (e *RuleError) Error() string {
	return fmt.Sprintf("%s: %v\n\trule: %s", e.Name, e.Err, e.Text)
}

// Unwrap returns Err.
func (e *RuleError) Unwrap() error { return e.Err }

// Broken returns the names of the rules that an error of a suite is made of.
func Broken(err error) []string {
	switch e := err.(type) {
	case *RuleError:
		return []string{e.Name}
	case interface{ Unwrap() error }:
		return Broken(e.Unwrap())
	case interface{ Unwrap() []error }:
		var names []string
		for _, one := range e.Unwrap() {
			names = append(names, Broken(one)...)
		}
		return names
	}
	return nil
}

// Skip is the error of a rule that can't be checked: it says why.
type Skip string

// Error returns the reason.
func (s Skip) Error() string { return string(s) }

// Check checks all rules, one after another, each on a subject of its own, and joins
// a [RuleError] for each that is broken.
func (rs Rules[S]) Check(ctx context.Context, open Open[S], opts Options) error {
	var broken []error
	for _, r := range rs {
		if opts.Only != nil && !opts.Only(r.Name) {
			continue
		}
		err := r.violation(ctx, open, opts)
		var skip Skip
		if !errors.As(err, &skip) {
			broken = append(broken, err)
		} else if opts.Logf != nil {
			opts.Logf("skipped %s: %s (%s)", r.Name, skip, r.Text)
		}
	}
	return errors.Join(broken...)
}

// Test checks each rule in a subtest, each on a subject of its own, and skips those
// that can't be checked. What makes the opener of a rule is called on the goroutine
// of its subtest, and may fail it or call its Parallel; the opener itself is not.
func (rs Rules[S]) Test(t *testing.T, opener func(*testing.T) Open[S], opts Options) {
	t.Helper()
	for _, r := range rs {
		if opts.Only != nil && !opts.Only(r.Name) {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			err := r.violation(t.Context(), opener(t), opts)
			var skip Skip
			if errors.As(err, &skip) {
				t.Skipf("%s (%s)", skip, r.Text)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// violation checks one rule. That gets a goroutine of its own, so that an
// implementation that hangs costs it alone.
func (r Rule[S]) violation(ctx context.Context, open Open[S], opts Options) error {
	limit := opts.Limit
	if limit <= 0 {
		limit = 2 * time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	result := make(chan error, 1)
	go func() {
		err := errExited
		defer func() { result <- err }()
		err = Guard(func() error { return r.visit(ctx, open) })
	}()
	limit += max(limit/10, 10*time.Second) // what heeds its context has returned by then
	left := time.NewTimer(limit)
	defer left.Stop()
	var err error
	select {
	case err = <-result:
	case <-left.C:
		err = fmt.Errorf("it has not returned after %s", limit)
	}
	var skip Skip
	if err == nil || errors.As(err, &skip) {
		return err
	}
	return &RuleError{Name: r.Name, Text: r.Text, Err: err}
}

// errExited is what became of a rule whose implementation called FailNow of a test.
var errExited = errors.New("it ended its goroutine, as FailNow of a test does")

// visit opens a subject, checks the rule on it, and ends it whatever the check did.
func (r Rule[S]) visit(ctx context.Context, open Open[S]) (err error) {
	subject, end, err := open(ctx)
	if err != nil {
		return fmt.Errorf("opening it: %w", err)
	}
	if end != nil {
		defer func() {
			var skip Skip
			if broken := end(); errors.As(err, &skip) && broken != nil {
				err = broken // what can't be checked excuses nothing else
			} else {
				err = errors.Join(err, broken)
			}
		}()
	}
	return Guard(func() error { return r.Check(ctx, subject) })
}

// Guard makes an error of a panic in a call, so that it breaks one rule: for calls
// that a check makes on goroutines of its own.
func Guard(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return call()
}
