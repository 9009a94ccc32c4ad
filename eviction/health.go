package eviction

import (
	"encoding/json"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Health is how a manager does. As JSON it is for people: errors are their texts,
// victims their names.
type Health struct {
	// Conditions are the reported ones.
	Conditions []v1.NodeConditionType
	// Observations are those of the last round, possible ones only.
	Observations []Observation
	// Met are the thresholds that were met in the last round.
	Met []MetThreshold
	// LastRound is when a round was last gone through to its end.
	LastRound time.Time
	// RoundSince is when the round under way began, zero when none is.
	RoundSince time.Time
	// Evicting are the pods that the round under way waits for: each may take its
	// Victim.Grace to stop.
	Evicting []Victim
	// Err is why the last round was not gone through, nil when it was; Failures
	// is how many in a row.
	Err      error
	Failures int
	// Stuck is set while a pod must go and none may.
	Stuck *Stuck
	// KillErr is why the last eviction failed, nil when it did not.
	KillErr error
	// Polling is why nobody wakes the manager early, nil when somebody does or
	// should not.
	Polling error
	// Problems are observations that were not acted upon in the last round.
	Problems []Problem
}

// Health tells how the manager does.
func (m *Manager) Health() Health {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.health
	h.Conditions, h.Problems = slices.Clone(h.Conditions), slices.Clone(h.Problems)
	h.Observations, h.Met = slices.Clone(h.Observations), slices.Clone(h.Met)
	h.Evicting = slices.Clone(h.Evicting)
	return h
}

func (m *Manager) note(change func(*Health)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.health)
}

// MarshalJSON implements [json.Marshaler].
func (h Health) MarshalJSON() ([]byte, error) {
	type victim struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		Message   string `json:"message"`
		Grace     string `json:"grace"`
	}
	victims := make([]victim, len(h.Evicting))
	for i, v := range h.Evicting {
		victims[i] = victim{v.Pod.Namespace, v.Pod.Name, v.Message, v.Grace().String()}
	}
	stuck := ""
	if h.Stuck != nil {
		stuck = h.Stuck.String()
	}
	return json.Marshal(struct {
		Conditions   []v1.NodeConditionType `json:"conditions,omitempty"`
		Observations []Observation          `json:"observations,omitempty"`
		Met          []MetThreshold         `json:"met,omitempty"`
		LastRound    time.Time              `json:"lastRound,omitzero"`
		RoundSince   time.Time              `json:"roundSince,omitzero"`
		Evicting     []victim               `json:"evicting,omitempty"`
		Error        string                 `json:"error,omitempty"`
		Failures     int                    `json:"failures,omitempty"`
		Stuck        string                 `json:"stuck,omitempty"`
		KillError    string                 `json:"killError,omitempty"`
		Polling      string                 `json:"polling,omitempty"`
		Problems     []Problem              `json:"problems,omitempty"`
	}{
		h.Conditions, h.Observations, h.Met, h.LastRound, h.RoundSince, victims, text(h.Err), h.Failures, stuck,
		text(h.KillErr), text(h.Polling), h.Problems,
	})
}

// text is what an error says, nothing for none.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
