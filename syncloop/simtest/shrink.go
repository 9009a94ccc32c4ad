package simtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// shrinkRuns is how many runs the search for a shorter plan may take.
const shrinkRuns = 400

// shrink looks for the fewest events that break the same promise: it leaves out
// halves, quarters, and so on down to single events, as long as that does it.
func shrink(t *testing.T, cfg Config, p *plan, broken Violation) *Failure {
	total := len(p.events)
	runs := 0
	breaks := func(events []event) bool {
		if runs++; runs > shrinkRuns {
			return false
		}
		shorter := *p
		shorter.events = events
		v, _ := liveThrough(t, cfg, &shorter, nil)
		return v != nil && v.Invariant == broken.Invariant
	}
	events := p.events
	for before := len(events) + 1; len(events) < before; {
		before = len(events)
		events = shorten(events, breaks)
	}
	shortest := *p
	shortest.events = events
	tr := &trace{}
	v, _ := liveThrough(t, cfg, &shortest, tr)
	if v == nil {
		v = &broken
		v.Text += " (and not again: the parts under test are not deterministic)"
	}
	test, _, _ := strings.Cut(t.Name(), "/")
	f := &Failure{Seed: p.seed, Test: test, Violation: *v, Left: total - len(events), Trace: tr.lines}
	for _, e := range events {
		f.Events = append(f.Events, fmt.Sprintf("%14s %s", e.at, e.name))
	}
	return f
}

// shorten leaves out parts of the events that are not needed, large ones first.
func shorten(events []event, needed func(without []event) bool) []event {
	for size := max(len(events)/2, 1); size > 0; size /= 2 {
		for at := 0; at < len(events); {
			without := slices.Delete(slices.Clone(events), at, min(at+size, len(events)))
			if needed(without) {
				events = without
			} else {
				at += size
			}
		}
	}
	return events
}
