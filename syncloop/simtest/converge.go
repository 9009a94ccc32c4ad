package simtest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// records is what the store holds.
func (w *world) records() map[types.UID]syncloop.Record {
	list, err := w.store.Load(context.Background())
	if err != nil {
		w.fail(0, "the store can't be read: %v", err)
	}
	return byUID(list)
}

func byUID(list []syncloop.Record) map[types.UID]syncloop.Record {
	records := map[types.UID]syncloop.Record{}
	for _, r := range list {
		records[r.UID] = r
	}
	return records
}

// checkConverged sees that the node has come to rest as its sources want it.
func (w *world) checkConverged() {
	if w.broken.Load() != nil {
		return
	}
	if w.agent == nil || w.agent.killed() {
		w.fail(Converges, "no agent runs")
		return
	}
	wanted := map[types.UID]bool{}
	for _, s := range w.sources {
		for _, pod := range s.pods {
			if !podmanager.IsMirror(pod) {
				wanted[pod.UID] = true
				w.checkWanted(pod)
			}
		}
	}
	w.checkGone(wanted)
	w.checkMirrors()
}

// checkWanted sees that a pod is as its source wants it.
func (w *world) checkWanted(pod *v1.Pod) {
	v, ok := w.agent.loop.Pod(pod.UID)
	if !ok || v.Status == nil {
		w.fail(Converges, "nobody knows pod %s", pod.UID)
		return
	}
	p := w.pods[pod.UID]
	st, err := w.runtime.PodStatus(context.Background(), pod.UID)
	if err != nil {
		w.fail(0, "the runtime can't be read: %v", err)
		return
	}
	switch {
	case p.said == nil:
		w.fail(Converges, "nothing was said of pod %s", pod.UID)
	case !podstatus.Equal(p.said.Status, v.Status):
		w.fail(Converges, "what was said last of pod %s is not its status", pod.UID)
	case pod.DeletionTimestamp != nil:
		w.fail(Converges, "pod %s was deleted and is still there", pod.UID)
	case podstatus.Terminal(v.Status.Phase):
		w.checkEnded(v, st)
	case v.Waiting != "":
		w.checkWaiting(v)
	default:
		w.checkRuns(v, st)
	}
}

func (w *world) checkEnded(v *syncloop.PodView, st *runtime.PodStatus) {
	if st.Running() || slices.ContainsFunc(st.Sandboxes, func(s runtime.SandboxStatus) bool { return s.Ready }) {
		w.fail(Converges, "pod %s is %s and runs", v.UID, v.Status.Phase)
	}
	if v.Stage != lifecycle.Finished && v.Stage != "" {
		w.fail(Converges, "pod %s is %s and not finished: %s", v.UID, v.Status.Phase, v.Stage)
	}
}

// checkWaiting sees that a pod that waits has a reason to.
func (w *world) checkWaiting(v *syncloop.PodView) {
	for _, p := range w.order {
		if p.UID != v.UID && p.static && p.wanted && p.pod.Name == v.Name {
			return
		}
	}
	others := w.ledger.Fork()
	others.Remove(v.UID)
	if len(admission.Shortages(v.Pod, w.node.Status.Allocatable, others)) == 0 {
		w.fail(Converges, "pod %s waits, and could be let in: %s", v.UID, v.Waiting)
	}
}

// checkRuns sees that the containers of a pod run, or wait to be started anew,
// and that this is what is said of them.
func (w *world) checkRuns(v *syncloop.PodView, st *runtime.PodStatus) {
	p := w.pods[v.UID]
	if v.Stage != lifecycle.Sync {
		w.fail(Converges, "pod %s is wanted, and is %s", v.UID, v.Stage)
		return
	}
	w.checkHooks(p, st)
	if w.inHook(p, st) {
		return
	}
	if at, ok := podstatus.Deadline(v.Pod, v.Status); ok && time.Since(at) > w.slack()+trouble {
		w.fail(Converges, "pod %s runs on %s after its deadline", v.UID, time.Since(at))
	}
	said := map[string]*v1.ContainerStatus{}
	for _, list := range [][]v1.ContainerStatus{v.Status.InitContainerStatuses, v.Status.ContainerStatuses} {
		for i := range list {
			said[list[i].Name] = &list[i]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(said)) {
		s, c := said[name], st.Container(name)
		switch {
		case c == nil && s.State.Running != nil:
			w.fail(Converges, "container %s of pod %s is said to run, and is not there", name, v.UID)
		case c == nil || w.justChanged(c):
		case (c.State == runtime.StateRunning) != (s.State.Running != nil):
			w.fail(Converges, "container %s of pod %s is %s, and said to be %s", name, v.UID, c.State, inShort(*p.said))
		}
	}
	for i := range v.Pod.Spec.Containers {
		w.checkRegular(v, st, &v.Pod.Spec.Containers[i])
	}
	w.checkSize(v, st)
	w.checkHealth(v, st)
}

// justChanged tells whether the agent may not know of it yet.
func (w *world) justChanged(c *runtime.ContainerStatus) bool {
	since := w.began.Add(w.now() - w.plan.pace.relist - 1)
	if w.watches {
		since = w.began.Add(w.now() - 1)
	}
	return c.StartedAt.After(since) || c.FinishedAt.After(since)
}

// checkRegular sees that a container which should run does, or has a reason not to.
func (w *world) checkRegular(v *syncloop.PodView, st *runtime.PodStatus, c *v1.Container) {
	instance := st.Container(c.Name)
	switch {
	case len(v.Pod.Spec.InitContainers) > 0: // it may wait for one that fails
	case saysEnded(v.Pod, v.Status, c): // whatever the runtime remembers of it
		if instance != nil && instance.State == runtime.StateRunning {
			w.fail(Converges, "container %s of pod %s ended for good, and runs", c.Name, v.UID)
		}
	case instance == nil:
		if v.Work == "" && !restartsAll(v.Pod) { // which are removed while they wait
			w.fail(Converges, "container %s of pod %s was never started", c.Name, v.UID)
		}
	case instance.State == runtime.StateExited && runtime.RestartAfterExit(v.Pod, c, instance.ExitCode):
		if late := w.now() - instance.FinishedAt.Sub(w.began); late > w.plan.pace.resync*3/2+6*time.Minute {
			w.fail(Converges, "container %s of pod %s ended %s ago, and was not started anew", c.Name, v.UID, late)
		}
	}
}

// saysEnded tells whether a regular container is said to have ended for good.
func saysEnded(pod *v1.Pod, s *v1.PodStatus, c *v1.Container) bool {
	for i := range s.ContainerStatuses {
		if said := &s.ContainerStatuses[i]; said.Name == c.Name {
			end := cmp.Or(said.State.Terminated, said.LastTerminationState.Terminated)
			return said.State.Running == nil && end != nil && !restartsAll(pod) && !runtime.RestartAfterExit(pod, c, end.ExitCode)
		}
	}
	return false
}

// checkGone sees that nothing is left of pods that nobody wants.
func (w *world) checkGone(wanted map[types.UID]bool) {
	pods, err := w.runtime.ListPods(context.Background())
	if err != nil {
		w.fail(0, "the runtime can't be listed: %v", err)
		return
	}
	for _, p := range pods {
		if !wanted[p.UID] {
			w.fail(Converges, "nobody wants pod %s, and the runtime has something of it", p.UID)
		}
	}
	for _, v := range w.agent.loop.Pods() {
		if !wanted[v.UID] {
			w.fail(Converges, "nobody wants pod %s, and the agent knows it: %s %v", v.UID, v.Stage, v.LastError)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(w.records())) {
		if !wanted[uid] && !w.agent.amnesia { // the next one will find it
			w.fail(Converges, "nobody wants pod %s, and the store has a record of it", uid)
		}
	}
}

// checkMirrors sees that each static pod has its mirror, and no other is there.
func (w *world) checkMirrors() {
	static := map[string][]*v1.Pod{}
	for _, s := range w.sources {
		for _, pod := range s.pods {
			if s != w.api.source {
				static[pod.Name] = append(static[pod.Name], pod)
			}
		}
	}
	for _, m := range w.api.pods {
		if podmanager.IsMirror(m) && static[m.Name] == nil {
			w.fail(Converges, "mirror %s has no static pod", m.UID)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(static)) {
		pods := static[name]
		if len(pods) > 1 {
			continue
		}
		v, ok := w.agent.loop.Pod(pods[0].UID)
		if ok && v.Stage == lifecycle.Sync && v.Waiting == "" && w.mirrorOf(pods[0]) == nil && !w.hookHangs(v.UID) {
			w.fail(Converges, "static pod %s has no mirror", name)
		}
	}
}

func (w *world) mirrorOf(pod *v1.Pod) *v1.Pod {
	for _, m := range w.api.pods {
		if podmanager.IsMirrorOf(m, pod) {
			return m
		}
	}
	return nil
}
