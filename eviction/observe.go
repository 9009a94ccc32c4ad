package eviction

// Observe makes observations of what was measured of a node, in a fixed order.
// A signal of which anything is missing is left out: missing is not zero. So
// is one of a file system that has no inodes of its own. A number beyond int64
// comes out negative, which is an impossible one.
func Observe(n *NodeStats) []Observation {
	var seen []Observation
	memory := func(s Signal, m *MemoryStats) {
		if m != nil && m.AvailableBytes != nil && m.WorkingSetBytes != nil {
			available, used := int64(*m.AvailableBytes), int64(*m.WorkingSetBytes)
			seen = append(seen, Observation{s, available, available + used, m.Time.Time})
		}
	}
	memory(MemoryAvailable, n.Memory)
	for i := range n.SystemContainers {
		if c := &n.SystemContainers[i]; c.Name == "pods" {
			memory(AllocatableMemoryAvailable, c.Memory)
			break
		}
	}
	disk := func(bytes, inodes Signal, fs *FsStats) {
		if fs == nil {
			return
		}
		if fs.AvailableBytes != nil && fs.CapacityBytes != nil {
			seen = append(seen, Observation{bytes, int64(*fs.AvailableBytes), int64(*fs.CapacityBytes), fs.Time.Time})
		}
		if fs.InodesFree != nil && fs.Inodes != nil && *fs.Inodes > 0 {
			seen = append(seen, Observation{inodes, int64(*fs.InodesFree), int64(*fs.Inodes), fs.Time.Time})
		}
	}
	disk(NodeFsAvailable, NodeFsInodesFree, n.Fs)
	if n.Runtime != nil {
		disk(ImageFsAvailable, ImageFsInodesFree, n.Runtime.ImageFs)
		disk(ContainerFsAvailable, ContainerFsInodesFree, n.Runtime.ContainerFs)
	}
	if r := n.Rlimit; r != nil && r.MaxPID != nil && r.NumOfRunningProcesses != nil {
		seen = append(seen, Observation{PIDAvailable, *r.MaxPID - *r.NumOfRunningProcesses, *r.MaxPID, r.Time.Time})
	}
	return seen
}
