package process

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRealtimeSignals(t *testing.T) {
	for name, want := range map[string]int{"SIGRTMIN": 34, "SIGRTMIN+3": 37, "SIGRTMAX": 64, "SIGRTMAX-1": 63} {
		number, ok := signalNumber(name)
		require.True(t, ok, name)
		require.Equal(t, want, number, name)
	}
}
