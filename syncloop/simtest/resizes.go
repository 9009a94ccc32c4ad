package simtest

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop"
)

// addResizes has pods of the API ask for other resources in between. It draws by
// itself: all else happens as it does without.
func (p *planner) addResizes() {
	names := p.names[podmanager.SourceAPI]
	if len(names) == 0 {
		return
	}
	d := newDraw(p.seed, 3)
	var all []event
	for _, e := range p.events {
		if d.chance(30) {
			name, cpu := one(d, names...), one(d, "50m", "100m", "500m", "1", "1500m", "3", "20")
			all = append(all, event{e.at, "api has " + name + " ask for cpu " + cpu, false, func(w *world) {
				w.change(podmanager.SourceAPI, name, func(pod *v1.Pod) {
					pod.Generation++
					pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}
					w.know(pod, podmanager.SourceAPI)
				})
			}})
		}
		all = append(all, e)
	}
	p.events = all
}

// CanResize tells what the runtime says.
func (b border) CanResize() bool {
	r, ok := b.runtime.(runtime.Resizer)
	return ok && r.CanResize()
}

// counted is what the ledger counts for a pod: what it asked for first or, once it
// asked for something else, any of that.
func (w *world) counted(p *podState) int64 {
	held, _ := w.ledger.Held(admission.Key(p.UID))
	if len(p.asked) > 1 && slices.Contains(p.asked, held.MilliCPU) {
		return held.MilliCPU
	}
	return p.cpu
}

// checkSize sees that a pod has what it asks for, or that there is no room for it,
// and that the ledger, the status and the containers agree on what it has.
func (w *world) checkSize(v *syncloop.PodView, st *runtime.PodStatus) {
	p := w.pods[v.UID]
	if len(p.asked) < 2 {
		return
	}
	held, _ := w.ledger.Held(admission.Key(v.UID))
	wants, free := milliCPU(v.Pod), w.node.Status.Allocatable.Cpu().MilliValue()-w.ledger.UsedOf(v1.ResourceCPU)
	pending := slices.ContainsFunc(v.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodResizePending })
	switch {
	case pending && wants == held.MilliCPU:
		w.fail(Converges, "pod %s has the %dm that it asks for, and its resize is said to be pending", v.UID, wants)
	case pending && wants <= free+held.MilliCPU:
		w.fail(Converges, "pod %s has %dm, asks for %dm, and %dm are free", v.UID, held.MilliCPU, wants, free)
	case !pending && wants != held.MilliCPU:
		w.fail(Converges, "pod %s has %dm, asks for %dm, and nothing is said of it", v.UID, held.MilliCPU, wants)
	}
	for _, said := range v.Status.ContainerStatuses {
		c := st.Container(said.Name)
		if c == nil || c.State != runtime.StateRunning || c.Resources == nil || said.State.Running == nil || w.justChanged(c) {
			continue
		}
		has, granted := c.Resources.Requests.Cpu(), said.AllocatedResources.Cpu()
		if has.Cmp(*granted) != 0 {
			w.fail(Converges, "container %s of pod %s has cpu %s, and was granted %s", said.Name, v.UID, has, fmt.Sprint(granted))
		}
	}
}
