package simtest

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Stats is what a run was made of.
type Stats struct {
	// Steps is how many turns were given, Events what the world did by its
	// plan, and Faults how many of these were faults.
	Steps, Events, Faults int
	// Evicted is how many pods eviction managers evicted.
	Evicted int
	// Preempted is how many pods gave way to critical ones.
	Preempted int
	// Attempts is how many attempts probes made.
	Attempts int
	// Simulated is the time that the node lived.
	Simulated time.Duration
}

func (s *Stats) add(o Stats) {
	s.Steps += o.Steps
	s.Events += o.Events
	s.Faults += o.Faults
	s.Evicted += o.Evicted
	s.Preempted += o.Preempted
	s.Attempts += o.Attempts
	s.Simulated += o.Simulated
}

// trace is what happened, step by step. A nil trace keeps nothing.
type trace struct {
	mu    sync.Mutex
	lines []string
}

func (t *trace) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
}

func (t *trace) step(at time.Duration, words ...string) {
	if t == nil {
		return
	}
	text := ""
	for _, word := range words {
		if word != "" {
			text += " " + word
		}
	}
	t.add(fmt.Sprintf("%14s%s", at.Round(time.Microsecond), text))
}

// note adds what followed from the last step.
func (t *trace) note(format string, args ...any) {
	if t != nil {
		t.add(strings.Repeat(" ", 20) + "→ " + fmt.Sprintf(format, args...))
	}
}

// Failure is a seed that broke a promise, with the shortest plan found that still
// breaks the same one.
type Failure struct {
	Seed      uint64
	Test      string // that found it
	Violation Violation
	// Events are what the world did; Left is how many more of the plan did not
	// matter.
	Events []string
	Left   int
	// Trace has each step, and what followed from it.
	Trace []string
}

// maxTrace is how many steps of a trace are printed.
const maxTrace = 400

// withoutRepeats leaves out steps that are as the one before, but for their time.
func withoutRepeats(trace []string) (lines []string) {
	what := func(line string) string {
		_, text, _ := strings.Cut(strings.TrimLeft(line, " "), " ")
		return text
	}
	for i, line := range trace {
		if i > 0 && i < len(trace)-1 && what(trace[i-1]) == what(line) && what(trace[i+1]) == what(line) {
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

// String tells all that is known.
func (f *Failure) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d breaks %s\n  %s\n  after %s of node time\n", f.Seed, f.Violation.Invariant, f.Violation.Text, f.Violation.At)
	fmt.Fprintf(&b, "events that matter (%d others left out):\n", f.Left)
	for _, e := range f.Events {
		fmt.Fprintf(&b, "  %s\n", e)
	}
	fmt.Fprintf(&b, "steps:\n")
	lines := withoutRepeats(f.Trace)
	skip := max(0, len(lines)-maxTrace)
	if skip > 0 {
		fmt.Fprintf(&b, "  (%d before these)\n", skip)
	}
	for _, line := range lines[skip:] {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	fmt.Fprintf(&b, "again: Run from %d, 1 seed, in %s; those of package simtest have flags: -run '^%[2]s$' -from %[1]d -seeds 1\n", f.Seed, f.Test)
	return b.String()
}

// runs is how a number of runs gets on.
type runs struct {
	mu          sync.Mutex
	began, told time.Time
	until       time.Time // when no further seed is begun; zero for never
	next, end   uint64
	done        uint64
	failed      int
	total       Stats
}

// maxFailures is after how many failures no further seed is begun.
const maxFailures = 3

// take gives the next seed.
func (r *runs) take() (seed uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next >= r.end || r.failed >= maxFailures || r.timeUp() {
		return 0, false
	}
	r.next++
	return r.next - 1, true
}

// timeUp tells whether go test would end the runs soon, without a word of what they
// came to.
func (r *runs) timeUp() bool { return !r.until.IsZero() && time.Now().After(r.until) }

// add adds one run. Now and then it returns what is to be told.
func (r *runs) add(s Stats, failed bool) string {
	r.mu.Lock()
	r.total.add(s)
	r.done++
	if failed {
		r.failed++
	}
	tell := time.Since(r.told) > 5*time.Second
	if tell {
		r.told = time.Now()
	}
	r.mu.Unlock()
	if !tell {
		return ""
	}
	return r.progress()
}

func (r *runs) progress() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	took := time.Since(r.began)
	rate := func(n int) float64 { return float64(n) / max(took.Seconds(), 1e-9) }
	return fmt.Sprintf("%d seeds, next is %d: %d steps (%.0f/s), %d faults (%.0f/s), %.1f days of node time, %d failures, in %s",
		r.done, r.next, r.total.Steps, rate(r.total.Steps), r.total.Faults, rate(r.total.Faults),
		r.total.Simulated.Hours()/24, r.failed, took.Round(time.Millisecond))
}
