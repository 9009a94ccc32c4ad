package probe

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
		e.dirty = 0
		e.tracker.said = e.tracker.verdict
		taken = append(taken, e.published())
	}
	m.dirty = nil
	return taken
}

// publish has the verdict of a probe taken.
func (m *Manager) publish(e *entry) {
	if e.dirty == 0 {
		m.dirty = append(m.dirty, e)
		e.dirty = int32(len(m.dirty))
	}
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// forget has nothing of a probe taken.
func (m *Manager) forget(e *entry) {
	if e.dirty == 0 {
		return
	}
	end := len(m.dirty) - 1
	last := m.dirty[end]
	m.dirty[e.dirty-1], last.dirty = last, e.dirty
	m.dirty[end] = nil
	m.dirty, e.dirty = m.dirty[:end], 0
}
