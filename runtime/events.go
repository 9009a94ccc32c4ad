package runtime

import apiruntime "k8s.io/apimachinery/pkg/runtime"

// EventRecorder sends events to users. client-go's record.EventRecorder is one
// as it is. Eventf does not block and is safe for concurrent use. The object is
// a pod, a node, or an ObjectReference to a part of a pod.
type EventRecorder interface {
	Eventf(object apiruntime.Object, eventtype, reason, messageFmt string, args ...any)
}

// Event is an event as a value: what a pure core wants users to be told. Whoever
// carries out its decision sends it.
type Event struct {
	// Container is the name of the container that it is about; empty for the
	// pod.
	Container string
	// Type is v1.EventTypeNormal or v1.EventTypeWarning.
	Type    string
	Reason  string
	Message string
}
