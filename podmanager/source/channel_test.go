package source

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/podmanager"
)

func TestChannelGoesOnUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reports := make(chan podmanager.Report)
		ctx, cancel := context.WithCancel(t.Context())
		var got []podmanager.Op
		done := make(chan error)
		go func() { done <- Channel(reports).Run(ctx, func(r podmanager.Report) { got = append(got, r.Op) }) }()
		reports <- podmanager.Report{Op: podmanager.OpSet}
		reports <- podmanager.Report{Op: podmanager.OpAdd}
		close(reports)
		synctest.Wait()
		require.Equal(t, []podmanager.Op{podmanager.OpSet, podmanager.OpAdd}, got)
		cancel()
		require.NoError(t, <-done)
	})
}
