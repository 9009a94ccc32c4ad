package syncloop

import (
	"slices"
	"time"

	"github.com/kubeparts/kubeparts/admission"
)

const (
	// slowRead is how long a read of the node that fails may hold up the loop
	// without consequences.
	slowRead = time.Second
	// awayFor is for how many times as long the node is left alone then.
	awayFor = 9
)

// away is a node that could not be read for long. The loop waits for each read,
// so that it would do little else if all who wait asked for one.
type away struct {
	verdict admission.Verdict
	until   time.Time
}

// nodeAway tells whether the node is left alone, and the verdict about all meanwhile.
func (l *SyncLoop) nodeAway() (admission.Verdict, bool) {
	return l.away.verdict, time.Now().Before(l.away.until)
}

// noteNode takes note of a read of the node that failed, and how long it took.
func (l *SyncLoop) noteNode(verdicts []admission.CheckVerdict, began time.Time) {
	i := slices.IndexFunc(verdicts, func(v admission.CheckVerdict) bool { return v.Reason == admission.ReasonInvalidNodeInfo })
	if took := time.Since(began); i >= 0 && took > slowRead {
		l.away = away{verdicts[i].Verdict, time.Now().Add(awayFor * took)}
	}
}

// NodeChanged says that what Admission.Nodes answers has changed: the node grew,
// say, or lost a taint. Pods that wait to be let in are asked for again within a
// second, and resizes that wait are tried; without it both happen at their own
// times, for resizes every 3 minutes. What runs is not judged again. It does not
// block, may be called from any goroutine, and costs nothing while nobody waits.
func (l *SyncLoop) NodeChanged() {
	if l.nodeChanged.Swap(true) {
		return // the loop has not heard of the last time yet
	}
	l.inbox.post(func() {
		l.nodeChanged.Store(false)
		l.away = away{}
		l.resizes.WakeAll()
		l.askAgain()
	})
}
