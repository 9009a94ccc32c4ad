package probe

import (
	"cmp"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/internal/recordings"
	"github.com/kubeparts/kubeparts/runtime"
)

type workerTick struct {
	NoStatus    bool           `json:"no_status"`
	Phase       v1.PodPhase    `json:"phase"`
	NoContainer bool           `json:"no_container"`
	ContainerID string         `json:"container_id"`
	State       string         `json:"state"`
	ExitCode    int32          `json:"exit_code"`
	StartedAgo  int            `json:"started_ago_seconds"`
	Started     *bool          `json:"started"`
	Exec        []recordedExec `json:"exec"`
	Want        workerAnswer   `json:"want"`
}

type workerAnswer struct {
	Runs    int      `json:"runs"`
	Results []string `json:"results,omitempty"`
	Removed []string `json:"removed,omitempty"`
	Events  []string `json:"events,omitempty"`
	Stopped bool     `json:"stopped,omitempty"`
}

type workerCase struct {
	ID    string       `json:"id"`
	Type  Kind         `json:"type"`
	Pod   v1.Pod       `json:"pod"`
	Ticks []workerTick `json:"ticks"`
}

// without keeps differences by design out of a replay.
type without struct{ streak, errors, started bool }

// difference is a rule by which the library differs from the kubelet's workers.
type difference struct {
	rule    string
	without func(*without)
}

var differences = []difference{
	// The kubelet hands the streak on to the next instance.
	{"the streak ends with its instance", func(w *without) { w.streak = true }},
	// The kubelet drops errors.
	{"a startup probe that errs comes to an end", func(w *without) { w.errors = true }},
	// The kubelet goes by the age of the container, and publishes nothing or
	// Unknown for all but old sidecars.
	{"what has started stays started", func(w *without) { w.started = true }},
}

// replayWorker puts what a worker saw through the pod form into a Tracker, and
// writes down what the kubelet's worker says for what comes out. What the library
// leaves implicit, the initial value of an instance, is added as the kubelet has
// it. A case falls under a rule if the answer is the kubelet's once that
// difference is kept out.
func replayWorker(t *testing.T, line []byte) recordings.Answer {
	var c workerCase
	require.NoError(t, json.Unmarshal(line, &c))
	var want []workerAnswer
	for _, tick := range c.Ticks {
		want = append(want, tick.Want)
	}
	got := c.replay(t, without{})
	o := recordings.Compare(want, got)
	if o.Agrees {
		return o
	}
	// Single differences first, then several together.
	sets := []int{1, 2, 4, 3, 5, 6, 7}
	for _, set := range sets {
		var out without
		name := ""
		for i, d := range differences {
			if set&(1<<i) != 0 {
				d.without(&out)
				name = cmp.Or(name, d.rule)
			}
		}
		if recordings.JSON(c.replay(t, out)) == recordings.JSON(want) {
			o.Rule = name
			return o
		}
	}
	return o
}

func (c *workerCase) replay(t *testing.T, without without) []workerAnswer {
	probe := PodContainers(&c.Pod, nil)[0].Probes[0]
	w := &replayedWorker{
		pod: &c.Pod, sidecar: len(c.Pod.Spec.InitContainers) > 0, probe: probe, without: without,
		tracker: NewTracker(c.Type, probe.Settings, 0),
	}
	var answers []workerAnswer
	for i, tick := range c.Ticks {
		w.now = recordings.Began.Add(time.Duration(i) * time.Second)
		w.answer = workerAnswer{}
		if !tick.NoStatus {
			w.look(tick)
			w.attempt(t, tick)
		}
		answers = append(answers, w.answer)
	}
	return answers
}

type replayedWorker struct {
	pod     *v1.Pod
	sidecar bool
	probe   Probe
	without without
	tracker Tracker
	now     time.Time
	answer  workerAnswer
	// stored: something was published of the instance.
	stored bool
}

func (w *replayedWorker) look(tick workerTick) {
	before := w.tracker
	found := PodContainers(w.pod, tick.status(w.now))
	state := found[slices.IndexFunc(found, func(c Container) bool { return c.Name == "c" })].State
	step := w.tracker.Look(w.now, state)
	id := w.tracker.ContainerID()
	if id != before.ContainerID() {
		w.forget(before.ContainerID())
		seeded := w.probe.Kind == Startup && w.sidecar && state.Started
		if w.without.started {
			if seeded {
				w.publish(runtime.VerdictSuccess)
			}
			step.Published = step.Published && !step.Changed
			w.tracker.verdict, w.tracker.said = before.initial(), before.initial()
		}
		if !state.Running || tick.StartedAgo < 3600 {
			initial := before.initial()
			w.publish(initial.verdict())
		}
		if w.without.streak {
			w.tracker.streak, w.tracker.good = before.streak, before.good
		}
	}
	if step.Published {
		w.publish(w.tracker.Verdict())
	}
	if w.tracker.Done() {
		w.answer.Stopped = true
		w.forget(id)
	}
}

func (w *replayedWorker) publish(v runtime.Verdict) {
	w.stored = true
	w.answer.Results = append(w.answer.Results, w.tracker.ContainerID()+"="+string(v))
}

func (w *replayedWorker) forget(id string) {
	if w.stored {
		w.answer.Removed = append(w.answer.Removed, id)
	}
	w.stored = false
}

// attempt probes if it is time.
func (w *replayedWorker) attempt(t *testing.T, tick workerTick) {
	due := w.tracker.Due()
	if due.IsZero() || due.After(w.now) {
		return
	}
	prober := &Exec{Execer: execer(func(streams runtime.ExecIO) (int, error) {
		run := tick.Exec[min(w.answer.Runs, len(tick.Exec)-1)]
		w.answer.Runs++
		if run.Kind == "timeout" {
			run.ErrorText = "slow"
		}
		if run.Kind == "error" {
			run.ErrorText = "no such container"
		}
		return run.run(streams)
	})}
	attempt := Try(t.Context(), prober, Target{Action: w.probe.Action}, 0)
	var step Step
	if w.without.errors && attempt.Err != nil {
		w.tracker.proceed(w.now)
		step.Event = w.tracker.event(attempt)
	} else {
		step = w.tracker.Record(w.now, attempt)
	}
	if step.Published {
		w.publish(w.tracker.Verdict())
	}
	if e := step.Event; e != nil {
		w.answer.Events = append(w.answer.Events, e.Type+" "+e.Reason+" "+e.Message)
	}
}

func (tick workerTick) status(now time.Time) *v1.PodStatus {
	s := &v1.PodStatus{Phase: tick.Phase}
	if tick.NoContainer {
		return s
	}
	c := v1.ContainerStatus{Name: "c", Started: tick.Started}
	if tick.ContainerID != "" {
		c.ContainerID = "test://" + tick.ContainerID
	}
	began := metav1.NewTime(now.Add(-time.Duration(tick.StartedAgo) * time.Second))
	switch tick.State {
	case "running":
		c.State.Running = &v1.ContainerStateRunning{StartedAt: began}
	case "terminated":
		c.State.Terminated = &v1.ContainerStateTerminated{ExitCode: tick.ExitCode, StartedAt: began}
	default:
		c.State.Waiting = &v1.ContainerStateWaiting{}
	}
	s.ContainerStatuses = []v1.ContainerStatus{c}
	return s
}
