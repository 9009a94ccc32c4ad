package repeat_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/internal/repeat"
)

func TestWhatRepeatsItselfComesAtAFallingRate(t *testing.T) {
	pace := repeat.Pace{First: 10 * time.Second, Last: time.Minute}
	start := time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC)
	var beat repeat.Beat
	var passed []int
	for second := range 300 {
		if pace.Pass(&beat, start.Add(time.Duration(second)*time.Second)) {
			passed = append(passed, second)
		}
	}
	require.Equal(t, []int{0, 10, 30, 70, 130, 190, 250}, passed)
}

func TestWhatWasQuietBeginsAnew(t *testing.T) {
	pace := repeat.Pace{First: 10 * time.Second, Last: time.Minute}
	now := time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC)
	var beat repeat.Beat
	for _, c := range []struct {
		after time.Duration
		want  bool
	}{
		{0, true},
		{10 * time.Second, true},
		{20 * time.Second, true},
		{40*time.Second + time.Minute, true}, // due for no more than Last: goes on
		{time.Minute - 1, false},
		{1, true},
		{2*time.Minute + 1, true}, // due for longer: anew
		{10*time.Second - 1, false},
		{1, true},
	} {
		now = now.Add(c.after)
		require.Equal(t, c.want, pace.Pass(&beat, now), "%s after the last", c.after)
	}
}
