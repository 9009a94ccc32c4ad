// Package eviction answers: who must go, when the node runs short?
//
// Its core is [Evaluate], a function over values: thresholds, observations, pods
// with their stats, the state of the last round and the time go in; conditions,
// what to reclaim, and the one pod that must go come out, in the kubelet's words.
// A simulator, a test or an autoscaler calls it without a node.
//
//	Settings ──▶ Policy ─────┐
//	NodeStats ─▶ Observation ┼─▶ Evaluate ─▶ Outcome ─▶ Conditions ─▶ AdmitHandler
//	Pods, PodStats, State ───┘                 │  └────▶ State, for the next round
//	                                           ├─▶ Over: pods over limits of their own
//	                                           ├─▶ Reclaim, then Victim
//	                                           └─▶ Ranking, with reasons, on demand
//
// [Manager] drives it: it measures through a [StatsProvider], decides, reclaims
// and kills, round after round, and keeps new pods out meanwhile through an
// [AdmitHandler]. At most one pod goes a round, besides those over their
// local-storage limits; static, mirror and critical pods never go.
//
// Package nodestats measures a real node; package evictiontest has a node whose
// figures follow a script, and a suite for anyone's StatsProvider.
//
// What pods use goes into [Pods], where it is added up once: [Pods.Measure].
//
// Functions are pure and may be called from anywhere; a [Pods] has one writer at
// a time; a [Manager] and an [AdmitHandler] are safe for concurrent use.
package eviction
