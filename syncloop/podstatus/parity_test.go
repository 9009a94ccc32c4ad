package podstatus_test

import (
	"cmp"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/internal/recordings"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// TestKubeletParity replays what a real kubelet said of pods. Each file gets one
// line, and each rule for differences by design (docs/differences.md) another.
func TestKubeletParity(t *testing.T) {
	t.Run("podphase", func(t *testing.T) { recordings.Replay(t, "podphase", replayPhase) })
	t.Run("podstatus", func(t *testing.T) { recordings.Replay(t, "podstatus", replayStatus) })
}

// recordedInput is what the loop would compute from.
func recordedInput(r recordings.Runtime, pod *v1.Pod, mode string, previous *v1.PodStatus) podstatus.Input {
	observed := r.Status(pod)
	return podstatus.Input{
		Pod:         pod,
		Previous:    previous,
		Observed:    observed,
		RuntimeName: "containerd",
		RestartAll:  runtime.RestartAllTriggered(pod, observed),
		Stopped:     mode == "terminated",
		Now:         recordings.Began.Add(time.Hour),
	}
}

// workers are the containers that have a probe.
func workers(pod *v1.Pod, probe func(*v1.Container) *v1.Probe) map[string]bool {
	names := map[string]bool{}
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			names[list[i].Name] = probe(&list[i]) != nil
		}
	}
	return names
}

func readinessProbe(c *v1.Container) *v1.Probe { return c.ReadinessProbe }
func startupProbe(c *v1.Container) *v1.Probe   { return c.StartupProbe }

type phaseAnswer struct {
	Phase       v1.PodPhase `json:"want_phase"`
	Ready       string      `json:"want_ready"`
	Initialized string      `json:"want_initialized"`
	Terminal    bool        `json:"want_terminal"`
}

func replayPhase(t *testing.T, line []byte) recordings.Answer {
	var c struct {
		ID      string             `json:"id"`
		Mode    string             `json:"mode"`
		Pod     *v1.Pod            `json:"pod"`
		Runtime recordings.Runtime `json:"runtime"`
		phaseAnswer
	}
	require.NoError(t, json.Unmarshal(line, &c))
	in := recordedInput(c.Runtime, c.Pod, c.Mode, nil)
	in.Readiness.Workers = workers(c.Pod, readinessProbe)
	in.Startup.Workers = workers(c.Pod, startupProbe)
	status, r := compute(in)
	got := phaseAnswer{
		Phase:       status.Phase,
		Ready:       condition(status, v1.PodReady),
		Initialized: condition(status, v1.PodInitialized),
		Terminal:    r.Terminal || in.Stopped,
	}
	return recordings.Answer{Got: got, Want: c.phaseAnswer, Agrees: got == c.phaseAnswer}
}

// compute returns the status that was computed also where it is refused: the
// recordings were taken before that.
func compute(in podstatus.Input) (*v1.PodStatus, podstatus.Result) {
	r := podstatus.ComputeUnguarded(in)
	return &r.Status, podstatus.Compute(in)
}

func condition(status *v1.PodStatus, t v1.PodConditionType) string {
	for _, c := range status.Conditions {
		if c.Type == t {
			return string(c.Status) + " " + c.Reason
		}
	}
	return ""
}

func replayStatus(t *testing.T, line []byte) recordings.Answer {
	var c struct {
		ID    string  `json:"id"`
		Pod   *v1.Pod `json:"pod"`
		Steps []struct {
			Mode      string                     `json:"mode"`
			Runtime   recordings.Runtime         `json:"runtime"`
			Readiness map[string]runtime.Verdict `json:"readiness_results"`
			Startup   map[string]runtime.Verdict `json:"startup_results"`
			Want      v1.PodStatus               `json:"want"`
			Terminal  bool                       `json:"want_terminal"`
		} `json:"steps"`
	}
	require.NoError(t, json.Unmarshal(line, &c))
	var previous *v1.PodStatus
	var rule string
	for _, step := range c.Steps {
		in := recordedInput(step.Runtime, c.Pod, step.Mode, previous)
		in.Readiness = podstatus.Probing{Workers: workers(c.Pod, readinessProbe), Results: step.Readiness}
		in.Startup = podstatus.Probing{Workers: workers(c.Pod, startupProbe), Results: step.Startup}
		said, r := compute(in)
		if !sameStatus(said, &step.Want) {
			var name string
			name, said = explain(&in, said, &step.Want)
			rule = cmp.Or(rule, name)
			_, r = compute(in)
		}
		terminal := podstatus.Terminal(said.Phase) || in.Stopped
		if !sameStatus(said, &step.Want) || terminal != step.Terminal {
			return recordings.Answer{Got: undated(said), Want: undated(&step.Want)}
		}
		if r.Illegal == nil {
			previous = said
		}
	}
	return recordings.Answer{Rule: rule, Agrees: rule == ""}
}

func sameStatus(a, b *v1.PodStatus) bool {
	return recordings.JSON(undated(a)) == recordings.JSON(undated(b))
}

// undated leaves out what the recordings leave out.
func undated(status *v1.PodStatus) *v1.PodStatus {
	s := status.DeepCopy()
	s.StartTime = nil
	s.ObservedGeneration = 0
	for i := range s.Conditions {
		s.Conditions[i].LastTransitionTime = metav1.Time{}
	}
	return s
}
