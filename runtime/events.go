package runtime

import apiruntime "k8s.io/apimachinery/pkg/runtime"

// EventRecorder sends events to users. client-go's record.EventRecorder is one
// as it is. Eventf does not block and is safe for concurrent use. The object is
// a pod, a node, or an ObjectReference to a part of a pod.
type EventRecorder interface {
	Eventf(object apiruntime.Object, eventtype, reason, messageFmt string, args ...any)
}
