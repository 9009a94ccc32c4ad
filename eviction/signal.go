package eviction

import v1 "k8s.io/api/core/v1"

// Signal names something that a node can run out of, as the kubelet's flags
// spell it.
type Signal string

// The signals.
const (
	MemoryAvailable            Signal = "memory.available"
	AllocatableMemoryAvailable Signal = "allocatableMemory.available"
	NodeFsAvailable            Signal = "nodefs.available"
	NodeFsInodesFree           Signal = "nodefs.inodesFree"
	ImageFsAvailable           Signal = "imagefs.available"
	ImageFsInodesFree          Signal = "imagefs.inodesFree"
	ContainerFsAvailable       Signal = "containerfs.available"
	ContainerFsInodesFree      Signal = "containerfs.inodesFree"
	PIDAvailable               Signal = "pid.available"
)

// signals says what each signal means: the node condition that it raises and
// the resource that messages name.
var signals = map[Signal]struct {
	condition v1.NodeConditionType
	resource  v1.ResourceName
}{
	MemoryAvailable:            {v1.NodeMemoryPressure, v1.ResourceMemory},
	AllocatableMemoryAvailable: {v1.NodeMemoryPressure, v1.ResourceMemory},
	NodeFsAvailable:            {v1.NodeDiskPressure, v1.ResourceEphemeralStorage},
	NodeFsInodesFree:           {v1.NodeDiskPressure, "inodes"},
	ImageFsAvailable:           {v1.NodeDiskPressure, v1.ResourceEphemeralStorage},
	ImageFsInodesFree:          {v1.NodeDiskPressure, "inodes"},
	ContainerFsAvailable:       {v1.NodeDiskPressure, v1.ResourceEphemeralStorage},
	ContainerFsInodesFree:      {v1.NodeDiskPressure, "inodes"},
	PIDAvailable:               {v1.NodePIDPressure, "pids"},
}

// Known tells whether the signal is one of the kubelet's.
func (s Signal) Known() bool {
	_, ok := signals[s]
	return ok
}

// Condition is the node condition that a lack of it raises, "" for a signal
// that is not known.
func (s Signal) Condition() v1.NodeConditionType { return signals[s].condition }

// Resource is the name that the kubelet's messages give to what is short. It is
// no resource of the API for inodes and pids.
func (s Signal) Resource() v1.ResourceName { return signals[s].resource }
