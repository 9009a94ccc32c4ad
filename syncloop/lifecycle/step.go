package lifecycle

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Step takes one event of a pod and returns its next state and what is to be
// done, in order. It never panics. An event that makes no sense in a state
// changes nothing.
func (r Rules) Step(s State, e Event, now time.Time) (State, []Action) {
	m := machine{rules: r.withDefaults(), State: s, now: now}
	m.Waiters = slices.Clone(s.Waiters)
	switch e := e.(type) {
	case Update:
		m.update(e)
	case Removed:
		m.removed()
	case Stray:
		m.stray()
	case Resume:
		m.resume(e)
	case Kill:
		m.kill(e)
	case Discard:
		m.discard()
	case NameGranted:
		m.nameGranted()
	case Poke:
		m.poke()
	case Due:
		m.due()
	case Done:
		m.done(e)
	}
	m.dispatch()
	return m.State, m.actions
}

// machine is a state on its way to the next.
type machine struct {
	State
	rules   Rules
	now     time.Time
	actions []Action
}

func (m *machine) do(a Action) { m.actions = append(m.actions, a) }

func (m *machine) update(e Update) {
	if e.Pod == nil {
		return
	}
	cameBack := e.Create && !m.Desired
	m.Desired = true
	switch {
	case m.Stage == "":
		m.begin(e)
	case cameBack && m.TerminationRequested():
		// What is left of the old life must not be taken for the new one's.
		m.RestartRequested, m.Discard = true, true
		return
	case m.Stage == Finished:
		m.Pod = e.Pod
		return
	}
	m.Pod = e.Pod
	m.Pending = true
	deleted := e.Pod.DeletionTimestamp != nil
	m.Deleted = m.Deleted || deleted
	if m.Stage == Sync && (deleted || e.Ended || terminal(e.Pod)) || m.Stage == Terminating {
		m.terminate(Kill{})
	}
}

// begin is the first event of a life.
func (m *machine) begin(e Update) {
	m.Stage = Sync
	m.Observed = e.Observed
	if (e.Ended || terminal(e.Pod)) && !e.Running {
		// It ended before, and only its last words are left to be said.
		m.TerminatingSince, m.Deadline = m.now, m.now
		m.Grace = minGrace
		m.Stage = Terminated
		m.Started, m.Acknowledged = true, true
		return
	}
	m.Static, m.Started = e.Static, !e.Static
	if m.Static {
		m.do(AcquireName{})
	}
}

func (m *machine) removed() {
	if m.Stage == "" {
		return
	}
	m.Desired = false
	m.RestartRequested = false
	m.Deleted = true
	if m.Stage != Finished && m.Stage != Terminated {
		m.terminate(Kill{})
	}
}

func (m *machine) stray() {
	switch m.Stage {
	case "":
		m.Stage = Sync
		m.Observed, m.Started, m.Deleted = true, true, true
		m.terminate(Kill{})
	case Terminated, Finished:
		m.Stray = true
	}
}

func (m *machine) resume(e Resume) {
	if m.Stage != Sync && m.Stage != Terminating || e.Since.IsZero() {
		return
	}
	if !m.TerminationRequested() && m.Verdict == nil {
		// Its source has it, and nothing says any more why it had to end. What
		// is left of the old life must not be taken for the new one's.
		m.RestartRequested, m.Discard = true, true
	}
	// No more than it had: a stop that began in the future says that the clock was
	// turned back.
	left := min(e.Since.Add(e.Grace).Sub(m.now), e.Grace)
	m.terminate(Kill{Grace: max(left, minGrace)})
}

func (m *machine) discard() {
	if m.Stage == Terminated || m.Stage == Finished {
		m.Discard = true
	}
}

func (m *machine) kill(e Kill) {
	m.Discard = m.Discard || e.Discard
	if e.Waiter != 0 {
		m.Waiters = append(m.Waiters, e.Waiter)
	}
	switch m.Stage {
	case "", Terminated, Finished:
		m.complete()
		return
	}
	if e.Verdict != nil && m.Verdict == nil {
		m.Verdict = e.Verdict
	}
	if e.Evict && !m.TerminationRequested() {
		m.Evicted = true
	}
	m.terminate(e)
}

// terminate begins the end, or hurries one that has begun.
func (m *machine) terminate(k Kill) {
	began := !m.TerminationRequested()
	if !began && m.Stage != Terminating {
		return
	}
	grace := Grace(m.Grace, k.Grace, m.Pod)
	deadline := m.now.Add(grace)
	if k.Now {
		deadline = m.now
	}
	sooner := began || (grace < m.Grace || k.Now) && deadline.Before(m.Deadline)
	m.Grace = grace
	if sooner {
		m.Deadline = deadline
	}
	if began {
		m.TerminatingSince = m.now
		m.Stage = Terminating
	}
	if began && !m.Started && !m.Observed {
		// A static pod that never got its name: nothing of it exists.
		m.finish()
		return
	}
	if sooner {
		m.overtake()
		m.Pending = true
	}
}

// overtake makes way for a kill: the work in force is cancelled, and not
// waited for.
func (m *machine) overtake() {
	switch m.Work {
	case WorkSync:
		m.do(Cancel{m.Seq})
		m.Lingers, m.Recheck = m.Seq, true
		m.Work = ""
	case WorkTerminate:
		m.do(Cancel{m.Seq})
		m.Work = ""
	}
}

func (m *machine) nameGranted() {
	if m.Stage == Sync && !m.Started {
		m.Started, m.Pending = true, true
	}
}

func (m *machine) poke() {
	if m.Stage != Sync && m.Stage != Terminating {
		return
	}
	switch {
	case m.Work != "":
		m.Poked = true
	case m.Failures > 0:
		m.dueSoon()
	default:
		m.repeat()
	}
}

// maxRepeats is how often in a row work is repeated at once because something
// changed. What work does to a pod comes back as a poke: a runtime that never
// comes to rest must not drive the agent in circles.
const maxRepeats = 10

// repeat has the work repeated: at once, unless that happened too often.
func (m *machine) repeat() {
	if m.Repeats < maxRepeats {
		m.Repeats++
		m.Pending = true
		return
	}
	m.dueSoon()
}

// dueSoon brings the next work forward to a moment after the last.
func (m *machine) dueSoon() {
	if soon := m.LastDone.Add(m.rules.Transient); m.Due.IsZero() || soon.Before(m.Due) {
		m.Due = soon
	}
}

func (m *machine) due() {
	if m.Due.IsZero() {
		return
	}
	m.Due = time.Time{}
	m.Pending = true
}

// dispatch starts what is to be done, unless work is in force.
func (m *machine) dispatch() {
	if m.Work != "" {
		return
	}
	switch {
	case m.Stage == Sync && m.Started && m.Pending:
		m.start(WorkSync)
	case m.Stage == Terminating && m.Pending:
		m.Acknowledged = m.Lingers == 0
		m.start(WorkTerminate)
	case m.Stray && (m.Due.IsZero() || m.Pending):
		m.start(WorkTerminate)
	case m.Stage == Terminated && (m.Due.IsZero() || m.Pending):
		m.start(WorkCleanUp)
	case m.Stage == Finished && (m.Discard || !m.Desired) && (m.Due.IsZero() || m.Pending):
		m.start(WorkRemove)
	}
}

func (m *machine) start(w Work) {
	if m.now.Sub(m.LastDone) >= m.rules.Transient {
		m.Repeats = 0
	}
	m.Seq++
	m.Work, m.Pending, m.Poked, m.Due = w, false, false, time.Time{}
	m.do(Start{Work: w, Seq: m.Seq})
}

func terminal(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}
