// Package lifecycle is the life of a pod on a node as a pure state machine:
// [Rules.Step] takes a state, an event and the time, and returns the next state
// and what is to be done. It does no I/O, starts no goroutine and keeps nothing;
// package syncloop is its driver, and a test or a simulator may be another.
//
//	              Update (create)
//	                   │
//	                   ▼            Kill, Removed, Update with a deletion or
//	Done, Due,   ┌── Sync ──┐       a terminal phase, Done{Terminal}
//	Poke, Update └─▶      ──┼──────────────────────────┐
//	                        │                          ▼
//	a static pod that never │                 ┌── Terminating ──┐ Done{Err}, Due,
//	got its name, and of    │                 └─▶             ──┘ a shorter grace
//	which nothing runs      │                          │ Done: nothing runs
//	                        │                          ▼
//	                        │                     Terminated ──▶ (resources released)
//	                        │                          │ Done
//	                        ▼                          ▼
//	                        └─────────────────────▶ Finished ──▶ Forget, when nobody
//	                                                   │         wants it any more
//	                                                   ▼
//	                                         Recreate, when a create came
//	                                         after its end had begun
//
// A pod never goes back. One that comes again under the same UID while it is
// being stopped waits until it is finished, and begins a new life then.
//
// For one pod at most one piece of [Work] is in force at a time. What comes
// meanwhile is remembered as the newest pod, and as flags that are never lost.
// The begin of the end cancels a sync and does not wait for it to come back:
// the kill goes ahead at once, and is repeated after the sync did come back, so
// that nothing it started late survives. A grace period that was shortened
// overtakes the kill in flight in the same way.
package lifecycle
