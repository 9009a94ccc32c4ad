// Package admission answers: may this pod run here?
//
// A [Chain] asks its checks in turn and enters those pods that it admits in a
// [Ledger], which counts what they take. A check is an [AdmitHandler]; it
// answers with one of three outcomes: admit, reject, or retry later. The kubelet
// has two, and its users have long asked for the third
// (kubernetes/kubernetes#128043).
//
//	            ┌── NodeGetter (the node, as a value)
//	pod ──▶ Chain ──▶ check ──▶ check ──▶ … ──▶ admit ──▶ Ledger
//	            └── Ledger (what is taken)  └─▶ reject: final, phase Failed
//	                                        └─▶ retry: not now; asked again
//
// Checks are pure: they change neither what they are given nor the world.
// [Chain.Check] therefore answers a what-if, from any number of goroutines while
// nobody writes to the ledger, and [Ledger.Fork] makes a ledger to think in.
// [Chain.Admit] and everything else that writes to the ledger belongs to one
// writer; in this library that is the sync loop.
//
// [KubeletChecks] are the checks of the kubelet v1.36 with its Reasons, messages
// and order; each is a small type that a host may use by itself or leave out. All
// of them are asked before anything has an effect: what a [Reserver] sets aside,
// and the pods that have to go for a critical one ([Plan]), come only when nothing
// else stands in the way. [Chain.Explain] tells all about one pod.
package admission
