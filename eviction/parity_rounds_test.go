package eviction_test

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/eviction"
	"github.com/kubeparts/kubeparts/internal/recordings"
)

// evictionCase is one line of eviction.jsonl.
type evictionCase struct {
	Config       recordedSettings
	Pods         []*v1.Pod
	Rounds       []recordedRound
	Want         []recordedOutcome
	Alternatives [][]recordedOutcome
}

type recordedRound struct {
	At                int64
	Summary           *eviction.Summary
	SummaryAfter      *eviction.Summary `json:"summary_after_reclaim"`
	SummaryError      string            `json:"summary_error"`
	SummaryAfterError string            `json:"summary_after_reclaim_error"`
	KillError         string            `json:"kill_error"`
	Gone              []types.UID
}

type recordedOutcome struct {
	MemoryPressure bool              `json:"memory_pressure"`
	DiskPressure   bool              `json:"disk_pressure"`
	PIDPressure    bool              `json:"pid_pressure"`
	NodeEvents     []string          `json:"node_events,omitempty"`
	ReclaimCalls   []string          `json:"reclaim_calls,omitempty"`
	Rank           []string          `json:"rank,omitempty"`
	Evicted        []recordedEvicted `json:"evicted,omitempty"`
}

type recordedEvicted struct {
	Name             string              `json:"name"`
	UID              types.UID           `json:"uid"`
	Override         *int64              `json:"grace_period_override,omitempty"`
	Phase            string              `json:"phase"`
	StatusReason     string              `json:"status_reason"`
	StatusMessage    string              `json:"status_message"`
	DisruptionTarget *recordedDisruption `json:"disruption_target,omitempty"`
	Annotations      map[string]string   `json:"event_annotations,omitempty"`
}

type recordedDisruption struct {
	Status             v1.ConditionStatus `json:"status"`
	Reason             string             `json:"reason"`
	Message            string             `json:"message"`
	ObservedGeneration int64              `json:"observed_generation,omitempty"`
}

// answer replays all rounds of a case. Where they went otherwise, what the
// library does on purpose is undone, one thing at a time.
func (c evictionCase) answer() recordings.Answer {
	got := c.play(quirks{})
	if c.wanted(got) {
		return recordings.Answer{Agrees: true}
	}
	for _, d := range differences {
		if d.holds(c) {
			return recordings.Answer{Rule: d.name}
		}
	}
	return recordings.Answer{Got: got}
}

// difference is a rule by which rounds may go otherwise than recorded.
type difference struct {
	name  string
	holds func(c evictionCase) bool
}

var differences = []difference{
	// The event that tells that nobody may go is the library's own.
	{"nobody-to-evict-is-told", func(c evictionCase) bool { return c.goesWith(quirks{}) }},
	// Derived thresholds hold from the first round on.
	{"containerfs-from-the-first-round", func(c evictionCase) bool {
		return c.derives() && (c.goesWith(quirks{lateContainerFs: true}) || c.goesWith(quirks{lateContainerFs: true, lastMemoryFirst: true}))
	}},
	// Of several memory thresholds the hard one decides on grace and message.
	{"hard-memory-before-soft", func(c evictionCase) bool { return c.goesWith(quirks{lastMemoryFirst: true}) }},
}

// quirks are things that the kubelet does and the library does not.
type quirks struct {
	// lateContainerFs: thresholds of the containers' file system are derived in
	// the first round and used from the second on.
	lateContainerFs bool
	// lastMemoryFirst: of several memory thresholds the last one decides on
	// grace and message, not the first.
	lastMemoryFirst bool
}

// goesWith tells whether the rounds go as recorded with these quirks, but for
// the event that tells that nobody may go.
func (c evictionCase) goesWith(q quirks) bool { return c.wanted(withoutStuck(c.play(q))) }

// wanted tells whether the rounds went as recorded, in any of the recorded ways.
func (c evictionCase) wanted(got []recordedOutcome) bool {
	return slices.ContainsFunc(append(c.Alternatives, c.Want), func(want []recordedOutcome) bool {
		return recordings.JSON(withoutSameRank(want, want)) == recordings.JSON(withoutSameRank(got, want))
	})
}

// withoutSameRank drops the ranks of rounds in which the recording has none.
func withoutSameRank(rounds, want []recordedOutcome) []recordedOutcome {
	rounds = slices.Clone(rounds)
	for i := range rounds {
		if i < len(want) && want[i].Rank == nil && len(want[i].Evicted) == 0 {
			rounds[i].Rank = nil
		}
	}
	return rounds
}

// withoutStuck drops the event that tells that nobody may go.
func withoutStuck(rounds []recordedOutcome) []recordedOutcome {
	rounds = slices.Clone(rounds)
	for i := range rounds {
		rounds[i].NodeEvents = slices.DeleteFunc(slices.Clone(rounds[i].NodeEvents), isStuck)
	}
	return rounds
}

func isStuck(event string) bool { return strings.HasPrefix(event, "Warning NoPodToEvict ") }

// derives tells whether the configuration has thresholds of the containers'
// file system, given or derived.
func (c evictionCase) derives() bool {
	thresholds, _ := c.Config.settings().Thresholds()
	derived, given := eviction.ContainerFsThresholds(thresholds, c.Config.layout())
	return len(derived) > len(thresholds) || len(given) > 0
}

// play carries out the rounds.
func (c evictionCase) play(q quirks) (outcomes []recordedOutcome) {
	thresholds, _ := c.Config.settings().Thresholds()
	if q.lastMemoryFirst {
		thresholds = memoryReversed(thresholds)
	}
	policy := eviction.Policy{
		TransitionPeriod:   time.Duration(c.Config.Transition) * time.Second,
		MaxPodGracePeriod:  time.Duration(c.Config.MaxGrace) * time.Second,
		Layout:             c.Config.layout(),
		LocalStorageLimits: c.Config.LocalStorage,
	}
	policy.Thresholds, _ = eviction.ContainerFsThresholds(thresholds, policy.Layout)
	first := policy
	if q.lateContainerFs {
		first.Thresholds = thresholds
	}
	node := &replayedNode{pods: eviction.PodsOf(c.Pods...), stay: c.Config.EvictedStay}
	for i, r := range c.Rounds {
		if i == 0 {
			outcomes = append(outcomes, node.round(first, policy, r))
		} else {
			outcomes = append(outcomes, node.round(policy, policy, r))
		}
	}
	return outcomes
}

// memoryReversed turns the order of the memory thresholds.
func memoryReversed(thresholds []eviction.Threshold) []eviction.Threshold {
	var memory, others []eviction.Threshold
	for _, t := range thresholds {
		if t.Signal.Condition() == v1.NodeMemoryPressure {
			memory = append(memory, t)
		} else {
			others = append(others, t)
		}
	}
	slices.Reverse(memory)
	return append(memory, others...)
}

// replayedNode is what a case's rounds act upon.
type replayedNode struct {
	pods  *eviction.Pods
	state eviction.State
	stay  bool
}

func (n *replayedNode) round(policy, later eviction.Policy, r recordedRound) (o recordedOutcome) {
	for _, uid := range r.Gone {
		n.pods.Remove(uid)
	}
	defer func() { o.conditions(n.state.Conditions) }()
	if r.SummaryError != "" {
		return o
	}
	n.pods.MeasureAll(r.Summary.Pods)
	in := eviction.Input{
		Policy: policy, Observations: eviction.Observe(&r.Summary.Node), Pods: n.pods,
		State: n.state, Now: at(r.At),
	}
	out := eviction.Evaluate(in)
	n.state = out.State
	for _, e := range out.Events {
		o.NodeEvents = append(o.NodeEvents, strings.Join([]string{e.Type, e.Reason, e.Message}, " "))
	}
	for _, v := range out.Over {
		o.Evicted = append(o.Evicted, n.evict(v, r))
	}
	if len(out.Over) > 0 || out.Short == "" {
		return o
	}
	for _, what := range out.Reclaim {
		o.ReclaimCalls = append(o.ReclaimCalls, string(what))
	}
	in.Policy = later
	judged := eviction.Evaluate(in)
	if len(out.Reclaim) > 0 && r.SummaryAfterError == "" && judged.Relieved(eviction.Observe(&r.after().Node)) {
		return o
	}
	for _, p := range out.Ranking() {
		o.Rank = append(o.Rank, p.Pod.Name)
	}
	if out.Victim != nil {
		o.Evicted = append(o.Evicted, n.evict(*out.Victim, r))
	}
	return o
}

func (r recordedRound) after() *eviction.Summary {
	if r.SummaryAfter != nil {
		return r.SummaryAfter
	}
	return r.Summary
}

func (n *replayedNode) evict(v eviction.Victim, r recordedRound) recordedEvicted {
	if r.KillError == "" && !n.stay {
		n.pods.Remove(v.Pod.UID)
	}
	e := recordedEvicted{
		Name: v.Pod.Name, UID: v.Pod.UID, Phase: "Failed", StatusReason: eviction.Reason,
		StatusMessage: v.Message, Annotations: v.Annotations,
	}
	if v.Override != nil {
		e.Override = new(int64(*v.Override / time.Second))
	}
	if v.Disruption != "" {
		e.DisruptionTarget = &recordedDisruption{v1.ConditionTrue, v1.PodReasonTerminationByKubelet, v.Disruption, v.Pod.Generation}
	}
	return e
}

func (o *recordedOutcome) conditions(conditions []v1.NodeConditionType) {
	o.MemoryPressure = slices.Contains(conditions, v1.NodeMemoryPressure)
	o.DiskPressure = slices.Contains(conditions, v1.NodeDiskPressure)
	o.PIDPressure = slices.Contains(conditions, v1.NodePIDPressure)
}

// at is a time in a recording: seconds after it began.
func at(seconds int64) time.Time {
	return recordings.Began.Add(time.Duration(seconds) * time.Second)
}
