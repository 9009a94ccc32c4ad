// Package podmanager answers: what should run here?
//
//	PodSource ─┐ Report
//	PodSource ─┼───────▶ PodConfig ─▶ Mux ─▶ Update ─▶ (the loop) ─▶ Manager
//	PodSource ─┘  SET,    keeps and   (pure)  ADD, UPDATE, REMOVE,    store,
//	              ADD …   coalesces           DELETE, RECONCILE,      mirrors
//	                                          RESTORE
//
// A [PodSource] says which pods it wants, as whole lists or as deltas. The
// [Mux] compares that with what the source said before, and makes typed changes
// of it, in the kubelet's order. It is a plain value: no lock, no clock, no I/O.
// [PodConfig] is the driver around it that runs sources and hands changes out
// at the reader's pace. The [Manager] is the store in which the reader keeps the
// pods, and finds static pods by their mirrors.
//
// # Sources are independent
//
// A source is heard once it has said its whole list ([OpSet]); before that the
// absence of a pod from it means nothing, and a source that has been heard may
// lose pods although another one is down ([Mux.Seen], [PodConfig.Seen]).
// Silence and errors never mean that there are no pods.
//
// Within a source, UID and full name are each unique; see [Mux] for what happens
// to pods that break that. A UID belongs to one source at a time.
//
// # Pods are read-only
//
// Nobody writes to a pod that went in or came out, on either side. The Mux sets
// the node's annotations ([AnnotationSource], [AnnotationSeen]) in copies of its
// own.
//
// # Static and mirror pods
//
// A pod of any source but the API is static ([IsStatic]). A host that has an API
// gives a [MirrorClient], and calls [ReconcileMirror] in each sync of a static
// pod, so that the API shows it.
//
// # ConfigMaps and Secrets
//
// [References] finds those that a pod names. A [Cache] keeps them while a pod that
// names them is registered: it watches an [ObjectSource] where that can be watched,
// and tells which pods are concerned by a change. It is what package podruntime
// asks for what containers see of them. An [Object] is printed without its content.
//
// # What comes with it
//
// Package source has sources for folders, URLs and channels; package manifest
// decodes manifests; package podmanagertest has fakes, and a suite of rules for
// sources of your own.
package podmanager
