package probe

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Explanation is what is known of one probe.
type Explanation struct {
	Published
	// Wait says what it waits for; Due is when the next attempt is to begin,
	// zero if it waits for something else than its time.
	Wait Wait
	Due  time.Time
	// Streak is how many attempts in a row came to the same.
	Streak int
	// Result is that of the last attempt, empty if there was none.
	Result Result
	// InFlight tells that an attempt is being made.
	InFlight bool
}

// String is that of the verdict, and what the probe waits for.
func (x Explanation) String() string { return x.Published.String() + "; it waits " + x.Wait.String() }

// Explain returns what is known of the probes of a pod, in the order in which
// they were given.
func (m *Manager) Explain(uid types.UID) []Explanation {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.pods[uid]
	if p == nil {
		return nil
	}
	var all []Explanation
	for _, c := range p.containers {
		for _, e := range c.entries {
			x := Explanation{
				Published: e.published(), Wait: e.tracker.Wait(), Due: e.tracker.Due(),
				Streak: e.tracker.Streak(), InFlight: e.flight != nil,
			}
			if e.last != nil {
				x.Result = e.last.result
			}
			all = append(all, x)
		}
	}
	return all
}
