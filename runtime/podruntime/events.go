package podruntime

import (
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/internal/repeat"
	"github.com/kubeparts/kubeparts/runtime"
)

// objectOf refers to a pod, or to one of its containers, in an event.
func objectOf(pod *v1.Pod, container string) *v1.ObjectReference {
	ref := &v1.ObjectReference{
		Kind: "Pod", APIVersion: "v1", Namespace: pod.Namespace, Name: pod.Name,
		UID: pod.UID, ResourceVersion: pod.ResourceVersion,
	}
	if container != "" {
		ref.FieldPath = fieldPath(pod, container)
	}
	return ref
}

// unknownObject refers to a container of a pod that only the runtime knows.
func unknownObject(ref runtime.PodRef, container string) *v1.ObjectReference {
	return &v1.ObjectReference{
		Kind: "Pod", APIVersion: "v1", Namespace: ref.Namespace, Name: ref.Name, UID: ref.UID,
		FieldPath: "spec.containers{" + container + "}",
	}
}

// toldLimit is how many bytes of a failure people are told. It may quote what
// a manifest has megabytes of, and be said of each of a thousand containers.
const toldLimit = 4 << 10

// short cuts a text to so many bytes.
func short(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "..."
}

// event sends one event, whose message is text and no format.
func (r *Runtime) event(object *v1.ObjectReference, kind, reason, message string) {
	if r.cfg.Events != nil {
		r.cfg.Events.Eventf(object, kind, reason, "%s", short(message, toldLimit))
	}
}

// repeated is an event that may repeat itself.
type repeated struct{ fieldPath, reason, message string }

var eventPace = repeat.Pace{First: 10 * time.Second, Last: 10 * time.Minute}

// pacedKinds bounds how many different events of a pod are remembered.
const pacedKinds = 64

// warn sends a warning, at once when it is new, and at a falling rate while it
// repeats itself.
func (r *Runtime) warn(s *podState, object *v1.ObjectReference, reason, message string) {
	r.paced(s, object, v1.EventTypeWarning, reason, message)
}

func (r *Runtime) paced(s *podState, object *v1.ObjectReference, kind, reason, message string) {
	message = short(message, toldLimit)
	if s.due(repeated{object.FieldPath, reason, message}, time.Now()) {
		r.event(object, kind, reason, message)
	}
}

func (s *podState) due(e repeated, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	beat := s.told[e]
	if !eventPace.Pass(&beat, now) {
		return false
	}
	if s.told == nil || len(s.told) >= pacedKinds {
		s.told = make(map[repeated]repeat.Beat)
	}
	s.told[e] = beat
	return true
}

// tell sends the events that a pure decision asks for: those that
// say the same with every pass at a falling rate.
func (r *Runtime) tell(s *podState, pod *v1.Pod, events []runtime.Event) {
	for _, e := range events {
		object := objectOf(pod, e.Container)
		if e.Type == v1.EventTypeWarning || e.Reason == "BackOff" {
			r.paced(s, object, e.Type, e.Reason, e.Message)
		} else {
			r.event(object, e.Type, e.Reason, e.Message)
		}
	}
}

// nameFor replaces a container's ID by its name, so that the same failure of two
// instances reads the same.
func nameFor(message, id, name string) string {
	if id == "" {
		return message
	}
	return strings.ReplaceAll(message, id, name)
}
