package podmanager

import (
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Errors of [Mux.Merge], each wrapped with the name that was given. Nothing
// changed when one of them is returned.
var (
	ErrUnknownSource = errors.New("unknown source")
	ErrUnknownOp     = errors.New("unknown operation")
)

// Mux turns what several sources say into typed changes of the desired pods.
// It is pure: no lock, no clock, no I/O. It is not safe for concurrent use;
// [PodConfig] drives one.
//
// Sources are independent of each other. Within one, a pod is known by its UID
// and has a full name of its own:
//
//   - Of a list (OpSet) that gives a full name or a UID twice, the first pod
//     counts, as in the kubelet. The others are refused with an [Event].
//   - Deltas are words one after the other, so the last one counts; and a pod
//     with a new UID under a known full name takes the old one's place, which
//     is removed.
//   - A UID that another source holds is refused with an Event until that
//     source lets go of it; then the pod is added by itself.
//
// A delta costs the same however many pods there are. A list costs its own
// length, and the deep comparison is only for pods that may have changed: one
// that is the same object as before, has the same resourceVersion, or (unless
// it is the API's) the same content hash, is taken as unchanged.
//
// The pods that go in are never written to. Those that come out are the Mux's
// own copies, which share what lies below the annotations with the pod that
// went in; nobody writes to them either.
type Mux struct {
	order   []string
	sources map[string]*sourceState
	owners  map[types.UID]*sourceState
}

// sourceState is what the Mux knows of one source.
type sourceState struct {
	name string
	// seen is set by the first SET.
	seen bool
	pods map[types.UID]*entry
	// refused holds the pods whose UID belongs to another source.
	refused map[types.UID]*v1.Pod
	// uids leads from full names to pods and refused pods; no two of them have
	// one name.
	uids map[string]types.UID
	// added counts additions, and keeps removals in their order; lists counts
	// lists, and finds what the last one left out.
	added, lists uint64
}

// entry is one pod of a source.
type entry struct {
	pod   *v1.Pod // with the node's annotations
	in    *v1.Pod // the source's object that pod was made of
	order uint64  // of its addition
	list  uint64  // the last list that had it
}

// Merged is what came out of one merge.
type Merged struct {
	// Updates in the order in which they must be handled: REMOVE, ADD, UPDATE,
	// DELETE, RECONCILE, RESTORE. The first SET of a source brings an empty ADD
	// when there is no ADD, UPDATE or DELETE: word that the source is alive.
	Updates []Update
	// Events for the users of refused pods. A pod that is refused again and
	// again has its event each time.
	Events []Event
}

// Event is an event about a pod that is to be sent.
type Event struct {
	Pod     *v1.Pod
	Type    string
	Reason  string
	Message string
}

// ReasonFailedValidation is the reason of events about pods that a source gave
// and the Mux refused.
const ReasonFailedValidation = "FailedValidation"

// NewMux returns a Mux of the named sources. Empty and repeated names are
// passed over.
func NewMux(sources ...string) *Mux {
	m := &Mux{sources: map[string]*sourceState{}, owners: map[types.UID]*sourceState{}}
	for _, name := range sources {
		m.Register(name)
	}
	return m
}

// Register makes a source known. From now on it counts for AllSeen.
func (m *Mux) Register(source string) {
	if source == "" || m.sources[source] != nil {
		return
	}
	m.order = append(m.order, source)
	m.sources[source] = &sourceState{
		name:    source,
		pods:    map[types.UID]*entry{},
		uids:    map[string]types.UID{},
		refused: map[types.UID]*v1.Pod{},
	}
}

// Sources returns the names of the sources in the order of their registration.
func (m *Mux) Sources() []string { return slices.Clone(m.order) }

// Seen tells whether the source has been heard: whether it has said its whole
// list (OpSet) once. Until then the absence of a pod means nothing. Deltas and
// RESTORE don't count.
func (m *Mux) Seen(source string) bool {
	s := m.sources[source]
	return s != nil && s.seen
}

// AllSeen tells whether every source has been heard. Without sources it is
// true.
func (m *Mux) AllSeen() bool {
	for _, s := range m.sources {
		if !s.seen {
			return false
		}
	}
	return true
}

// Len returns how many pods of the source are desired.
func (m *Mux) Len(source string) int {
	if s := m.sources[source]; s != nil {
		return len(s.pods)
	}
	return 0
}

// Merge takes one word of a source: OpSet, OpAdd, OpUpdate, OpRemove or
// OpRestore. Additions and updates are one: what is known is compared, what is
// not is added. OpRemove looks at UIDs alone. OpRestore adds what is not known,
// and says nothing once the source has been heard: its own word is newer.
//
// The list and the pods belong to the Mux from now on. Nil pods are passed
// over. Now is stamped on pods that are new.
func (m *Mux) Merge(source string, op Op, pods []*v1.Pod, now time.Time) (Merged, error) {
	s := m.sources[source]
	if s == nil {
		return Merged{}, fmt.Errorf("%w %q", ErrUnknownSource, source)
	}
	c := merge{mux: m, sourceState: s, now: now}
	switch op {
	case OpSet:
		c.set(pods)
	case OpAdd, OpUpdate:
		c.upsert(pods)
	case OpRemove:
		c.remove(pods)
	case OpRestore:
		c.restore(pods)
	default:
		return Merged{}, fmt.Errorf("%w %q from source %s", ErrUnknownOp, op, source)
	}
	return c.result(), nil
}
