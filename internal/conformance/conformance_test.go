package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/internal/conformance"
)

func fixed(n int) conformance.Open[int] {
	return func(context.Context) (int, func() error, error) { return n, nil, nil }
}

func rule(check func(context.Context, int) error) conformance.Rules[int] {
	return conformance.Rules[int]{{Name: "r", Text: "The text of r.", Check: check}}
}

func kept(context.Context, int) error { return nil }

func TestWhatBreaksARule(t *testing.T) {
	for name, c := range map[string]struct {
		check func(context.Context, int) error
		open  conformance.Open[int]
		want  string
	}{
		"its check": {
			check: func(_ context.Context, n int) error { return fmt.Errorf("got %d", n) },
			open:  fixed(7),
			want:  "r: got 7\n\trule: The text of r.",
		},
		"a panic": {
			check: func(context.Context, int) error { panic("oh") },
			open:  fixed(0),
			want:  "r: it panicked: oh",
		},
		"a test that ends": {
			check: func(context.Context, int) error { runtime.Goexit(); return nil },
			open:  fixed(0),
			want:  "r: it ended its goroutine",
		},
		"a subject that can't be made": {
			check: kept,
			open:  func(context.Context) (int, func() error, error) { return 0, nil, errors.New("no disk") },
			want:  "r: opening it: no disk",
		},
		"a panic that makes it": {
			check: kept,
			open:  func(context.Context) (int, func() error, error) { panic("no disk") },
			want:  "r: it panicked: no disk",
		},
		"its end": {
			check: kept,
			open: func(context.Context) (int, func() error, error) {
				return 0, func() error { return errors.New("busy") }, nil
			},
			want: "r: busy",
		},
		"its end, where its check is skipped": {
			check: func(context.Context, int) error { return conformance.Skip("no way") },
			open: func(context.Context) (int, func() error, error) {
				return 0, func() error { return errors.New("busy") }, nil
			},
			want: "r: busy",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := rule(c.check).Check(t.Context(), c.open, conformance.Options{})
			require.ErrorContains(t, err, c.want)
			require.Equal(t, []string{"r"}, conformance.Broken(err))
			var broken *conformance.RuleError
			require.ErrorAs(t, err, &broken)
			require.Equal(t, "The text of r.", broken.Text)
		})
	}
}

func TestSubjectIsEndedWhateverTheCheckDoes(t *testing.T) {
	for name, check := range map[string]func(context.Context, int) error{
		"kept":   kept,
		"broken": func(context.Context, int) error { return errors.New("wrong") },
		"panics": func(context.Context, int) error { panic("oh") },
		"exits":  func(context.Context, int) error { runtime.Goexit(); return nil },
		"skips":  func(context.Context, int) error { return conformance.Skip("no way") },
	} {
		t.Run(name, func(t *testing.T) {
			var ended atomic.Int32
			_ = rule(check).Check(t.Context(), func(context.Context) (int, func() error, error) {
				return 0, func() error { ended.Add(1); return nil }, nil
			}, conformance.Options{})
			require.EqualValues(t, 1, ended.Load())
		})
	}
}

func TestHangingRuleCostsItselfAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		defer close(over)
		suite := conformance.Rules[int]{
			{Name: "deaf", Check: func(context.Context, int) error { <-over; return nil }},
			{Name: "heeds", Check: func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() }},
			{Name: "kept", Check: kept},
		}
		began := time.Now()
		err := suite.Check(t.Context(), fixed(0), conformance.Options{Limit: time.Minute})
		require.Equal(t, []string{"deaf", "heeds"}, conformance.Broken(err))
		require.ErrorContains(t, err, "deaf: it has not returned after 1m10s")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 2*time.Minute+10*time.Second, time.Since(began))
	})
}

func TestSkippedRuleIsNotBroken(t *testing.T) {
	skips := func(context.Context, int) error { return fmt.Errorf("wrapped: %w", conformance.Skip("no way")) }
	var lines []string
	err := rule(skips).Check(t.Context(), fixed(0), conformance.Options{
		Logf: func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) },
	})
	require.NoError(t, err)
	require.Equal(t, []string{"skipped r: no way (The text of r.)"}, lines)
	require.NoError(t, rule(skips).Check(t.Context(), fixed(0), conformance.Options{}))
}

func TestOnlyPicksRules(t *testing.T) {
	wrong := func(context.Context, int) error { return errors.New("wrong") }
	suite := conformance.Rules[int]{{Name: "a", Check: wrong}, {Name: "b", Check: wrong}}
	onlyB := conformance.Options{Only: func(rule string) bool { return rule == "b" }}
	require.Equal(t, []string{"b"}, conformance.Broken(suite.Check(t.Context(), fixed(0), onlyB)))
}

func TestEachRuleIsASubtestWithItsOwnSubject(t *testing.T) {
	var seen []string
	check := func(_ context.Context, name string) error { seen = append(seen, name); return nil }
	suite := conformance.Rules[string]{{Name: "a", Check: check}, {Name: "b", Check: check}, {Name: "c", Check: check}}
	suite.Test(t, func(t *testing.T) conformance.Open[string] {
		name := t.Name()
		return func(context.Context) (string, func() error, error) { return name, nil, nil }
	}, conformance.Options{Only: func(rule string) bool { return rule != "b" }})
	require.Equal(t, []string{t.Name() + "/a", t.Name() + "/c"}, seen)
}

func TestBrokenLooksThroughWhatWrapsAndJoins(t *testing.T) {
	a, b := &conformance.RuleError{Name: "a"}, &conformance.RuleError{Name: "b", Err: &conformance.RuleError{Name: "inner"}}
	require.Equal(t, []string{"a", "b"}, conformance.Broken(fmt.Errorf("case 1: %w", errors.Join(a, errors.New("no rule"), b))))
	require.Empty(t, conformance.Broken(nil))
	require.Empty(t, conformance.Broken(errors.New("no rule")))
}

// A suite for an interface of one's own: here all that can be asked for its length.
func Example() {
	type lengther interface{ Len() int }
	suite := conformance.Rules[lengther]{
		{Name: "not-negative", Text: "Len is not negative.", Check: func(_ context.Context, l lengther) error {
			if n := l.Len(); n < 0 {
				return fmt.Errorf("got %d", n)
			}
			return nil
		}},
		{Name: "stable", Text: "Len gives the same twice.", Check: func(_ context.Context, l lengther) error {
			if a, b := l.Len(), l.Len(); a != b {
				return fmt.Errorf("got %d, then %d", a, b)
			}
			return nil
		}},
	}
	err := suite.Check(context.Background(), func(context.Context) (lengther, func() error, error) {
		return new(countdown), nil, nil
	}, conformance.Options{})
	fmt.Println(conformance.Broken(err))
	fmt.Println(err)
	// Output:
	// [not-negative stable]
	// not-negative: got -1
	// 	rule: Len is not negative.
	// stable: got -1, then -2
	// 	rule: Len gives the same twice.
}

type countdown int

func (c *countdown) Len() int { *c--; return int(*c) }
