package probe

import (
	"hash/fnv"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/internal/repeat"
	"github.com/kubeparts/kubeparts/runtime"
)

// event is an event on its way to users.
type event struct {
	*runtime.Event
	object *v1.ObjectReference
}

// pace keeps the events of a probe from flooding users: what stays the same is
// repeated after 1, 2, 4 ... 60 minutes, and what keeps changing comes in a burst
// of ten and then every five minutes.
type pace struct {
	message uint64
	beat    repeat.Beat
	// tokens are left for messages that change, as of filled.
	tokens int32
	filled time.Time
}

var sameAgain = repeat.Pace{First: time.Minute, Last: time.Hour}

const (
	paceBurst  = 10
	paceRefill = 5 * time.Minute
)

func (p *pace) pass(message uint64, now time.Time) bool {
	if message == p.message && p.beat != (repeat.Beat{}) {
		return sameAgain.Pass(&p.beat, now)
	}
	if p.filled.IsZero() {
		p.tokens, p.filled = paceBurst, now
	}
	if n := int64(now.Sub(p.filled) / paceRefill); n > 0 {
		p.tokens = int32(min(int64(p.tokens)+n, paceBurst))
		p.filled = p.filled.Add(time.Duration(n) * paceRefill)
	}
	if p.tokens <= 0 {
		return false
	}
	p.tokens--
	p.message, p.beat = message, repeat.Beat{}
	return sameAgain.Pass(&p.beat, now)
}

// pace lets an event through, or not.
func (m *Manager) pace(e *entry, told *runtime.Event, now time.Time) *event {
	if m.cfg.Events == nil {
		return nil
	}
	if e.pace == nil {
		e.pace = new(pace)
	}
	h := fnv.New64a()
	h.Write([]byte(told.Reason))
	h.Write([]byte{0})
	h.Write([]byte(told.Message))
	if !e.pace.pass(h.Sum64(), now) {
		return nil
	}
	list := "spec.containers{"
	if e.of.init {
		list = "spec.initContainers{"
	}
	ref := e.of.pod.ref
	return &event{Event: told, object: &v1.ObjectReference{
		Kind: "Pod", APIVersion: "v1", Namespace: ref.Namespace, Name: ref.Name, UID: ref.UID,
		FieldPath: list + e.of.name + "}",
	}}
}
