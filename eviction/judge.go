package eviction

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// State is what one round hands to the next. The zero value is that of a node
// that was never looked at. It is a value: Evaluate never writes to the one it
// is given. Its JSON is for dumps.
type State struct {
	// Observations of the last round, possible ones only.
	Observations []Observation `json:"observations,omitempty"`
	// Met are the thresholds that are met, and since when without a break.
	Met []MetThreshold `json:"met,omitempty"`
	// LastSeen is when each condition was last there.
	LastSeen map[v1.NodeConditionType]time.Time `json:"lastSeen,omitempty"`
	// Conditions are the reported ones.
	Conditions []v1.NodeConditionType `json:"conditions,omitempty"`
	// Stuck is the resource that was short while nobody could go, "" when the
	// last round that acted was not stuck.
	Stuck v1.ResourceName `json:"stuck,omitempty"`
}

// MetThreshold is a threshold that is met.
type MetThreshold struct {
	Threshold
	Since time.Time `json:"since"`
	// Driving is set once its grace period is over.
	Driving bool `json:"driving,omitempty"`
}

// Problem is something in the input of a round that is not acted upon.
type Problem struct {
	Signal Signal `json:"signal"`
	// Text says what is wrong with it.
	Text string `json:"text"`
}

// judgement is what a round makes of thresholds and observations alone.
type judgement struct {
	state    State
	problems []Problem
	// acting are the thresholds to act upon now, most urgent first: driving
	// ones whose observation is newer than the one of the last round.
	acting []Threshold
}

// judge compares observations with thresholds.
func judge(p Policy, observations []Observation, last State, now time.Time) judgement {
	var j judgement
	seen, problems := possible(observations)
	j.problems = problems
	j.problems = append(j.problems, older(seen, last)...)
	met := metThresholds(p.Thresholds, seen, last)
	j.state = State{Observations: seen, Stuck: last.Stuck}
	for _, t := range met {
		m := MetThreshold{Threshold: t, Since: since(t, last, now)}
		m.Driving = now.Sub(m.Since) >= t.GracePeriod
		j.state.Met = append(j.state.Met, m)
	}
	j.state.LastSeen = lastSeen(p, j.state.Met, last, now)
	j.state.Conditions = reported(p, j.state.LastSeen, now)
	for _, m := range j.state.Met {
		if m.Driving && j.fresh(m.Signal, last) {
			j.acting = append(j.acting, m.Threshold)
		}
	}
	slices.SortStableFunc(j.acting, byUrgency)
	return j
}

// possible leaves out observations that can't be. The first of a signal holds.
func possible(observations []Observation) (seen []Observation, problems []Problem) {
	seen = make([]Observation, 0, len(observations))
	for _, o := range observations {
		switch {
		case !o.Possible():
			problems = append(problems, Problem{o.Signal,
				fmt.Sprintf("impossible observation: %d available of %d", o.Available, o.Capacity)})
		case find(seen, o.Signal) != nil:
			problems = append(problems, Problem{o.Signal, "observed twice in one round"})
		default:
			seen = append(seen, o)
		}
	}
	return seen, problems
}

func find(observations []Observation, s Signal) *Observation {
	for i := range observations {
		if observations[i].Signal == s {
			return &observations[i]
		}
	}
	return nil
}

// metThresholds are those that are met now, and those that drove the last round
// and for which not enough is free again.
func metThresholds(thresholds []Threshold, seen []Observation, last State) []Threshold {
	var met []Threshold
	for _, t := range thresholds {
		if o := find(seen, t.Signal); o != nil && t.Met(*o) {
			met = append(met, t)
		}
	}
	for _, m := range last.Met {
		if !m.Driving {
			continue
		}
		if o := find(seen, m.Signal); o != nil && !m.left(*o) && !slices.ContainsFunc(met, m.same) {
			met = append(met, m.Threshold)
		}
	}
	return met
}

// since is the time from which on a threshold is met without a break. A clock
// that was turned back begins it anew.
func since(t Threshold, last State, now time.Time) time.Time {
	for _, m := range last.Met {
		if m.same(t) && !m.Since.After(now) {
			return m.Since
		}
	}
	return now
}

func lastSeen(p Policy, met []MetThreshold, last State, now time.Time) map[v1.NodeConditionType]time.Time {
	seen := make(map[v1.NodeConditionType]time.Time, len(last.LastSeen))
	for condition, at := range last.LastSeen {
		seen[condition] = at
		if at.After(now) { // the clock was turned back
			seen[condition] = now
		}
	}
	for _, m := range met {
		if c := p.meaning(m.Signal).Condition; c != "" {
			seen[c] = now
		}
	}
	return seen
}

// reported are the conditions that were there within the transition period.
func reported(p Policy, seen map[v1.NodeConditionType]time.Time, now time.Time) []v1.NodeConditionType {
	var conditions []v1.NodeConditionType
	for condition, at := range seen {
		if now.Sub(at) < p.TransitionPeriod {
			conditions = append(conditions, condition)
		}
	}
	slices.SortFunc(conditions, byCondition)
	return conditions
}

// older finds samples that are older than those of the last round: nothing is
// done upon them, and it is told.
func older(seen []Observation, last State) (problems []Problem) {
	for i := range seen {
		o := &seen[i]
		if before := find(last.Observations, o.Signal); before != nil && !o.Time.IsZero() && o.Time.Before(before.Time) {
			problems = append(problems, Problem{o.Signal, "observation is older than the last one"})
		}
	}
	return problems
}

// fresh tells whether a signal was measured anew since the last round, so that
// nothing is done twice upon one sample, nor upon one that is older.
func (j *judgement) fresh(s Signal, last State) bool {
	now, before := find(j.state.Observations, s), find(last.Observations, s)
	if now == nil {
		return false
	}
	return before == nil || now.Time.IsZero() || now.Time.After(before.Time)
}

// byUrgency puts memory first; all else keeps its order.
func byUrgency(a, b Threshold) int { return urgency(a.Signal) - urgency(b.Signal) }

func urgency(s Signal) int {
	if s == MemoryAvailable || s == AllocatableMemoryAvailable {
		return 0
	}
	return 1
}

// byCondition is the order in which conditions are named: memory, disk, pids,
// then a host's own by name.
func byCondition(a, b v1.NodeConditionType) int {
	if c := cmp.Compare(conditionPlace(a), conditionPlace(b)); c != 0 {
		return c
	}
	return cmp.Compare(a, b)
}

func conditionPlace(c v1.NodeConditionType) int {
	switch c {
	case v1.NodeMemoryPressure:
		return 0
	case v1.NodeDiskPressure:
		return 1
	case v1.NodePIDPressure:
		return 2
	}
	return 3
}
