package synclooptest

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"testing"
	"time"
)

// RuleError is a rule of a contract that an implementation breaks.
type RuleError struct {
	// Name of the rule, such as durable.
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

// BrokenRules returns the names of the rules that an error of [CheckStore],
// [CheckSink] or [CheckProbes] is made of.
func BrokenRules(err error) []string {
	errs := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		errs = joined.Unwrap()
	}
	var names []string
	for _, e := range errs {
		var broken *RuleError
		if errors.As(e, &broken) {
			names = append(names, broken.Name)
		}
	}
	return names
}

// rule is one sentence of a contract and how it is checked on a subject.
type rule[S any] struct {
	name, text string
	check      func(context.Context, S) error
}

// patience is how long a rule waits for the calls that it makes.
const patience = 2 * time.Minute

// run checks the rule on a subject of its own. The check gets a goroutine of its
// own, so that an implementation that hangs costs that rule alone.
func (r rule[S]) run(ctx context.Context, open func() (S, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	result := make(chan error, 1)
	go func() {
		result <- r.try(ctx, open)
	}()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	var err error
	select {
	case err = <-result:
	case <-limit.C:
		err = fmt.Errorf("a call has not returned after %s", patience)
	}
	if err != nil {
		return &RuleError{Name: r.name, Text: r.text, Err: err}
	}
	return nil
}

// try opens a subject and checks the rule on it; a panic breaks it.
func (r rule[S]) try(ctx context.Context, open func() (S, error)) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panicked: %v\n%s", p, debug.Stack())
		}
	}()
	subject, err := open()
	if err != nil {
		return fmt.Errorf("opening it: %w", err)
	}
	return r.check(ctx, subject)
}

// checkAll checks all rules, one after another, and joins what is broken.
func checkAll[S any](ctx context.Context, rules []rule[S], open func() (S, error)) error {
	var errs []error
	for _, r := range rules {
		if err := r.run(ctx, open); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// testAll checks each rule in a subtest.
func testAll[S any](t *testing.T, rules []rule[S], open func(*testing.T) func() (S, error)) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			if err := r.run(t.Context(), open(t)); err != nil {
				t.Error(err)
			}
		})
	}
}
