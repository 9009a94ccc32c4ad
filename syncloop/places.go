package syncloop

import (
	"maps"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/admission/resize"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// What ran before this agent came keeps its place: its name, and what it takes of
// the node. Nobody new may have that, however the sources take their turns.

// Takes is what a pod takes of its node while it runs.
type Takes struct {
	// Requests are what the ledger counts for it.
	Requests admission.Requests
	// HostPorts are the ports of the node that it has.
	HostPorts []v1.ContainerPort `json:",omitzero"`
}

// takes tells what a pod takes that is entered.
func (l *SyncLoop) takes(pod *v1.Pod) *Takes {
	chain := l.cfg.Admission
	ports := chain.HostPorts
	if ports == nil {
		ports = admission.HostPorts
	}
	held, _ := chain.Ledger.Held(admission.KeyOf(pod))
	return &Takes{Requests: held, HostPorts: ports(pod)}
}

// reservePlaces keeps the places of pods that run, or of which the store knows,
// although no source has named them yet: a manifest that changed while the agent
// was away gives a pod of the same name and another UID, and a source may be slow.
// A pod that runs and that the store does not know may be a static one, too: the
// agent may have ended before anything was written down.
func (l *SyncLoop) reservePlaces() {
	for _, uid := range slices.Sorted(maps.Keys(l.strangers)) {
		p, past := l.strangers[uid], l.past[uid]
		if p.Running && (past == nil || past.Source != podmanager.SourceAPI) {
			l.names.Acquire(p.Name+"_"+p.Namespace, uid)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(l.past)) {
		past, running := l.past[uid], l.strangers[uid].Running
		if l.cfg.Admission == nil || past.Takes == nil || !running && past.ended() {
			continue
		}
		like := &v1.Pod{}
		like.UID, like.Namespace, like.Name = uid, past.Namespace, past.Name
		like.Spec.Containers = []v1.Container{{
			Resources: v1.ResourceRequirements{Requests: past.Takes.Requests.List()}, Ports: past.Takes.HostPorts,
		}}
		// Who it is shows when its source speaks: nobody takes its place before.
		like.Spec.Priority = new(int32(math.MaxInt32))
		l.occupy(like)
		l.leavesStill(past)
	}
}

// keepPlaces keeps the places of those among the pods that run, or were let in
// before, before the others are let in.
func (l *SyncLoop) keepPlaces(pods []*v1.Pod) {
	for _, pod := range pods {
		if pod == nil || podmanager.IsMirror(pod) {
			continue
		}
		listed, past := l.strangers[pod.UID], l.past[pod.UID]
		if listed.Running && isStatic(pod) {
			l.names.Acquire(podmanager.FullName(pod), pod.UID)
		}
		ended := podstatus.Terminal(pod.Status.Phase) || past != nil && past.over()
		stays := l.cfg.Readmit == ReadmitKeep && !ended && (listed.UID != "" || past != nil && past.Admitted)
		if l.cfg.Admission != nil && (listed.Running || stays) {
			if past != nil {
				pod, _ = past.Allocated.Apply(pod)
				pod = resize.Counted(pod, past.Status)
			}
			l.occupy(pod)
			l.leavesStill(past)
		}
	}
}

// leavesStill notes of a pod that is entered, and that an earlier agent had begun
// to stop, that it is leaving.
func (l *SyncLoop) leavesStill(past *Record) {
	if past != nil && (past.Verdict != nil || !past.TerminatingSince.IsZero()) {
		l.cfg.Admission.Ledger.SetLeaving(admission.Key(past.UID), true)
	}
}

// ended tells whether a pod of which nothing runs takes nothing any more, or never
// did.
func (r *Record) ended() bool {
	return !r.Admitted || r.over()
}

// over tells whether the pod's life had come to its end, or was being ended.
func (r *Record) over() bool {
	return r.Verdict != nil || !r.TerminatingSince.IsZero() || r.Status != nil && podstatus.Terminal(r.Status.Phase)
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

// roomOf is what the ledger counts for a pod.
func (l *SyncLoop) roomOf(uid types.UID) (room admission.Requests) {
	if l.cfg.Admission != nil {
		room, _ = l.cfg.Admission.Ledger.Held(admission.Key(uid))
	}
	return room
}

// vacate frees the place of a pod that is gone.
func (l *SyncLoop) vacate(uid types.UID) {
	if l.occupies(uid) {
		room := l.roomOf(uid)
		l.cfg.Admission.Remove(admission.Key(uid))
		l.vacated(room)
	}
}

// vacated tells those that wait that a place became free, and how large it was.
func (l *SyncLoop) vacated(room admission.Requests) {
	l.resizes.Freed(room)
	l.askAgain()
}
