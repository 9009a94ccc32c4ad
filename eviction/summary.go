package eviction

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Summary is what a kubelet serves under /stats/summary: its JSON is that of
// stats/v1alpha1, of which it keeps what eviction looks at. In all of these
// types a nil number is not known, which differs from zero.
type Summary struct {
	Node NodeStats  `json:"node"`
	Pods []PodStats `json:"pods"`
}

// PodsByUID indexes the pods of a summary. The stats are those of
// the summary, not copies.
func (s *Summary) PodsByUID() map[types.UID]*PodStats {
	byUID := make(map[types.UID]*PodStats, len(s.Pods))
	for i := range s.Pods {
		byUID[s.Pods[i].PodRef.UID] = &s.Pods[i]
	}
	return byUID
}

// NodeStats is what the node has and uses.
type NodeStats struct {
	NodeName string `json:"nodeName"`
	// SystemContainers are groups of processes; eviction looks at "pods".
	SystemContainers []ContainerStats `json:"systemContainers,omitempty"`
	Memory           *MemoryStats     `json:"memory,omitempty"`
	// Fs is the file system of the agent's own folder: logs, volumes.
	Fs      *FsStats      `json:"fs,omitempty"`
	Runtime *RuntimeStats `json:"runtime,omitempty"`
	Rlimit  *RlimitStats  `json:"rlimit,omitempty"`
}

// RuntimeStats are the file systems of the container runtime: one for images,
// one for what containers write. They may be the same, and the node's.
type RuntimeStats struct {
	ImageFs     *FsStats `json:"imageFs,omitempty"`
	ContainerFs *FsStats `json:"containerFs,omitempty"`
}

// MemoryStats is memory, in bytes.
type MemoryStats struct {
	Time metav1.Time `json:"time"`
	// AvailableBytes is the limit less the working set; for a node without a
	// limit, its memory less the working set.
	AvailableBytes *uint64 `json:"availableBytes,omitempty"`
	// UsageBytes is all in use, caches included.
	UsageBytes *uint64 `json:"usageBytes,omitempty"`
	// WorkingSetBytes is the usage less the file cache that is inactive: what
	// can't be reclaimed under pressure.
	WorkingSetBytes *uint64 `json:"workingSetBytes,omitempty"`
}

// FsStats is a file system, or a part of one: bytes and inodes. A file system
// that has no inodes of its own, as btrfs, leaves them nil.
type FsStats struct {
	Time           metav1.Time `json:"time"`
	AvailableBytes *uint64     `json:"availableBytes,omitempty"`
	CapacityBytes  *uint64     `json:"capacityBytes,omitempty"`
	UsedBytes      *uint64     `json:"usedBytes,omitempty"`
	InodesFree     *uint64     `json:"inodesFree,omitempty"`
	Inodes         *uint64     `json:"inodes,omitempty"`
	InodesUsed     *uint64     `json:"inodesUsed,omitempty"`
}

// RlimitStats are processes and threads of the node, and how many it can have.
type RlimitStats struct {
	Time                  metav1.Time `json:"time"`
	MaxPID                *int64      `json:"maxpid,omitempty"`
	NumOfRunningProcesses *int64      `json:"curproc,omitempty"`
}

// ProcessStats counts the processes of a pod.
type ProcessStats struct {
	ProcessCount *uint64 `json:"process_count,omitempty"`
}

// PodRef names a pod.
type PodRef struct {
	Name      string    `json:"name"`
	Namespace string    `json:"namespace"`
	UID       types.UID `json:"uid"`
}

// PodStats is what one pod uses.
type PodStats struct {
	// PodRef names the pod, by its UID at least.
	PodRef     PodRef           `json:"podRef"`
	Containers []ContainerStats `json:"containers"`
	Memory     *MemoryStats     `json:"memory,omitempty"`
	Volumes    []VolumeStats    `json:"volume,omitempty"`
	// EphemeralStorage is what the pod takes of the node's disks: layers,
	// logs and local volumes together.
	EphemeralStorage *FsStats      `json:"ephemeral-storage,omitempty"`
	ProcessStats     *ProcessStats `json:"process_stats,omitempty"`
}

// ContainerStats is what one container uses.
type ContainerStats struct {
	Name   string       `json:"name"`
	Memory *MemoryStats `json:"memory,omitempty"`
	Rootfs *FsStats     `json:"rootfs,omitempty"`
	Logs   *FsStats     `json:"logs,omitempty"`
}

// VolumeStats is what one volume of a pod takes.
type VolumeStats struct {
	FsStats
	Name string `json:"name,omitempty"`
}
