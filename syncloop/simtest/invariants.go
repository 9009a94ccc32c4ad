package simtest

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeparts/kubeparts/admission"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop"
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
	if w.broken == nil {
		w.broken = &Violation{Invariant: i, At: w.now(), Text: fmt.Sprintf(text, args...)}
		w.trace.note("BROKEN: %s", w.broken.Text)
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
		if !t.fate.notBefore.IsZero() && (t.uid == "" || t.uid == p.UID || w.plan.maxWorkers > 0) {
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
		next := &instance{id: c.ID, image: c.Image, started: c.StartedAt, running: true}
		w.trace.note("%s/%s runs", p.UID, c.Name)
		if old != nil {
			w.checkBackoff(p, c, old, next)
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
	if old.disturbed || p.vanished || p.anew || old.image != c.Image || restartsAll(p.pod) || old.finished.IsZero() {
		return
	}
	wait := old.wait
	if old.finished.Sub(old.started) > 9*time.Minute {
		wait = 0
	}
	next.wait = nextWait(wait)
	if p.probed[old.id] {
		next.wait = wait // it counts only if it had failed before
	}
	if gap := c.StartedAt.Sub(old.finished); gap < wait && !p.probed[old.id] {
		w.fail(RestartsGrow, "container %s of pod %s was started %s after its end, and had to wait for %s", c.Name, p.UID, gap, wait)
	}
}

// checkStop sees that there was a reason to stop a container.
func (w *world) checkStop(p *podState, st *runtime.PodStatus, name string, i *instance) {
	switch {
	case !p.wanted, p.deleting, p.ending, p.evicted, i.disturbed, p.probed[i.id]:
	case w.deadlinePassed(p), restartsAll(p.pod), w.saysTerminal(p), p.source == "":
	case !regular(p.pod, name) && !regularRuns(p.pod, st):
	case regular(p.pod, name) && p.image(name) != i.image:
	default:
		w.fail(RestartTouchesNothing, "container %s of pod %s was stopped without a reason", name, p.UID)
	}
}

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

// said checks what the agent says of a pod, and keeps it.
func (w *world) said(u syncloop.StatusUpdate) {
	p := w.pods[u.Pod.UID]
	if p == nil {
		return
	}
	if w.trace != nil {
		w.trace.note("%s is said to be %s", p.UID, inShort(u))
	}
	if text := leak(u.Status); text != "" {
		w.fail(KeepsSecrets, "the status of pod %s says %q", p.UID, text)
	}
	if podstatus.Terminal(u.Status.Phase) && !u.MayRun && p.running && !p.anew && !p.wasDisturbed() {
		w.fail(StopsInTime, "pod %s is said to have stopped while it runs", p.UID)
	}
	if old := p.said; old != nil {
		w.compare(p, old, &u)
	}
	p.said, p.saidBy = &u, w.agent
}

func (p *podState) wasDisturbed() bool {
	for _, i := range p.instances {
		if i.disturbed {
			return true
		}
	}
	return p.source == ""
}

// compare checks a status against the one before.
func (w *world) compare(p *podState, old, next *syncloop.StatusUpdate) {
	if next.Version < old.Version {
		w.fail(Converges, "an older status of pod %s comes after a newer one", p.UID)
	}
	left := podstatus.Terminal(old.Status.Phase) && next.Status.Phase != old.Status.Phase
	if old.MayRun && p.saidBy != w.agent {
		left = false // nobody was to act upon it, and whoever said it is gone
	}
	if left && !p.anew {
		w.fail(PhaseIsFinal, "pod %s was said to be %s, and now to be %s", p.UID, old.Status.Phase, next.Status.Phase)
	}
	fewer := w.compareRestarts(p, next.Status)
	if fewer != "" && !p.anew {
		w.fail(RestartsGrow, "container %s of pod %s is said to have been restarted less often than before", fewer, p.UID)
	}
	if left || fewer != "" {
		p.anew = false
		clear(p.restarts)
	}
	if isReady(old.Status) && !isReady(next.Status) && w.sameRuns(p, old.Status, next.Status) {
		w.fail(RestartTouchesNothing, "pod %s is said to be unready, and nothing has happened to it", p.UID)
	}
}

// compareRestarts returns a container that is said to have been restarted less
// often than before.
func (w *world) compareRestarts(p *podState, s *v1.PodStatus) (fewer string) {
	for _, list := range [][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := range list {
			c := &list[i]
			if c.RestartCount < p.restarts[c.Name] {
				fewer = c.Name
			}
			p.restarts[c.Name] = c.RestartCount
		}
	}
	return fewer
}

func isReady(s *v1.PodStatus) bool {
	for i := range s.Conditions {
		if s.Conditions[i].Type == v1.PodReady {
			return s.Conditions[i].Status == v1.ConditionTrue
		}
	}
	return false
}

// sameRuns tells whether the same instances run in two statuses, of a pod that is
// to run and whose readiness probes did not fail.
func (w *world) sameRuns(p *podState, a, b *v1.PodStatus) bool {
	if !p.wanted || p.anew || p.deleting || p.ending || podstatus.Terminal(b.Phase) || p.wasDisturbed() ||
		len(a.ContainerStatuses) != len(b.ContainerStatuses) || len(a.InitContainerStatuses) != len(b.InitContainerStatuses) {
		return false
	}
	return w.sameRunning(p, a.InitContainerStatuses, b.InitContainerStatuses) && w.sameRunning(p, a.ContainerStatuses, b.ContainerStatuses)
}

// sameRunning tells whether all that runs in the one list runs in the other.
func (w *world) sameRunning(p *podState, a, b []v1.ContainerStatus) bool {
	for i := range b {
		x, y := &a[i], &b[i]
		if x.State.Running == nil && !regular(p.pod, x.Name) {
			continue
		}
		if inst := p.instances[y.Name]; inst == nil || p.unready[inst.id] {
			return false
		}
		if x.State.Running == nil || y.State.Running == nil || x.ContainerID != y.ContainerID {
			return false
		}
	}
	return true
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
			cpu += p.cpu
		}
	}
	for _, v := range w.agent.loop.Pods() {
		has := w.ledger.Has(v.UID)
		begun := v.Stage == lifecycle.Sync || v.Stage == lifecycle.Terminating
		switch p := w.pods[v.UID]; {
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
	if most := w.node.Status.Allocatable.Cpu().MilliValue(); admitted && used > most {
		w.fail(LedgerIsTrue, "a pod was let in, and %dm cpu of %dm are taken", used, most)
	}
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

// checkRecord sees that what is kept of a pod holds no secrets.
func (w *world) checkRecord(r *syncloop.Record) {
	if text := leak(r.Status); text != "" {
		w.fail(KeepsSecrets, "the record of pod %s says %q", r.UID, text)
	}
	if r.Verdict != nil && strings.Contains(r.Verdict.Message, secret) {
		w.fail(KeepsSecrets, "the record of pod %s says %q", r.UID, r.Verdict.Message)
	}
}

// leak returns a text of the status that holds a secret.
func leak(s *v1.PodStatus) string {
	if s == nil {
		return ""
	}
	texts := []string{s.Message, s.Reason}
	for i := range s.Conditions {
		texts = append(texts, s.Conditions[i].Message)
	}
	for _, list := range [][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := range list {
			for _, state := range []v1.ContainerState{list[i].State, list[i].LastTerminationState} {
				if state.Waiting != nil {
					texts = append(texts, state.Waiting.Message)
				}
				if state.Terminated != nil {
					texts = append(texts, state.Terminated.Message)
				}
			}
		}
	}
	for _, text := range texts {
		if strings.Contains(text, secret) {
			return text
		}
	}
	return ""
}

// recorder takes events, and logs lines, and looks for secrets in them.
type recorder struct{ *world }

func (r recorder) Eventf(_ apiruntime.Object, _, reason, format string, args ...any) {
	r.heard("an event", reason+" "+fmt.Sprintf(format, args...))
}

type logs struct{ *world }

func (logs) Enabled(context.Context, slog.Level) bool { return true }
func (l logs) WithAttrs([]slog.Attr) slog.Handler     { return l }
func (l logs) WithGroup(string) slog.Handler          { return l }

func (l logs) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		l.heard("the log", a.Value.String())
		return true
	})
	l.heard("the log", r.Message)
	return nil
}

// inShort is a status in a few words.
func inShort(u syncloop.StatusUpdate) string {
	text := string(u.Status.Phase)
	if u.Status.Reason != "" {
		text += " " + u.Status.Reason
	}
	if isReady(u.Status) {
		text += " ready"
	}
	for _, list := range [][]v1.ContainerStatus{u.Status.InitContainerStatuses, u.Status.ContainerStatuses} {
		for i := range list {
			c := &list[i]
			text += fmt.Sprintf(" %s#%d:", c.Name, c.RestartCount)
			switch {
			case c.State.Running != nil:
				text += "running"
			case c.State.Terminated != nil:
				text += fmt.Sprintf("ended(%d)", c.State.Terminated.ExitCode)
			case c.State.Waiting != nil:
				text += c.State.Waiting.Reason
			}
		}
	}
	if u.MayRun {
		text += " mayrun"
	}
	if u.Finished {
		text += " finished"
	}
	return text
}

// heard looks for secrets in what users and operators are told.
func (w *world) heard(where, text string) {
	if strings.Contains(text, secret) {
		w.mu.Lock()
		w.leaked = where + " says " + text
		w.mu.Unlock()
	}
}
