package source

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/podmanager"
)

// A source that is asked by time says so: on a disk that hangs it is missed.
func TestSourcesThatReadByTimeAreRegular(t *testing.T) {
	for _, c := range []struct {
		source podmanager.Regular
		want   time.Duration
	}{
		{&File{}, DefaultPeriod},
		{&File{Period: time.Minute}, time.Minute},
		{&HTTP{}, DefaultPeriod + requestTimeout},
		{&HTTP{Period: time.Minute}, time.Minute + requestTimeout},
	} {
		require.Equal(t, c.want, c.source.Every())
	}
}
