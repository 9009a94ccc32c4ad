package source

import (
	"context"

	"github.com/kubeparts/kubeparts/podmanager"
)

// Channel is a source whose reports a host sends. When the channel is closed,
// what was said last stays in force.
type Channel <-chan podmanager.Report

// Run implements [podmanager.PodSource].
func (c Channel) Run(ctx context.Context, deliver func(podmanager.Report)) error {
	for {
		select {
		case report, open := <-c:
			if !open {
				<-ctx.Done()
				return nil
			}
			deliver(report)
		case <-ctx.Done():
			return nil
		}
	}
}
