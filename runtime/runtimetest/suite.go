package runtimetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/kubeparts/kubeparts/internal/conformance"
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

// RuleError is a rule that an implementation breaks: its Name and Text, and how, Err.
// The errors of the suites join one for each.
type RuleError = conformance.RuleError

// rule is a [conformance.Rule] of which the case has the context.
type rule[C any] struct {
	name, text string
	check      func(C) error
}

// suiteOf makes a suite of rules.
func suiteOf[C any](rules []rule[C]) conformance.Rules[C] {
	var suite conformance.Rules[C]
	for _, r := range rules {
		suite = append(suite, conformance.Rule[C]{
			Name: r.name, Text: r.text,
			Check: func(_ context.Context, c C) error { return r.check(c) },
		})
	}
	return suite
}

// patience is how long to wait.
func (o Options) patience() time.Duration {
	if o.Patience <= 0 {
		return time.Minute
	}
	return o.Patience
}

// suite gives a rule the time to find out by itself what takes too long.
func (o Options) suite() conformance.Options {
	return conformance.Options{Limit: 10 * o.patience(), Only: o.Only, Logf: o.Logf}
}

// bench is what every case of a suite stands on.
type bench struct {
	ctx      context.Context
	patience time.Duration
	run      uint32 // random, so that cases may share what they run on
	label    string // of the goroutines of the case
	noLeaks  bool   // the rule is that none of them is left in the end
	count    int
}

// newBench is called on the goroutine of the rule: what that starts, itself or through
// others, carries its label.
func newBench(ctx context.Context, opts Options) *bench {
	b := &bench{patience: opts.patience(), run: rand.Uint32(), label: strconv.FormatUint(rand.Uint64(), 36)}
	b.ctx = pprof.WithLabels(ctx, pprof.Labels(leakLabel, b.label))
	pprof.SetGoroutineLabels(b.ctx)
	return b
}

// leakLabel is the key of the label that goroutines carry.
const leakLabel = "runtimetest"

// noneLeft returns nil once no goroutine of the case is left but its own, which calls
// it in the end; where that is not the rule, it returns nil at once.
func (b *bench) noneLeft() error {
	if !b.noLeaks {
		return nil
	}
	pprof.SetGoroutineLabels(context.Background())
	var stacks string
	err := b.await(func() (bool, error) {
		var profile strings.Builder
		if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
			return false, err
		}
		stacks = ""
		for stack := range strings.SplitSeq(profile.String(), "\n\n") {
			if strings.Contains(stack, strconv.Quote(leakLabel)+":"+strconv.Quote(b.label)) {
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
	go func() { done <- conformance.Guard(call) }()
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
