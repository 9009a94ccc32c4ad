package synclooptest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/syncloop"
)

// Sink is a [syncloop.StatusSink] in memory that keeps the history of each pod.
// The zero value is ready. It is safe for concurrent use.
//
// It holds the loop to its promises: an update that is older than what it has,
// or that comes while another of the same pod is in flight, is noted in
// Violations.
type Sink struct {
	// Before, if set, is called before an update is taken. It may wait, and
	// refuses the update by returning an error. Set it before use.
	Before func(ctx context.Context, u syncloop.StatusUpdate) error

	mu         sync.Mutex
	history    map[types.UID][]syncloop.StatusUpdate
	inFlight   map[types.UID]bool
	calls      int
	floor      int // calls of earlier agents
	versions   map[types.UID]taken
	violations []string
}

// taken is a version that was taken, and by which call.
type taken struct {
	version uint64
	call    int
}

var _ syncloop.StatusSink = (*Sink)(nil)

// SetStatus implements [syncloop.StatusSink].
func (s *Sink) SetStatus(ctx context.Context, u syncloop.StatusUpdate) error {
	s.begin(u)
	var err error
	if s.Before != nil {
		err = s.Before(ctx, u)
	}
	s.end(u, err == nil)
	return err
}

func (s *Sink) begin(u syncloop.StatusUpdate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	uid := u.Pod.UID
	if s.inFlight[uid] {
		s.violate(u, "came while another was in flight")
	}
	if s.inFlight == nil {
		s.inFlight = map[types.UID]bool{}
	}
	s.inFlight[uid] = true
}

func (s *Sink) end(u syncloop.StatusUpdate, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	uid := u.Pod.UID
	s.inFlight[uid] = false
	if !ok {
		return
	}
	if last := s.versions[uid]; last.version >= u.Version && last.call > s.floor {
		s.violate(u, fmt.Sprintf("came after version %d", last.version))
	}
	if s.versions == nil {
		s.versions = map[types.UID]taken{}
	}
	s.versions[uid] = taken{u.Version, s.calls}
	if s.history == nil {
		s.history = map[types.UID][]syncloop.StatusUpdate{}
	}
	s.history[uid] = append(s.history[uid], u)
}

func (s *Sink) violate(u syncloop.StatusUpdate, how string) {
	s.violations = append(s.violations, fmt.Sprintf("pod %s: version %d %s", u.Pod.Name, u.Version, how))
}

func (s *Sink) last(uid types.UID) (syncloop.StatusUpdate, bool) {
	h := s.history[uid]
	if len(h) == 0 {
		return syncloop.StatusUpdate{}, false
	}
	return h[len(h)-1], true
}

// Restart says that another agent begins: without a store its versions begin
// anew. The history stays.
func (s *Sink) Restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.floor = s.calls
}

// Last returns the newest update of a pod.
func (s *Sink) Last(uid types.UID) (u syncloop.StatusUpdate, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last(uid)
}

// Status returns the newest status of a pod; an empty one if there is none.
func (s *Sink) Status(uid types.UID) v1.PodStatus {
	if u, ok := s.Last(uid); ok {
		return *u.Status
	}
	return v1.PodStatus{}
}

// History returns all updates of a pod that were taken, oldest first.
func (s *Sink) History(uid types.UID) []syncloop.StatusUpdate {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.history[uid])
}

// Phases returns the phases that a pod went through, each once in a row.
func (s *Sink) Phases(uid types.UID) []v1.PodPhase {
	var phases []v1.PodPhase
	for _, u := range s.History(uid) {
		phases = append(phases, u.Status.Phase)
	}
	return slices.Compact(phases)
}

// Calls returns how often the sink was called.
func (s *Sink) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// Violations returns what broke the contract of a sink's caller.
func (s *Sink) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}
