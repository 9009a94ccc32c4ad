package podmanagertest

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// RuleError is a rule of a contract that a source or a client breaks.
type RuleError struct {
	// Name of the rule, such as first-word.
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

// errSkip is the answer of a rule that the world does not allow to be checked.
var errSkip = errors.New("the world can't do what this rule needs")

// rule is one sentence of a contract and how it is checked on a stay in a world.
type rule[V any] struct {
	name, text string
	check      func(V) error
}

// visits opens a new world, has it checked, and closes it.
type visits[V any] func(check func(V) error) error

func (r rule[V]) violation(visit visits[V]) error {
	err := visit(r.check)
	if err == nil || errors.Is(err, errSkip) {
		return err
	}
	return &RuleError{Name: r.name, Text: r.text, Err: err}
}

// testAll checks each rule in a subtest. One that the world does not allow to be
// checked is skipped.
func testAll[V any](t *testing.T, rules []rule[V], visit visits[V]) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			switch err := r.violation(visit); {
			case errors.Is(err, errSkip):
				t.Skipf("%s: %v", r.text, err)
			case err != nil:
				t.Fatal(err)
			}
			t.Log(r.text)
		})
	}
}

// checkAll checks all rules, and returns the violations, joined.
func checkAll[V any](rules []rule[V], visit visits[V]) error {
	var broken []error
	for _, r := range rules {
		if err := r.violation(visit); !errors.Is(err, errSkip) {
			broken = append(broken, err)
		}
	}
	return errors.Join(broken...)
}

// opened opens a world, has it used, and closes one that is an io.Closer.
func opened[W any](open func() (W, error), use func(W) error) error {
	world, err := open()
	if err != nil {
		return fmt.Errorf("open a world: %w", err)
	}
	if closer, ok := any(world).(interface{ Close() error }); ok {
		defer closer.Close()
	}
	return use(world)
}

// orDefault is how long a source may take to do what it must.
func orDefault(timeout time.Duration) time.Duration {
	if timeout <= 0 {
		return 2 * time.Minute
	}
	return timeout
}
