package simtest

import (
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// podState is what the world knows of one pod: what the agent was told, what it
// said, and what runs.
type podState struct {
	types.UID
	pod    *v1.Pod
	source string
	static bool
	cpu    int64 // that it requests, in millicores
	// asked is all that it ever requested of it.
	asked []int64

	// wanted: the agent was told last that the pod is to run. deleting: that it
	// was marked for deletion. ending: that it is to end, at some time since
	// nothing was left of it.
	wanted, deleting, ending bool
	evicted                  bool
	// vanished: the runtime forgot it. forgotten: the store had nothing of it
	// when the agent ended.
	vanished, forgotten bool
	// mustStop: nothing of it is to run for longer than its grace since then.
	mustStop bool
	since    time.Time
	slack    time.Duration

	running   bool
	instances map[string]*instance
	// healths are what probes said, by instance; readies what the agent last
	// made of it, by container.
	healths map[string]*health
	readies map[string]readiness

	// said is the last update that the sink took. lives is how many new lives of
	// the pod may have begun since, to which what was said does not apply.
	said     *syncloop.StatusUpdate
	saidBy   *agent
	lives    int
	restarts map[string]int32
}

// instance is the newest instance of a container.
type instance struct {
	id, sandbox       string
	image             string
	running           bool
	started, finished time.Time
	// wait is how long its successor has to wait after its end.
	wait time.Duration
	// disturbed: the world laid hands on it. toStop: an agent had a reason when
	// it began to stop it, or will have one, for its postStart hook fails.
	disturbed, toStop bool
}

// know makes a pod known, or a new version of it.
func (w *world) know(pod *v1.Pod, source string) *podState {
	p := w.pods[pod.UID]
	if p == nil {
		p = &podState{UID: pod.UID, source: source, instances: map[string]*instance{}, restarts: map[string]int32{}, healths: map[string]*health{}, readies: map[string]readiness{}}
		w.pods[pod.UID] = p
		w.order = append(w.order, p)
	}
	p.pod, p.static, p.cpu = pod, source != podmanager.SourceAPI, milliCPU(pod)
	if n := len(p.asked); n == 0 || p.asked[n-1] != p.cpu {
		p.asked = append(p.asked, p.cpu)
	}
	return p
}

// disturbed notes that the world laid hands on containers; on all, if none is
// named.
func (p *podState) disturbed(names ...string) {
	for name, i := range p.instances {
		if len(names) == 0 || slices.Contains(names, name) {
			i.disturbed = true
		}
	}
}

// told takes note of what a source says to the agent.
func (w *world) told(s *source, r podmanager.Report) {
	named := map[types.UID]*v1.Pod{}
	for _, pod := range r.Pods {
		named[pod.UID] = pod
	}
	for _, p := range w.order {
		if p.source != s.name {
			continue
		}
		pod := named[p.UID]
		switch {
		case pod != nil && r.Op != podmanager.OpRemove:
			w.toldOf(p, pod)
		case pod != nil, r.Op == podmanager.OpSet && (p.wanted || p.running):
			if p.lives == 0 || p.wanted {
				p.lives++
			}
			p.wanted, p.ending = false, true
			w.mustStop(p)
		}
	}
	if r.Op == podmanager.OpSet {
		w.excuseAll() // strangers wait for it
	}
}

func (w *world) toldOf(p *podState, pod *v1.Pod) {
	p.pod = pod
	// It may be let in before the loop takes the shutdown, and stopped by that then.
	p.ending = p.ending || w.agent != nil && w.agent.shut.done != nil
	switch {
	case pod.DeletionTimestamp != nil:
		p.wanted = true
		if !p.deleting {
			p.deleting = true
			w.mustStop(p)
		}
	case !p.wanted:
		p.wanted = true
		p.mustStop = p.evicted && p.mustStop
	}
}

// mustStop has the pod end within its grace.
func (w *world) mustStop(p *podState) {
	p.mustStop, p.since = true, time.Now()
	p.slack = w.slack()
}

// slack is what an agent without trouble needs beside the grace: a round of
// housekeeping and, without hints, a list.
func (w *world) slack() time.Duration {
	slack := 2*time.Second + w.plan.pace.housekeeping + w.plan.pace.relist
	if w.plan.maxWorkers > 0 {
		slack += 5 * time.Minute // workers are busy with others
	}
	return slack
}

// trouble is how long a call that failed may hold things up.
const trouble = 25 * time.Second

// stopBy is when nothing of a pod that must stop may run any more.
func (p *podState) stopBy() time.Time { return p.since.Add(grace(p.pod) + p.slack) }

// hampered notes that a call about a pod, or about all, failed or took long.
func (w *world) hampered(uid types.UID) {
	if p := w.pods[uid]; p != nil && w.plan.maxWorkers == 0 {
		w.excuse(p)
		return
	}
	w.excuseAll()
}

// excuse gives a pod that must stop its time anew.
func (w *world) excuse(p *podState) {
	if p.mustStop {
		p.since, p.slack = time.Now(), w.slack()+trouble
	}
}

func (w *world) excuseAll() {
	for _, p := range w.order {
		w.excuse(p)
	}
}

// hadAgent and lostAgent are called when an agent starts, and after its end.
func (w *world) hadAgent() { w.excuseAll() }

// lostAgent forgets what an agent knew that the store does not.
func (w *world) lostAgent() {
	w.excuseAll()
	w.remembered(w.records())
}

// remembered follows that the next agent has these records.
func (w *world) remembered(records map[types.UID]syncloop.Record) {
	for _, p := range w.order {
		r, kept := records[p.UID]
		p.forgotten = !kept
		ended := kept && (r.Verdict != nil || r.Status != nil && podstatus.Terminal(r.Status.Phase))
		if p.evicted && !ended {
			p.mustStop = p.mustStop && (!p.wanted || p.deleting)
		}
		behind := p.said != nil && (!kept || r.Version < p.said.Version)
		if p.static && !ended && (behind || !kept) {
			p.lives = max(p.lives, 1)
		}
		if w.open != nil && behind {
			// It comes from the disk, where its status is not kept: nobody knows more of
			// it than the record until its source speaks.
			p.said = nil
			clear(p.restarts)
		}
	}
}

// removed follows the removal of all that the runtime kept of a pod.
func (w *world) removed(uid types.UID) {
	if p := w.pods[uid]; p != nil {
		p.ending, p.vanished = false, false
		clear(p.instances)
	}
}

// marks are the pods that changed in the runtime since the world looked. They
// are put in by whoever changes them.
type marks struct {
	mu    sync.Mutex
	uids  map[types.UID]bool
	wake  func()
	exact bool // they are all that changed
}

func newMarks() *marks { return &marks{uids: map[types.UID]bool{}} }

func (m *marks) add(uid types.UID) {
	if uid == "" {
		return // the watch has begun
	}
	m.mu.Lock()
	m.uids[uid] = true
	m.mu.Unlock()
	m.wake()
}

// take empties m, in order of UID.
func (m *marks) take() (uids []types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for uid := range m.uids {
		uids = append(uids, uid)
	}
	clear(m.uids)
	slices.Sort(uids)
	return uids
}

// changed are the pods to look at.
func (w *world) changed() []types.UID {
	uids := w.marks.take()
	if !w.marks.exact {
		uids = nil
		for _, p := range w.order {
			uids = append(uids, p.UID)
		}
	}
	return uids
}

// wait is the wait that follows a wait, for a container that fails.
func nextWait(wait time.Duration) time.Duration {
	if wait == 0 {
		return 10 * time.Second
	}
	return min(2*wait, 5*time.Minute)
}

// deadlinePassed tells whether the pod has outlived its active deadline.
func (w *world) deadlinePassed(p *podState) bool {
	status := w.status(p)
	if p.pod.Spec.ActiveDeadlineSeconds == nil || status == nil {
		return false
	}
	at, ok := podstatus.Deadline(p.pod, status)
	return ok && !time.Now().Before(at)
}

// regularRuns tells whether a regular container of the pod runs.
func regularRuns(pod *v1.Pod, st *runtime.PodStatus) bool {
	for i := range st.Containers {
		if c := &st.Containers[i]; c.State == runtime.StateRunning && regular(pod, c.Name) {
			return true
		}
	}
	return false
}
