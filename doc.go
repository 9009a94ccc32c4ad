// Package kubeparts is the kubelet, as parts: admission, sync, probes and
// eviction as packages that a program imports to become a node agent, or to
// decide like one in a simulation or a test. This page is the map.
//
// Six packages, one question each:
//
//	podmanager   what should run here?    sources of pods, merged into changes
//	runtime      what does run here?      Plan, and the Runtime and Backend under it
//	admission    may this pod run here?   a chain of checks over a ledger
//	probe        does it work?            probers, trackers, and a manager of many
//	eviction     who must go?             thresholds, ranking, Evaluate, a manager
//	syncloop     brings all of it together, one event at a time
//
// runtime, podmanager and admission stand on the ground and import none of the
// others; probe and eviction stand on them, syncloop on all. Each can be used
// alone.
//
// # The way of a pod
//
//	PodSource ─▶ Mux ─▶ SyncLoop ─▶ Manager ─▶ Chain.Admit ─▶ lifecycle.Step ─▶ worker
//	 file/http/  SET →   one event   store      Ledger          (pure)            │
//	 channel     ADD…    at a time                                                ▼
//	                        ▲                                              Runtime.SyncPod
//	                        │ events                                       Runtime.KillPod
//	     probe results ─────┤                                                     │
//	     runtime events ────┤◀────────────────────────────────────────────────────┘
//	     sync due ──────────┤
//	     housekeeping ──────┘         podstatus.Compute ─▶ StatusSink
//
// # Decide pure, act at the edge
//
// Every package has a core of plain functions over values: no I/O, no goroutine,
// no lock, no clock (now is an argument). Thin drivers around them wait and
// call. The cores are podmanager.Mux, admission.Chain, runtime.Plan, probe.Tracker,
// eviction.Evaluate, lifecycle.Step and podstatus.Compute; a unit test, a simulator
// or an autoscaler calls them with no driver at all.
//
// # Where to begin
//
//   - To see it run: go run ./examples/nodeagent
//   - To write a node agent: implement runtime.Backend (examples/customruntime
//     is one in under 150 lines), make a runtime.Runtime of it with
//     runtime/podruntime, and give that to a syncloop.SyncLoop.
//   - To test admission: admission.Chain with a node and a ledger. To ask about
//     the pods of a cluster: examples/admit, and examples/evict for eviction.
//   - To probe containers, whatever they are: a probe.Manager, alone; its
//     example needs no v1.Pod.
//   - To put a handler, store or runtime of yours through days of faults:
//     syncloop/simtest, in a test of a few lines.
//   - To follow the kubelet's mechanisms one by one: docs/mechanisms.md. Where
//     this library differs from the kubelet: docs/differences.md.
//
// # What holds everywhere
//
// A *v1.Pod handed to the library is never written to. Whatever can block takes
// a context. No goroutine outlives the Run that it belongs to, and none starts
// in a constructor. Time is package time, so that testing/synctest works.
// Errors name what failed. Optional powers of a host's type are found by type
// assertion. Fakes and conformance suites for the interfaces of a package are in
// the one named after it with "test" behind: runtimetest, podmanagertest,
// admissiontest, probetest, evictiontest, synclooptest.
package kubeparts
