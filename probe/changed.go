package probe

import "slices"

// Changed has a value when there is something to take, and perhaps one too many.
// The channel is always the same one, is never closed, and serves one reader: a
// sync loop that has the Manager as its Probes is that reader.
func (m *Manager) Changed() <-chan struct{} { return m.changed }

// Take returns the verdicts that changed since it was called last, the newest one
// of each probe.
func (m *Manager) Take() []Published {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := make([]Published, 0, len(m.dirty))
	for _, e := range m.dirty {
		e.dirty = false
		if !e.removed {
			e.tracker.said = e.tracker.verdict
			taken = append(taken, e.published())
		}
	}
	m.dirty, m.gone = nil, 0
	return taken
}

// publish has the verdict of a probe taken.
func (m *Manager) publish(e *entry) {
	if !e.dirty {
		e.dirty = true
		m.dirty = append(m.dirty, e)
	}
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// forget sees to it that a host which does not take is not kept the probes that
// are gone.
func (m *Manager) forget(e *entry) {
	if !e.dirty {
		return
	}
	if m.gone++; m.gone > len(m.dirty)/2 {
		m.dirty = slices.DeleteFunc(m.dirty, func(e *entry) bool { return e.removed })
		m.gone = 0
	}
}
