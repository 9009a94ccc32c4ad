package simtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// No seed is begun that go test would cut off, without a word of what the others
// came to.
func TestRunsEndInTime(t *testing.T) {
	now := time.Now()
	for until, begins := range map[time.Time]bool{
		{}: true, now.Add(time.Hour): true, now.Add(-time.Second): false,
	} {
		r := &runs{until: until, next: 1, end: 2}
		_, ok := r.take()
		require.Equal(t, begins, ok)
		require.Equal(t, !begins, r.next < r.end)
	}
}
