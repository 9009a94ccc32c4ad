package simtest

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/runtime"
)

// spell is a fault that lasts for a while.
type spell int

const (
	hintsLost spell = iota
	hintsDoubled
	hintsLate
	relistFails
	sinkSlow
	sinkRefuses
	storeSlow
	storeRefuses
	mirrorsFail
	nodeUnreadable
	admissionRejects
	admissionWaits
	admissionErrs
	runtimeFails
	runtimeSlow
	spells
)

var spellNames = [spells]string{
	"hints are lost", "hints come twice", "hints come late", "relists fail", "the sink is slow", "the sink refuses",
	"the store is slow", "the store refuses", "the mirrors' API fails", "the node can't be read", "admission rejects",
	"admission says later", "admission can't judge", "the runtime fails now and then", "the runtime is slow now and then",
}

// faults are those that are in force.
type faults struct {
	until [spells]time.Time
	calls []callFault
}

// callFault befalls the next calls of one kind for one pod.
type callFault struct {
	what  string
	uid   types.UID
	times int
	fate  fate
	hangs time.Duration
}

func (f *faults) on(s spell) bool { return f.until[s].After(time.Now()) }

// decide draws what becomes of a call.
func (w *world) decide(t *turn) (f fate) {
	if t.ctx == nil || strings.HasSuffix(t.what, "returns") {
		return f
	}
	f.pauses = w.draw.chance(25)
	switch {
	case w.calm:
		return f
	case t.asks():
		hang := w.hang(t)
		hang.pauses = f.pauses
		return hang
	}
	now := time.Now()
	slow := func(most time.Duration) { f.notBefore = now.Add(w.draw.between(time.Millisecond, most)) }
	fail := func(percent int) {
		if w.draw.chance(percent) {
			f.fails, f.late = true, w.draw.chance(30)
		}
	}
	for i := range w.faults.calls {
		c := &w.faults.calls[i]
		if c.times > 0 && c.what == t.what && c.uid == t.uid {
			c.times--
			f.fails, f.late = c.fate.fails, c.fate.late
			f.notBefore = now.Add(c.hangs)
			return f
		}
	}
	on := w.faults.on
	switch t.what {
	case "SetStatus":
		if on(sinkSlow) {
			slow(time.Minute)
		}
		if on(sinkRefuses) {
			fail(90)
		}
	case "Commit", "Load":
		if on(storeSlow) {
			slow(2 * time.Second)
		}
		if on(storeRefuses) {
			fail(90)
		}
	case "ListPods":
		if on(relistFails) {
			fail(90)
		}
	case "NodeStats":
		fail(10)
	case "CreateMirror", "DeleteMirror":
		if on(mirrorsFail) {
			fail(80)
		}
	}
	switch t.what {
	case "SyncPod", "KillPod", "PodStatus", "RemovePod", "RemoveVolumes", "ListPods", "Watch":
		if on(runtimeFails) {
			fail(25)
		}
		if on(runtimeSlow) && w.draw.chance(25) {
			slow(20 * time.Second)
		}
	}
	return f
}

func (f fate) String() string {
	switch {
	case f.fails && f.late:
		return "and seems to fail"
	case f.fails:
		return "and fails"
	}
	return ""
}

// cast begins a spell.
func (w *world) cast(s spell, d time.Duration) {
	w.faults.until[s] = time.Now().Add(d)
	switch s {
	case admissionRejects, admissionWaits, admissionErrs, nodeUnreadable:
		w.excuseAll()
	}
}

// Breaker is a Runtime that can be made to misbehave, as [runtimetest.Fake] can.
// One that is none has fewer faults.
type Breaker interface {
	Exit(uid types.UID, container string, code int32) error
	LoseTrack(uid types.UID, container string) error
	FailSandbox(uid types.UID) error
	Forget(uid types.UID)
	Invent(ref runtime.PodRef, containers ...string)
}

func (w *world) breaker(do func(Breaker)) {
	if b, ok := w.runtime.(Breaker); ok {
		do(b)
	}
}

// countdown brings the agent nearer to its sudden end.
func (w *world) countdown() {
	if w.killIn == 0 || w.agent == nil {
		return
	}
	if w.killIn--; w.killIn == 0 {
		w.kill()
	}
}

// kill ends the agent at once.
func (w *world) kill() {
	if w.agent == nil || w.agent.killed() {
		return
	}
	w.act("the agent is killed")
	w.agent.kill()
	w.killIn = 0
}

// agentDown sees to an agent that has ended. It tells whether it did anything.
func (w *world) agentDown() bool {
	if a := w.agent; a != nil && a.hasShut() {
		w.act("all pods are stopped, or will not be")
		w.stop(a.shut.away)
		return true
	}
	if a := w.agent; a != nil && a.over() {
		switch {
		case a.killed():
		case !a.stopping:
			w.fail(0, "the loop ended by itself: %v", a.err)
		case a.err != nil:
			w.fail(0, "Run returned %v", a.err)
		}
		w.settle(a)
		a.kill() // should something of it be left
		w.agent, w.notify, w.hints = nil, nil, nil
		w.lostAgent()
		if a.shut.done != nil {
			w.wasShut()
		}
		if soon := time.Now().Add(time.Millisecond); w.upAgain.Before(soon) {
			w.upAgain = soon // no agent comes back in no time
		}
	}
	if w.agent != nil || w.upAgain.After(time.Now()) {
		return false
	}
	w.act("an agent starts")
	w.start()
	return true
}

// heal ends all faults.
func (w *world) heal() {
	w.act("the faults end")
	w.calm = true
	w.faults, w.shortUntil = faults{}, time.Time{}
	w.killIn, w.upAgain = 0, time.Time{}
	if w.agent != nil && w.agent.shut.hurry != nil {
		w.agent.shut.hurry()
	}
	for _, t := range w.turns.all() {
		if t.fate.notBefore.After(time.Now()) && !t.asks() {
			w.hampered(t.uid)
		}
		t.fate = fate{}
	}
	for i := range w.hints {
		w.hints[i].at = time.Time{}
	}
	for _, s := range w.sources {
		s.silent = time.Time{}
	}
	w.resize(w.plan.cpu)
	w.excuseAll()
}

// end stops the agent for good.
func (w *world) end() {
	if w.agent == nil {
		return
	}
	w.agent.kill()
	<-w.agent.ended
	w.stats.Simulated = w.now()
}

// hinted takes what the runtime says has changed.
func (w *world) hinted(uids []types.UID) {
	if w.notify == nil {
		return
	}
	slices.Sort(uids)
	for _, uid := range uids {
		if w.faults.on(hintsLost) && w.draw.chance(70) {
			continue
		}
		h := hint{uid: uid}
		if w.faults.on(hintsLate) {
			h.at = time.Now().Add(w.draw.between(time.Millisecond, 30*time.Second))
		}
		w.hints = append(w.hints, h)
		if w.faults.on(hintsDoubled) {
			w.hints = append(w.hints, h)
		}
	}
}
