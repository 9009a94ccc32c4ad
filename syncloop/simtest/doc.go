// Package simtest lets a whole node live through days in milliseconds, with
// faults, from a seed, and checks after every step that the promises of the
// design hold.
//
//	seed ─▶ plan: pods and faults with their times        (plan.go, pods.go)
//	          │
//	          ▼
//	        world: sources, API, runtime, sink, store, node (world.go, api.go, source.go)
//	          │  ▲
//	   turns  ▼  │ calls, one at a time                      (agent.go, turns.go)
//	        SyncLoop
//	          │
//	          ▼
//	        invariants after each step; convergence after    (invariants.go, said.go,
//	        the last fault                                    secrets.go, converge.go,
//	                                                          pressure.go, health.go)
//	          │ broken
//	          ▼
//	        shrink: the fewest events that still break it    (shrink.go, report.go)
//
// A node runs in a bubble of testing/synctest. Whatever the agent does at its
// border (a call of the runtime, the store, the sink, a mirror; a goroutine that
// it starts; a step of its loop) waits for its turn, and one thing has its turn
// at a time. Which one is drawn from the seed. So two runs of a seed are the same
// run, whatever the scheduler of Go does, and the order among ready channels is
// one more thing that a seed decides; see [syncloop.Conductor].
//
// Turns take no time, unless a fault makes them: the agent is as fast as can be,
// and the world is slow. Time passes when nothing has anything to do.
//
// With [Config].Probes a real probe.Manager probes the containers (asks.go): each try
// waits for its turn, and what it comes to is the container's nature, or the mood that
// the plan gives it for a while (probed.go).
//
// A host lets its own parts live through the same: see [Config] and [Run].
//
// With [Config].Hooks containers have postStart and preStop hooks, which take their time,
// fail, heal and hang, and the agent is killed while they run (hooks.go).
//
// What it does not do: turn the clock back, which a bubble can't; have images and
// volumes, which the Runtime in memory does not have.
package simtest
