// Package repeat keeps what says the same again and again from flooding people: it
// is let through at a falling rate.
package repeat

import "time"

// Pace is a falling rate: what is new is let through at once, and then after First,
// after twice that, and so on up to Last. What nobody said for Last, although it was
// due, begins anew.
type Pace struct{ First, Last time.Duration }

// Beat is where one thing that repeats itself stands. The zero value is one that is
// new.
type Beat struct {
	next  time.Time
	every time.Duration
}

// Pass tells whether a thing that is said at now is let through.
func (p Pace) Pass(b *Beat, now time.Time) bool {
	switch {
	case b.every == 0 || now.Sub(b.next) > p.Last:
		b.every = p.First
	case now.Before(b.next):
		return false
	default:
		b.every = min(2*b.every, p.Last)
	}
	b.next = now.Add(b.every)
	return true
}
