// Package syncloop brings what should run and what does run together, one event
// at a time.
//
//	PodSource ─▶ Mux ─▶ config ─────────┐
//	  the runtime's hints ─▶ events ────┤        ┌─▶ Manager: known from now on
//	  back-offs, deadlines ─▶ sync due ─┼▶ Step ─┤   Chain.Admit: let in, refused,
//	  2 s ─▶ housekeeping ──────────────┤   │    │     or asked to wait
//	  probe results ────────────────────┘   │    └─▶ lifecycle.Step, pure:
//	        ▲                               │          sync ▶ terminating ▶ terminated ▶ finished
//	        │                               ▼                        │ start, cancel
//	        └── what came back ◀── worker: reads the pod, ◀──────────┘
//	                               podstatus.Compute,
//	                               Runtime.SyncPod, KillPod, Cleaner
//	                                        │
//	                                        ▼
//	                          Store, then StatusSink: newest first, never an older one
//
// The package has two layers.
//
// [Step] is the primitive: one select over five [Channels] and one call of a
// [SyncHandler]. A host with ideas of its own, a test or a simulator drives it
// alone.
//
// [SyncLoop] is the handler that most hosts want, and the loop around it. Give
// [New] a Runtime and a podmanager.PodConfig, and call Run. The loop's goroutine
// owns all state and never waits for anything; what may take long happens in
// workers:
//
//   - A worker is a goroutine that lives as long as its pod is busy. Work on one
//     pod is serial, and begins with reading the pod: nothing acts on a status
//     older than the pod's last action. What changes meanwhile coalesces to the
//     newest.
//   - The end of a pod overtakes its sync at once. It counts only after the sync
//     came back and nothing was found running.
//   - An idle pod owns no goroutine and no timer. One heap holds all times:
//     resyncs, back-offs, deadlines, pods that wait to be let in. Jitter comes
//     from the UID, so that a replay is exact.
//   - What a runtime's Watcher says is a hint, a list is the truth, and each list
//     is compared with the last: only pods that changed are looked at.
//   - Every source stands for itself: what one that was heard does not name goes,
//     whether others were heard or not.
//   - [StatusSink] gets the newest status of each pod with a version that only
//     grows; a sink that is slow or down holds up nothing else. [Store] keeps a
//     small record of each pod and makes a batch durable at a time.
//   - When the context of Run ends, all pods run on: the next agent finds them,
//     and starts none of their containers anew. [SyncLoop.Shutdown] stops them.
//
// The fakes are in package synclooptest; the life of a pod, as a pure state
// machine, in package lifecycle; what is said of it in package podstatus.
package syncloop
