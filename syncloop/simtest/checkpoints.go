package simtest

import (
	"context"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/podmanager/checkpoint"
	"github.com/kubeparts/kubeparts/syncloop/diskstore"
)

// checkpointing is a folder of checkpoints as one agent sees it.
type checkpointing struct {
	folder *checkpoint.Folder
	agent  *agent
	// missed are updates that a fault kept from the folder.
	missed []podmanager.Update
}

// Checkpoint implements [podmanager.Checkpointer].
func (c *checkpointing) Checkpoint(ctx context.Context, updates []podmanager.Update) error {
	c.missed = append(c.missed, updates...)
	defer c.agent.set(config, true) // the loop is handed them now
	return c.agent.call(ctx, "Checkpoint", "", func() error {
		all := c.missed
		c.missed = nil
		return c.folder.Checkpoint(ctx, all)
	})
}

// restore opens the checkpoints for an agent, if the node has any. They hold the
// store too; the sources begin with what is on disk.
func (w *world) restore(a *agent, cfg *podmanager.Config) {
	if w.open == nil {
		return
	}
	folder := w.open()
	w.store = diskstore.New(folder)
	cfg.Checkpoints = &checkpointing{folder: folder, agent: a}
	cfg.Sources = folder.Sources(cfg.Sources)
	for name, source := range cfg.Sources {
		cfg.Sources[name] = podmanager.SourceFunc(func(ctx context.Context, deliver func(podmanager.Report)) error {
			if err := a.call(ctx, "source "+name+" is restored", "", func() error { return nil }); err != nil && a.killed() {
				return nil
			}
			return source.Run(ctx, deliver)
		})
	}
}
