package syncloop

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/resource"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/podmanager"
)

// What ran before this agent came keeps its place: its name, and what it takes of
// the node. Nobody new may have that, however the sources take their turns.

// Takes is what a pod takes of its node while it runs.
type Takes struct {
	// Requests are its effective requests.
	Requests v1.ResourceList
	// HostPorts are the ports of the node that it has.
	HostPorts []v1.ContainerPort
}

// takes tells what a pod takes; nil if nobody counts.
func (l *SyncLoop) takes(pod *v1.Pod) *Takes {
	chain := l.cfg.Admission
	if chain == nil {
		return nil
	}
	ports := chain.HostPorts
	if ports == nil {
		ports = admission.HostPorts
	}
	return &Takes{
		Requests:  resource.PodRequests(pod, resource.PodResourcesOptions{UseStatusResources: true}),
		HostPorts: ports(pod),
	}
}

// reservePlaces keeps the places of pods that run, and of which the store knows
// although no source has named them yet: a manifest that changed while the agent
// was away gives a pod of the same name and another UID, and a source may be slow.
func (l *SyncLoop) reservePlaces() {
	for _, uid := range slices.Sorted(maps.Keys(l.strangers)) {
		p, past := l.strangers[uid], l.past[uid]
		if past == nil || !p.Running {
			continue
		}
		if past.Source != podmanager.SourceAPI {
			l.names.Acquire(p.Name+"_"+p.Namespace, uid)
		}
		if l.cfg.Admission == nil || past.Takes == nil {
			continue
		}
		like := &v1.Pod{}
		like.UID, like.Namespace, like.Name = uid, p.Namespace, p.Name
		like.Spec.Containers = []v1.Container{{
			Resources: v1.ResourceRequirements{Requests: past.Takes.Requests}, Ports: past.Takes.HostPorts,
		}}
		l.occupy(like)
	}
}

// keepPlaces keeps the places of those among the pods that run, before the others
// are let in.
func (l *SyncLoop) keepPlaces(pods []*v1.Pod) {
	for _, pod := range pods {
		if pod == nil || !l.strangers[pod.UID].Running || podmanager.IsMirror(pod) {
			continue
		}
		if isStatic(pod) {
			l.names.Acquire(podmanager.FullName(pod), pod.UID)
		}
		if l.cfg.Admission != nil {
			l.occupy(pod)
		}
	}
}

// occupy enters a pod in the ledger without asking anybody, in the place of what
// was entered for it.
func (l *SyncLoop) occupy(pod *v1.Pod) bool {
	l.cfg.Admission.Ledger.Remove(pod.UID)
	if err := l.cfg.Admission.Enter(pod); err != nil {
		l.log.Error("a pod that runs could not be entered in the ledger", "pod", podmanager.FullName(pod), "err", err)
		return false
	}
	return true
}

// occupies tells whether something is entered for the pod.
func (l *SyncLoop) occupies(uid types.UID) bool {
	return l.cfg.Admission != nil && l.cfg.Admission.Ledger.Has(uid)
}

// vacate frees the place of a pod that only the runtime knew, and that is gone.
func (l *SyncLoop) vacate(uid types.UID) {
	if l.occupies(uid) {
		l.cfg.Admission.Ledger.Remove(uid)
		l.roomBecameFree()
	}
}
