// Package resize decides about running pods whose resources change: what is
// asked for is the pod's spec, what the pod has is its [Allocation], and the
// pod is run and counted by the latter until the node has room for the former.
//
//	                      ┌─▶ the same: nothing to do
//	desired ─┐            ├─▶ fits: the allocation becomes what is desired
//	         ├─▶ [Grant] ─┤
//	allocated┘            ├─▶ deferred: waits in the [Queue] for what it lacks
//	                      └─▶ infeasible: never, unless the spec changes
//
// It is the kubelet's allocation manager as values and functions: nothing here
// runs by itself, writes to what it is given, or knows of a clock. Package
// syncloop drives it. A [Queue] belongs to one goroutine; all else may be called
// from any.
package resize
