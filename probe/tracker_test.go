package probe

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A start that the status tells has no reading of the clock that nobody sets. Were
// the schedule to go by it, no probe would be made for as long as the clock is set
// back.
func TestScheduleGoesByTheClockThatNobodySets(t *testing.T) {
	for name, started := range map[string]time.Duration{"just now": -time.Second, "long ago": -time.Hour, "in a year": 365 * 24 * time.Hour} {
		now := time.Now()
		tracker := NewTracker(Readiness, Settings{}, 0.5)
		tracker.Look(now, State{ContainerID: "1", Running: true, Started: true, StartedAt: now.Add(started).Round(0)})
		for range 3 {
			due := tracker.Due()
			require.NotEqual(t, due.Round(0).String(), due.String(), "%s: due has its monotonic reading", name)
			require.Less(t, due.Sub(now), 20*time.Second, name)
			now = due
			tracker.Record(now, Attempt{Response: Response{Result: Success}})
		}
	}
}

// The new settings hold for the attempt that was planned by the old ones.
func TestNewSettingsMoveTheNextAttempt(t *testing.T) {
	now := time.Now()
	state := State{ContainerID: "1", Running: true, Started: true, StartedAt: now}
	for name, c := range map[string]struct {
		attempts int
		attempt  Attempt
		change   func(*Settings)
		want     time.Duration
	}{
		"shorter delay":              {0, Attempt{}, func(s *Settings) { s.InitialDelay = time.Minute }, time.Minute},
		"longer delay":               {0, Attempt{}, func(s *Settings) { s.InitialDelay = 2 * time.Hour }, 2 * time.Hour},
		"period before the first":    {0, Attempt{}, func(s *Settings) { s.Period = time.Second }, time.Hour},
		"period":                     {1, Attempt{Response: Response{Result: Success}}, func(s *Settings) { s.Period = time.Minute }, time.Hour + time.Minute},
		"period of one that errs":    {1, Attempt{Err: ErrTimedOut}, func(s *Settings) { s.Period = time.Minute }, time.Hour + time.Minute},
		"delay after the first time": {1, Attempt{Err: ErrTimedOut}, func(s *Settings) { s.InitialDelay = 0 }, 3 * time.Hour},
	} {
		s := Settings{InitialDelay: time.Hour, Period: 2 * time.Hour}
		tracker := NewTracker(Readiness, s, 0)
		tracker.Look(now, state)
		for range c.attempts {
			tracker.Record(tracker.Due(), c.attempt)
		}
		c.change(&s)
		tracker.SetSettings(s)
		require.Equal(t, c.want, tracker.Due().Sub(now), name)
	}
}

// Whatever numbers a manifest has, the next attempt is a little ahead.
func TestSettingsWithoutSense(t *testing.T) {
	for name, s := range map[string]Settings{
		"below zero": {InitialDelay: -time.Hour, Period: -time.Second, Timeout: -1, SuccessThreshold: -5, FailureThreshold: -5},
		"zero":       {},
		"tiny":       {Period: 1, Timeout: 1},
		"huge":       {Period: 1<<63 - 1, Timeout: 1<<63 - 1, SuccessThreshold: 1<<31 - 1, FailureThreshold: 1<<31 - 1},
	} {
		got := s.withDefaults()
		require.GreaterOrEqual(t, got.InitialDelay, time.Duration(0), name)
		require.GreaterOrEqual(t, got.Period, minPeriod, name)
		require.Positive(t, got.Timeout, name)
		require.Positive(t, got.SuccessThreshold, name)
		require.Positive(t, got.FailureThreshold, name)
		now := time.Now()
		tracker := NewTracker(Liveness, s, 0.9)
		tracker.Look(now, State{ContainerID: "1", Running: true, Started: true, StartedAt: now})
		for range 5 {
			require.False(t, tracker.Due().IsZero(), name)
			now = tracker.Due()
			tracker.Record(now, Attempt{Response: Response{Result: Success}})
			require.True(t, tracker.Due().After(now), name)
		}
	}
}
