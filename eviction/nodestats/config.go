package nodestats

import (
	"log/slog"
)

// Config says where to look. The zero value measures memory and processes of
// the machine, or of the container that the agent runs in.
type Config struct {
	// RootDir is a folder on the node's file system: pods' volumes and logs.
	// Empty measures none.
	RootDir string
	// ImageDir and ContainerDir are folders of the container runtime: images,
	// and what containers write. An empty ContainerDir is with the images; an
	// empty ImageDir measures none.
	ImageDir     string
	ContainerDir string

	// Cgroup is the folder of the cgroup that is the node, absolute or below
	// CgroupDir. Empty is the one that limits the agent most, of its own and
	// those above: the machine, or the container that it runs in.
	Cgroup string
	// PodsCgroup is the cgroup that all pods are in, with their limit on it.
	// Empty measures none.
	PodsCgroup string

	// ProcDir and CgroupDir are where the kernel tells of itself. Default
	// /proc and /sys/fs/cgroup. An agent in a container that watches the
	// machine has them mounted elsewhere.
	ProcDir   string
	CgroupDir string

	// NodeName stands in the stats.
	NodeName string
	// Logger says once what can't be measured; nil is silent.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.ProcDir == "" {
		c.ProcDir = "/proc"
	}
	if c.CgroupDir == "" {
		c.CgroupDir = "/sys/fs/cgroup"
	}
	if c.ContainerDir == "" {
		c.ContainerDir = c.ImageDir
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}
