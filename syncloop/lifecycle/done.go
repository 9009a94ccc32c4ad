package lifecycle

import "time"

func (m *machine) done(e Done) {
	if e.Seq == 0 {
		return
	}
	if e.Seq == m.Lingers {
		m.lingererBack()
		return
	}
	if e.Seq != m.Seq || m.Work == "" {
		return // a kill that was overtaken by one with a shorter grace
	}
	work := m.Work
	m.Work = ""
	m.LastDone = m.now
	if e.Verdict != nil && m.Verdict == nil {
		m.Verdict = e.Verdict
	}
	switch {
	case e.Err != nil:
		m.Failures++
		m.Due = m.rules.retry(m.State, work, e, m.now)
		if m.Poked {
			m.dueSoon()
		}
	default:
		m.Failures = 0
		m.succeeded(work, e)
	}
}

// lingererBack takes note of a sync that was overtaken and came back.
func (m *machine) lingererBack() {
	m.Lingers = 0
	if m.Stage != Terminating {
		return
	}
	m.Acknowledged = true
	if m.Work == "" && m.Due.IsZero() {
		m.Recheck = false
		m.Pending = true
	}
}

func (m *machine) succeeded(w Work, e Done) {
	switch {
	case w == WorkSync && e.Terminal:
		m.terminate(Kill{})
		m.Pending = true
	case w == WorkSync:
		m.Due = m.rules.resync(m.State, e, m.now)
		if e.Again || m.Poked {
			m.repeat()
		}
	case w == WorkTerminate:
		m.stopped()
	case w == WorkCleanUp:
		m.finish()
	case w == WorkRemove:
		m.removedForGood()
	}
}

// stopped follows a kill after which nothing ran.
func (m *machine) stopped() {
	switch {
	case m.Stray:
		m.Stray = false
	case m.Lingers != 0:
		// The sync that was overtaken may still start something: wait for it.
	case m.Recheck:
		m.Recheck = false
		m.Pending = true
	default:
		m.Stage = Terminated
		m.complete()
		if m.RuntimeOnly() {
			m.finish()
		}
	}
}

// finish is the end of a life, whatever the way to it.
func (m *machine) finish() {
	m.Stage = Finished
	m.Due, m.Pending = time.Time{}, false
	if m.Static {
		m.do(ReleaseName{})
	}
	m.complete()
	m.recreate()
}

// recreate begins a new life if one was asked for and the old one is over.
func (m *machine) recreate() {
	if m.Stage != Finished || m.Work != "" || m.Discard || !m.RestartRequested || !m.Desired {
		return
	}
	m.State = State{UID: m.UID, Seq: m.Seq}
	m.do(Recreate{})
}

// removedForGood follows the removal of all that the runtime kept.
func (m *machine) removedForGood() {
	m.complete()
	m.Discard = false
	if m.Desired {
		m.recreate()
		return
	}
	m.State = State{UID: m.UID, Seq: m.Seq}
	m.do(Forget{})
}

func (m *machine) complete() {
	if len(m.Waiters) > 0 {
		m.do(Complete{Waiters: m.Waiters})
		m.Waiters = nil
	}
}
