package simtest

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/lifecycle"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// Invariant is one of the promises of the design, by its number.
type Invariant int

// The invariants.
const (
	StopsInTime Invariant = iota + 1
	PhaseIsFinal
	LedgerIsTrue
	OneInstance
	RestartsGrow
	EvictsOne
	Converges
	RestartTouchesNothing
	KeepsSecrets
	ProbesDecide
)

var invariantTexts = [...]string{
	"the agent works",
	"no container of a pod runs longer than its grace period after the pod was rejected, removed or evicted",
	"a phase never leaves Succeeded or Failed",
	"requests of admitted, unfinished pods never exceed the node's allocatable; usage equals their sum",
	"at most one instance of a container runs at a time; two static pods with one full name never overlap",
	"restart counts only grow; back-off is kept",
	"at most one pod is evicted an interval; never a critical or static one",
	"after faults stop, every pod converges, and the sink's last status equals the computed one",
	"no container is restarted or stopped without reason, by an agent restart least of all; readiness does not flap",
	"secrets appear in no log, event, record or status",
	"a container is ready and started when its own probes said so, and it alone is restarted when they fail",
}

// String is the sentence of the design.
func (i Invariant) String() string { return fmt.Sprintf("invariant %d: %s", int(i), invariantTexts[i]) }

// Violation is a promise that was broken.
type Violation struct {
	Invariant Invariant
	At        time.Duration
	Text      string
}

func (w *world) fail(i Invariant, text string, args ...any) {
	v := &Violation{Invariant: i, At: w.now(), Text: fmt.Sprintf(text, args...)}
	if w.broken.CompareAndSwap(nil, v) {
		w.trace.note("BROKEN: %s", v.Text)
	}
}

// observe looks at what has changed in the runtime, and at what time has brought.
func (w *world) observe() {
	uids := w.changed()
	for _, uid := range uids {
		p := w.pods[uid]
		if p == nil {
			continue
		}
		st, err := w.runtime.PodStatus(context.Background(), uid)
		if err != nil {
			w.fail(0, "the runtime can't be read: %v", err)
			return
		}
		w.checkInstances(p, st)
	}
	w.hinted(uids)
	w.mu.Lock()
	leaked := w.leaked
	w.mu.Unlock()
	if leaked != "" {
		w.fail(KeepsSecrets, "%s", leaked)
	}
	now := time.Now()
	for _, p := range w.order {
		if p.mustStop && p.running && now.After(p.stopBy()) && w.agentKnows(p) {
			w.fail(StopsInTime, "pod %s runs on %s after it had to stop", p.UID, now.Sub(p.since))
		}
	}
}

// agentKnows tells whether there is an agent that can know by now whether the pod
// is to run: its own source has been heard or, for one that nobody remembers,
// all of them.
func (w *world) agentKnows(p *podState) bool {
	if w.agent == nil || w.agent.stopping || w.agent.killed() || !w.listed || w.hangs(p) {
		return false
	}
	for _, s := range w.sources {
		if !s.heard && (p.forgotten || p.source == "" || p.source == s.name) {
			return false
		}
	}
	return true
}

// hangs tells whether a call takes long that the end of the pod waits for.
func (w *world) hangs(p *podState) bool {
	for _, t := range w.turns.all() {
		if !t.fate.notBefore.IsZero() && !t.asks() && (t.uid == "" || t.uid == p.UID || w.plan.maxWorkers > 0) {
			return true
		}
	}
	return false
}

// checkInstances takes note of what runs of a pod.
func (w *world) checkInstances(p *podState, st *runtime.PodStatus) {
	running := map[string]string{}
	for i := range st.Containers {
		c := &st.Containers[i]
		if c.State != runtime.StateRunning && c.State != runtime.StateUnknown {
			continue
		}
		if other := running[c.Name]; other != "" {
			w.fail(OneInstance, "container %s of pod %s runs twice: %s and %s", c.Name, p.UID, other, c.ID)
		}
		running[c.Name] = c.ID
	}
	p.running = len(running) > 0
	if p.running && p.static {
		for _, other := range w.order {
			if other != p && other.static && other.running && other.pod.Name == p.pod.Name {
				w.fail(OneInstance, "static pods %s and %s of one name run at one time", p.UID, other.UID)
			}
		}
	}
	for i := len(st.Containers) - 1; i >= 0; i-- {
		w.follow(p, st, &st.Containers[i])
	}
}

// follow takes note of one container instance, oldest first.
func (w *world) follow(p *podState, st *runtime.PodStatus, c *runtime.ContainerStatus) {
	old := p.instances[c.Name]
	if c.StartedAt.IsZero() {
		return
	}
	if old == nil || old.id != c.ID && c.StartedAt.After(old.started) || old.id == c.ID && !c.StartedAt.Equal(old.started) {
		next := &instance{id: c.ID, sandbox: c.SandboxID, image: c.Image, started: c.StartedAt, running: true}
		next.toStop = w.cfg.Hooks && p.postStart(c).ExitCode != 0
		w.trace.note("%s/%s runs", p.UID, c.Name)
		if old != nil {
			w.checkBackoff(p, c, old, next)
			w.checkPolicy(p, old, next, c.Name)
		}
		p.instances[c.Name] = next
		old = next
	}
	if old.id == c.ID && old.running && c.State == runtime.StateExited {
		old.running, old.finished = false, c.FinishedAt
		w.trace.note("%s/%s ended with %d %s", p.UID, c.Name, c.ExitCode, c.Reason)
		if c.ExitCode == stopCode || c.ExitCode == 137 && c.Reason == "Error" {
			w.checkStop(p, st, c.Name, old)
		}
	}
}

// checkBackoff sees that a container that is started anew has waited.
func (w *world) checkBackoff(p *podState, c *runtime.ContainerStatus, old, next *instance) {
	if old.disturbed || p.vanished || p.lives > 0 || old.image != c.Image || restartsAll(p.pod) || old.finished.IsZero() ||
		len(p.asked) > 1 { // other resources are another container to it
		return
	}
	wait := old.wait
	if old.finished.Sub(old.started) > 9*time.Minute {
		wait = 0
	}
	next.wait = nextWait(wait)
	// A new sandbox takes the instances of init containers with it: nobody saw them fail.
	unseen := wait == 0 && old.sandbox != next.sandbox && !regular(p.pod, c.Name)
	if p.health(old.id).failed || unseen {
		next.wait = wait // it counts only if it had failed before
	}
	if gap := c.StartedAt.Sub(old.finished); gap < wait && !p.health(old.id).failed {
		w.fail(RestartsGrow, "container %s of pod %s was started %s after its end, and had to wait for %s", c.Name, p.UID, gap, wait)
	}
}

// checkStop sees that there was a reason to stop a container.
func (w *world) checkStop(p *podState, st *runtime.PodStatus, name string, i *instance) {
	switch {
	case !p.wanted, p.deleting, p.ending, p.evicted, i.disturbed, p.health(i.id).failed:
	case i.toStop, w.mayEnd(p), restartsAll(p.pod), p.source == "":
	case !regular(p.pod, name) && (!regularRuns(p.pod, st) || w.outlived(p, st)):
	case regular(p.pod, name) && p.image(name) != i.image:
	default:
		w.fail(RestartTouchesNothing, "container %s of pod %s was stopped without a reason", name, p.UID)
	}
}

// stopBegins takes note of an agent's reason to end a pod. The stop goes on when
// that agent dies, and the next one may never have heard of the reason.
func (w *world) stopBegins(uid types.UID) {
	p := w.pods[uid]
	if p == nil || !w.mayEnd(p) {
		return
	}
	for _, i := range p.instances {
		i.toStop = i.toStop || i.running
	}
}

// mayEnd tells whether the pod's own time is over, as far as the agent knows.
func (w *world) mayEnd(p *podState) bool { return w.deadlinePassed(p) || w.saysTerminal(p) }

// saysTerminal tells whether the agent, or the API, has it that the pod ended.
func (w *world) saysTerminal(p *podState) bool {
	status := w.status(p)
	return status != nil && podstatus.Terminal(status.Phase) || podstatus.Terminal(p.pod.Status.Phase)
}

// status is what the agent last had to say of a pod, whether or not it arrived.
func (w *world) status(p *podState) *v1.PodStatus {
	if w.agent != nil {
		if v, ok := w.agent.loop.Pod(p.UID); ok && v.Status != nil {
			return v.Status
		}
	}
	if p.said != nil {
		return p.said.Status
	}
	return nil
}

func (p *podState) image(name string) string {
	for i := range p.pod.Spec.Containers {
		if p.pod.Spec.Containers[i].Name == name {
			return p.pod.Spec.Containers[i].Image
		}
	}
	return ""
}

// hookAdmitted notes that a pod was let in.
func (w *world) hookAdmitted(pod *v1.Pod, v admission.Verdict, _ time.Duration) {
	w.admitted = w.admitted || v.Outcome == admission.Admit && milliCPU(pod) > 0
}

// checkLedger compares the ledger with the pods that take something.
func (w *world) checkLedger() {
	admitted := w.admitted
	w.admitted = false
	if w.agent == nil || w.agent.loop == nil {
		return
	}
	pods, cpu := 0, int64(0)
	for _, p := range w.order {
		if w.ledger.Has(p.UID) {
			pods++
			cpu += w.counted(p)
		}
	}
	waiting := int64(0) // for others to give way
	for _, v := range w.agent.loop.Pods() {
		has := w.ledger.Has(v.UID)
		begun := v.Stage == lifecycle.Sync || v.Stage == lifecycle.Terminating
		switch p := w.pods[v.UID]; {
		case has && parked(v):
			waiting += p.cpu
		case begun && !has && v.Pod != nil && (v.Admitted || p.running):
			w.fail(LedgerIsTrue, "pod %s takes something, and is not in the ledger", v.UID)
		case has && !begun:
			w.fail(LedgerIsTrue, "pod %s takes nothing, and is in the ledger", v.UID)
		}
	}
	used := w.ledger.Used().MilliCPU
	if pods != w.ledger.Pods() || cpu != used {
		w.fail(LedgerIsTrue, "the ledger has %d pods with %dm cpu, and it should be %d with %dm", w.ledger.Pods(), used, pods, cpu)
	}
	if most := w.node.Status.Allocatable.Cpu().MilliValue(); admitted && used-waiting > most {
		w.fail(LedgerIsTrue, "a pod was let in, and %dm cpu of %dm are taken", used-waiting, most)
	}
	w.checkPool()
}

func milliCPU(pod *v1.Pod) int64 { return admission.PodRequests(pod).MilliCPU }

// checkEviction sees that the pod may be evicted now.
func (w *world) checkEviction(p *podState) {
	now := time.Now()
	switch {
	case critical(p.pod) && p.static, p.static:
		w.fail(EvictsOne, "static pod %s is evicted", p.UID)
	case critical(p.pod):
		w.fail(EvictsOne, "critical pod %s is evicted", p.UID)
	case !w.evicted.IsZero() && now.Sub(w.evicted) < evictionInterval:
		w.fail(EvictsOne, "pod %s is evicted %s after another", p.UID, now.Sub(w.evicted))
	}
	w.evicted = now
}
