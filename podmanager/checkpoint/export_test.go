package checkpoint

import "github.com/kubeparts/kubeparts/internal/durable"

// WithFaults is a configuration whose disk fails.
func WithFaults(cfg Config, faults durable.Faults) Config {
	cfg.faults = faults
	return cfg
}

// Syncs is how often the disk was asked to sync so far.
func (f *Folder) Syncs() int64 { return f.disk.Syncs() }
