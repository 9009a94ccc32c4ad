package podstatus

import (
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// kind is what a container is to its pod.
type kind uint8

const (
	plainInit kind = iota // runs to its end before the next one starts
	sidecar               // an init container that runs as long as the pod
	regular
	ephemeral
)

// entry is one container of the pod with all that is known of it.
type entry struct {
	kind kind
	spec *v1.Container
	// newest and previous are its two newest instances in the runtime.
	newest, previous *runtime.ContainerStatus
	// old is what was said of it last.
	old *v1.ContainerStatus
	// out is its place in the new status.
	out *v1.ContainerStatus
}

// index holds the containers of a pod in the order of its spec: init, regular,
// ephemeral. It is made once a computation, so that no step has to search.
type index []entry

// newIndex gathers what is known of each container. Where a spec names two
// containers alike, which validation forbids, the first one owns the name.
func newIndex(pod *v1.Pod, observed *runtime.PodStatus, old *v1.PodStatus) index {
	spec := &pod.Spec
	n := len(spec.InitContainers) + len(spec.Containers) + len(spec.EphemeralContainers)
	ix := make(index, 0, n)
	for i := range spec.InitContainers {
		c, k := &spec.InitContainers[i], plainInit
		if runtime.IsSidecar(c) {
			k = sidecar
		}
		ix = append(ix, entry{kind: k, spec: c})
	}
	for i := range spec.Containers {
		ix = append(ix, entry{kind: regular, spec: &spec.Containers[i]})
	}
	for i := range spec.EphemeralContainers {
		c := (*v1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon)
		ix = append(ix, entry{kind: ephemeral, spec: c})
	}

	byName := make(map[string]*entry, n)
	for i := len(ix) - 1; i >= 0; i-- {
		byName[ix[i].spec.Name] = &ix[i]
	}
	if observed != nil {
		for i := range observed.Containers {
			c := &observed.Containers[i]
			e := byName[c.Name]
			switch {
			case e == nil:
			case e.newest == nil:
				e.newest = c
			case e.previous == nil:
				e.previous = c
			}
		}
	}
	remember(byName, old.InitContainerStatuses, plainInit, sidecar)
	remember(byName, old.ContainerStatuses, regular, regular)
	remember(byName, old.EphemeralContainerStatuses, ephemeral, ephemeral)
	return ix
}

// remember adds what was said of the containers of two kinds.
func remember(byName map[string]*entry, list []v1.ContainerStatus, a, b kind) {
	for i := range list {
		if e := byName[list[i].Name]; e != nil && e.old == nil && (e.kind == a || e.kind == b) {
			e.old = &list[i]
		}
	}
}

// hasRegular tells whether the runtime knows an instance of a regular container,
// in the given sandbox or, without one, anywhere.
func (ix index) hasRegular(sandboxID string) bool {
	for i := range ix {
		e := &ix[i]
		if e.kind == regular && e.newest != nil && (sandboxID == "" || e.newest.SandboxID == sandboxID) {
			return true
		}
	}
	return false
}
