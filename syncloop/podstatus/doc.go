// Package podstatus answers: what is to be said about a pod? It makes a
// v1.PodStatus out of what is known, by the rules of the kubelet, as a plain
// function of values:
//
//	pod spec ──────────────────┐
//	what the runtime sees ─────┤
//	start failures ────────────┤   container statuses       settled against what
//	probe results ─────────────┼─▶ phase, reason, message ─▶ was said before: times, ─▶ Result
//	verdict, deadline ─────────┤   conditions, addresses     generation, order
//	what was said before ──────┤
//	what the API server has ───┘
//
// [Compute] serves the life of a pod, [Reject] a pod that is not admitted and
// [Terminate] the last word about one that is gone. Each returns a complete
// status, whether it differs from the one before, and the verdict and events
// that go with it; the caller keeps the status as the next Previous. [Merge]
// makes of it what may be written to an API server, where [Equal] tells that
// nothing has to be.
//
// What is promised of any sequence of inputs: a phase never leaves Succeeded or
// Failed, and a pod in one of them is not ready; restart counts do not fall; a
// verdict stays; what was computed is not changed by computing it again.
//
// All functions may be called concurrently and write to nothing they are given. A
// result shares no memory with its input, but for the verdict.
package podstatus
