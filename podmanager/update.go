package podmanager

import v1 "k8s.io/api/core/v1"

// Op says what an [Update] means.
type Op string

// The operations. A source sends SET, or ADD, UPDATE and REMOVE as deltas, or
// RESTORE; the [Mux] sends all but SET.
const (
	// OpSet: these pods are the whole list of the source.
	OpSet Op = "SET"
	// OpAdd: pods that are new to the source.
	OpAdd Op = "ADD"
	// OpUpdate: pods whose spec, labels, annotations or deletion changed.
	OpUpdate Op = "UPDATE"
	// OpDelete: pods that were marked for graceful deletion.
	OpDelete Op = "DELETE"
	// OpRemove: pods that the source does not have any more.
	OpRemove Op = "REMOVE"
	// OpReconcile: pods of which only the status in the source changed.
	OpReconcile Op = "RECONCILE"
	// OpRestore: pods from a checkpoint. They are handled as additions, but
	// their source does not count as heard.
	OpRestore Op = "RESTORE"
)

// Update is a change of the desired pods of one source. Its pods are read-only
// for everybody.
type Update struct {
	Source string
	Op     Op
	Pods   []*v1.Pod
}

// Source names and annotations, as the kubelet writes them.
const (
	SourceFile = "file"
	SourceHTTP = "http"
	SourceAPI  = "api"

	// AnnotationSource holds the name of the source that a pod came from.
	AnnotationSource = "kubernetes.io/config.source"
	// AnnotationMirror marks a mirror pod; its value is the hash of its static
	// pod.
	AnnotationMirror = "kubernetes.io/config.mirror"
	// AnnotationSeen is when the pod was first seen.
	AnnotationSeen = "kubernetes.io/config.seen"
	// AnnotationHash is the hash of a static pod's content, as package manifest
	// sets it. A source of one's own sets another one with each change, or none.
	AnnotationHash = "kubernetes.io/config.hash"
)

// IsStatic tells whether the pod came from a source other than the API. A pod
// without the source annotation is not static.
func IsStatic(pod *v1.Pod) bool {
	source, ok := pod.Annotations[AnnotationSource]
	return ok && source != SourceAPI
}

// IsMirror tells whether the pod is the API's picture of a static pod; the
// annotation alone decides, whatever its value.
func IsMirror(pod *v1.Pod) bool {
	_, ok := pod.Annotations[AnnotationMirror]
	return ok
}

// FullName is name_namespace, the name under which a static pod and its mirror
// find each other.
func FullName(pod *v1.Pod) string { return pod.Name + "_" + pod.Namespace }
