package podmanager

import "time"

// SourceStatus is how a source is doing.
type SourceStatus struct {
	Name string
	// Seen tells that the source has been heard, see [PodConfig.Seen].
	Seen bool
	// Pods is how many pods of the source are desired.
	Pods int
	// LastReport is when the source said anything last, be it that nothing
	// changed; zero if never.
	LastReport time.Time
	// Err is what is wrong with the source, and Since when: nil and zero when it
	// is well.
	Err   error
	Since time.Time
	// Silent is since when a source that is [Regular] has said nothing, although it
	// should have several times; zero when it is not. What it said last stays.
	Silent time.Time
	// Ended tells that its Run has returned. What it said last stays.
	Ended bool
}

// Regular is an optional power of a [PodSource]: it says something again and again, be it
// that nothing changed or that it can't be read. One that does not is stuck, as on a disk
// that hangs; [SourceStatus.Silent] tells.
type Regular interface {
	// Every is the longest time between two reports of a source that is well. It is
	// asked once, before Run.
	Every() time.Duration
}

// A source is silent when it has missed so many of its times, and not before leastSilence.
const (
	missedTimes  = 3
	leastSilence = time.Minute
)

// silent is since when a source has said nothing that should have; zero if none is due.
func (s *sourceRun) silent(now time.Time) time.Time {
	last := s.status.LastReport
	if last.IsZero() {
		last = s.began
	}
	if s.every <= 0 || s.status.Ended || last.IsZero() || now.Sub(last) <= max(missedTimes*s.every, leastSilence) {
		return time.Time{}
	}
	return last
}
