package eviction

// Layout says which file systems the container runtime has to itself. The zero
// value is one file system for all.
type Layout struct {
	// DedicatedImageFs: images are on another file system than the node's.
	DedicatedImageFs bool
	// DedicatedContainerFs: what containers write is on another file system
	// than the images. The kubelet calls it a split image file system.
	DedicatedContainerFs bool
}

// split tells whether what containers write is with the node's and apart from
// the images.
func (l Layout) split() bool { return l.DedicatedImageFs && l.DedicatedContainerFs }

// ContainerFsThresholds derives the thresholds of the containers' file system,
// which are never a host's own: they are those of the file system that it is a
// part of, the node's or the images'. Given ones are replaced, and returned
// beside for the host to be told. With a containers' file system apart and no
// images' one, which no runtime has, nothing changes.
func ContainerFsThresholds(thresholds []Threshold, l Layout) (derived, given []Threshold) {
	for _, t := range thresholds {
		if t.Signal == ContainerFsAvailable || t.Signal == ContainerFsInodesFree {
			given = append(given, t)
		} else {
			derived = append(derived, t)
		}
	}
	if l.DedicatedContainerFs && !l.DedicatedImageFs {
		return thresholds, given
	}
	from := map[Signal]Signal{NodeFsAvailable: ContainerFsAvailable, NodeFsInodesFree: ContainerFsInodesFree}
	if l.DedicatedImageFs && !l.DedicatedContainerFs {
		from = map[Signal]Signal{ImageFsAvailable: ContainerFsAvailable, ImageFsInodesFree: ContainerFsInodesFree}
	}
	for _, t := range derived {
		if to, ok := from[t.Signal]; ok {
			t.Signal = to
			derived = append(derived, t)
		}
	}
	return derived, given
}

// Reclaim is something that frees what the node itself wastes.
type Reclaim string

// What can be reclaimed before a pod must go.
const (
	// ReclaimContainers: delete what dead containers left.
	ReclaimContainers Reclaim = "containers"
	// ReclaimImages: delete images that nobody uses.
	ReclaimImages Reclaim = "images"
)

// reclaims lists what may help when a signal is short, in order.
func (l Layout) reclaims(s Signal) []Reclaim {
	image, container := s == ImageFsAvailable || s == ImageFsInodesFree, s == ContainerFsAvailable || s == ContainerFsInodesFree
	node := s == NodeFsAvailable || s == NodeFsInodesFree
	switch {
	case !image && !container && !node:
		return nil
	case l.split() && image:
		return []Reclaim{ReclaimImages}
	case l.split():
		return []Reclaim{ReclaimContainers}
	case l.DedicatedImageFs && node:
		return nil
	}
	return []Reclaim{ReclaimContainers, ReclaimImages}
}

// parts say what of a pod's usage lies on a file system.
type parts struct{ rootfs, logs, volumes bool }

// partsOn says what of a pod lies on the file system of a signal.
func (l Layout) partsOn(s Signal) parts {
	image, container := s == ImageFsAvailable || s == ImageFsInodesFree, s == ContainerFsAvailable || s == ContainerFsInodesFree
	switch {
	case !l.DedicatedImageFs:
		return parts{rootfs: true, logs: true, volumes: true}
	case l.split() && image:
		return parts{} // images are nobody's
	case l.split():
		return parts{rootfs: true, logs: true, volumes: true}
	case image || container:
		return parts{rootfs: true}
	}
	return parts{logs: true, volumes: true}
}
