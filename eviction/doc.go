// Package eviction answers: who must go, when the node runs short?
//
// Its ground is data: a [Signal] names something that a node can run out of, an
// [Observation] says how much of it is left, and a [Threshold] when that is too
// little. A host gives the figures through a [StatsProvider].
//
//	StatsProvider ──▶ []Observation ─┬─▶ Threshold.Met ──▶ pressure
//	                   []Threshold ──┘
//
// A scripted provider is in package evictiontest. Ranking, the choice of a pod
// and the manager are not here yet.
package eviction
