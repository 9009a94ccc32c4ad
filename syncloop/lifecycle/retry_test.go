package lifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
)

// difference: a kill that fails again and again is tried ever less, up to every
// 10 seconds (and a half, by jitter). The kubelet tries each 2 seconds.
func TestFailedKillIsRepeatedWithGrowingBackoff(t *testing.T) {
	l := newLife()
	l.send(created)
	l.send(lifecycle.Done{Seq: l.Seq})
	l.send(lifecycle.Kill{})
	for _, wait := range []time.Duration{2, 4, 8, 10, 10} {
		require.Equal(t, lifecycle.WorkTerminate, l.Work)
		l.send(lifecycle.Done{Seq: l.Seq, Err: errWork})
		require.WithinRange(t, l.Due, l.now.Add(wait*time.Second), l.now.Add(wait*time.Second*3/2))
		l.now = l.Due
		l.send(lifecycle.Due{})
	}
}
