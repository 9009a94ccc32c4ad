package syncloop

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/internal/repeat"
)

// eventGate lets an event through when its reason is new for the pod or its
// message has changed, and what stays the same at a falling rate: what fails
// every ten seconds for days is not news each time.
type eventGate struct {
	mu   sync.Mutex
	pods map[types.UID]map[string]*lastEvent
}

type lastEvent struct {
	message string
	beat    repeat.Beat
}

var eventPace = repeat.Pace{First: time.Minute, Last: time.Hour}

func (g *eventGate) pass(uid types.UID, reason, message string, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pods == nil {
		g.pods = map[types.UID]map[string]*lastEvent{}
	}
	reasons := g.pods[uid]
	if reasons == nil {
		reasons = map[string]*lastEvent{}
		g.pods[uid] = reasons
	}
	last := reasons[reason]
	if last == nil || last.message != message {
		last = &lastEvent{message: message}
		reasons[reason] = last
	}
	return eventPace.Pass(&last.beat, now)
}

func (g *eventGate) forget(uid types.UID) {
	g.mu.Lock()
	delete(g.pods, uid)
	g.mu.Unlock()
}

// event tells users something about a pod. Workers call it too.
func (l *SyncLoop) event(pod *v1.Pod, eventtype, reason, message string) {
	if l.cfg.Events != nil && pod != nil && l.gate.pass(pod.UID, reason, message, time.Now()) {
		l.cfg.Events.Eventf(pod, eventtype, reason, "%s", message)
	}
}
