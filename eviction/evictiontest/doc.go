// Package evictiontest has what a host tests eviction with: a node whose
// figures follow a script, and a suite for anyone's [eviction.StatsProvider],
// [TestStatsProvider].
//
//	var node evictiontest.Stats
//	node.Set(eviction.MemoryAvailable, 900<<20, 4<<30)
//	node.At(time.Minute, func(s *evictiontest.Stats) { s.Set(eviction.MemoryAvailable, 50<<20, 4<<30) })
//
// Time is package time, so that a script runs in a testing/synctest bubble.
package evictiontest
