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

// Names that the kubelet's messages give to what is short and is no resource of
// the API.
const (
	resourceInodes v1.ResourceName = "inodes"
	resourcePIDs   v1.ResourceName = "pids"
)

var signals = map[Signal]struct {
	condition v1.NodeConditionType
	resource  v1.ResourceName
}{
	MemoryAvailable:            {v1.NodeMemoryPressure, v1.ResourceMemory},
	AllocatableMemoryAvailable: {v1.NodeMemoryPressure, v1.ResourceMemory},
	NodeFsAvailable:            {v1.NodeDiskPressure, v1.ResourceEphemeralStorage},
	NodeFsInodesFree:           {v1.NodeDiskPressure, resourceInodes},
	ImageFsAvailable:           {v1.NodeDiskPressure, v1.ResourceEphemeralStorage},
	ImageFsInodesFree:          {v1.NodeDiskPressure, resourceInodes},
	ContainerFsAvailable:       {v1.NodeDiskPressure, v1.ResourceEphemeralStorage},
	ContainerFsInodesFree:      {v1.NodeDiskPressure, resourceInodes},
	PIDAvailable:               {v1.NodePIDPressure, resourcePIDs},
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

// CustomSignal tells what a host's own signal means. See [Policy].
type CustomSignal struct {
	// Condition is raised on the node; it keeps all but critical pods out.
	Condition v1.NodeConditionType
	// Resource is named in messages.
	Resource v1.ResourceName
	// Usage is what a pod takes of it, and false where that is not known.
	// Such a pod goes first, as one without stats does. stats may be nil.
	Usage func(pod *v1.Pod, stats *PodStats) (int64, bool)
	// Request is what the pod asked for; nil counts as zero for all. Pods that
	// use more than that go first.
	Request func(pod *v1.Pod) int64
}

// countsPieces tells whether amounts are counted in pieces, not in bytes.
func countsPieces(resource v1.ResourceName) bool {
	return resource == resourceInodes || resource == resourcePIDs
}
