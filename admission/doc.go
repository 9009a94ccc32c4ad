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
// Here now: node fit ([NodeFit]) and host ports ([NodePorts]), with the
// kubelet's Reasons and messages. Node name, affinity, taints, sysctls,
// preemption and resize are not here yet.
package admission
