// Package runtime answers: what does run here? It knows pods as they are: their
// sandboxes and containers, what a runtime must be able to do with them, and what
// to do next to bring a pod nearer to its spec.
//
// # Two levels
//
// A host plugs in its engine at the level that fits it:
//
//	syncloop ──▶ Runtime ◀── an engine that thinks in pods
//	              (whole pods: sync, kill, list, status)
//	                 ▲
//	                 │ package podruntime: carries out plans, and does
//	                 │ what every pod needs: env, volumes, logs, images,
//	                 │ hooks, restart counts
//	                 ▼
//	              Backend ◀── process, CRI, WASM, VMs, systemd, a fake
//	              (sandboxes and containers, cut along the CRI)
//
// [Runtime] and [Backend] are small. What an engine can do besides is found by
// type assertion: [Watcher], [Execer], [LogReader] and [StatsProvider] on either level,
// [Cleaner], [Resizer] and [Reporter] for a Runtime, [ImagePuller] and [ContainerResizer] for
// a Backend. Package runtimetest has fakes that behave, and the suites that an
// implementation runs against itself.
//
// # Decisions
//
// The rest of the package is pure: functions over values, without I/O, locks or a
// clock. They can be tested, replayed and asked what-if questions without any
// runtime at all.
//
//	pod, PodStatus,   ┌──────┐  Actions: sandbox to create, containers
//	ProbeVerdicts, ──▶│ Plan │─▶ to start (now or after a back-off), kill,
//	Backoff, now      └──────┘  reset and remove; when to come back
//
// These are the decisions:
//
//   - [Plan] decides one pass over a pod, as the kubelet's computePodActions.
//     [StopOrder] and [Grace] say how to stop it.
//   - [Backoff] paces restarts, [PullBackoff] pulls; [DecideImage] says whether a
//     container's image is used, pulled or waited for.
//   - [ShouldRestart], [RestartAfterExit], [RestartAllTriggered] and
//     [SandboxChanged] are the rules that status computation shares with Plan.
//   - [ContainerHash] is a container's identity, [Expand] the $(NAME) grammar,
//     [HTTPRequest] what a probe or a hook asks.
//
// # Ownership and concurrency
//
// Pods and statuses that are handed over are read-only, for both sides and for
// good; so are the containers that [Actions] point to. All functions of this
// package, and methods of its values, may be called concurrently. What an
// implementation of an interface owes is said there.
//
// A [PodStatus] lists sandboxes and containers newest first; every rule relies on
// it. Whoever makes one calls [PodStatus.Sort].
package runtime
