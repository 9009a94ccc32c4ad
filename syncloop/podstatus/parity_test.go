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

// recordedAt is second 0 of the recordings.
var recordedAt = time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC)

// TestKubeletParity replays what a real kubelet said of pods. Each file gets one
// line, and each rule for differences by design (docs/differences.md) another.
func TestKubeletParity(t *testing.T) {
	t.Run("podphase", func(t *testing.T) { recordings.Replay(t, "podphase", replayPhase) })
	t.Run("podstatus", func(t *testing.T) { recordings.Replay(t, "podstatus", replayStatus) })
	t.Run("qos", func(t *testing.T) { recordings.Replay(t, "qos", replayQOS) })
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// recordedRuntime is the state of the runtime in a recording.
type recordedRuntime struct {
	IPs       []string `json:"ips"`
	Sandboxes []struct {
		ID          string `json:"id"`
		Attempt     uint32 `json:"attempt"`
		Ready       bool   `json:"ready"`
		IP          string `json:"ip"`
		HostNetwork bool   `json:"host_network"`
		CreatedAt   int64  `json:"created_at"`
	} `json:"sandboxes"`
	Containers []struct {
		ID           string        `json:"id"`
		Name         string        `json:"name"`
		State        runtime.State `json:"state"`
		ExitCode     int32         `json:"exit_code"`
		Reason       string        `json:"reason"`
		Message      string        `json:"message"`
		RestartCount int32         `json:"restart_count"`
		CreatedAt    int64         `json:"created_at"`
		StartedAt    int64         `json:"started_at"`
		FinishedAt   int64         `json:"finished_at"`
		Image        string        `json:"image"`
		ImageRef     string        `json:"image_ref"`
	} `json:"containers"`
}

// status is the recorded state as a runtime of this library reports it.
func (r recordedRuntime) status(pod *v1.Pod) *runtime.PodStatus {
	s := &runtime.PodStatus{PodRef: runtime.RefOf(pod), IPs: r.IPs}
	for _, b := range r.Sandboxes {
		s.Sandboxes = append(s.Sandboxes, runtime.SandboxStatus{
			ID: b.ID, Attempt: b.Attempt, Ready: b.Ready, IPs: []string{b.IP},
			HostNetwork: b.HostNetwork, CreatedAt: second(b.CreatedAt),
		})
	}
	active := ""
	if len(r.Sandboxes) > 0 && r.Sandboxes[0].Ready {
		active = r.Sandboxes[0].ID
	}
	for _, c := range r.Containers {
		s.Containers = append(s.Containers, runtime.ContainerStatus{
			ID: c.ID, Name: c.Name, SandboxID: active, State: c.State,
			CreatedAt: second(c.CreatedAt), StartedAt: second(c.StartedAt), FinishedAt: second(c.FinishedAt),
			ExitCode: c.ExitCode, Reason: c.Reason, Message: c.Message,
			RestartCount: c.RestartCount, Image: c.Image, ImageRef: c.ImageRef,
		})
	}
	return s
}

func second(s int64) time.Time {
	if s == 0 {
		return time.Time{}
	}
	return recordedAt.Add(time.Duration(s) * time.Second)
}

// input is what the loop would compute from.
func (r recordedRuntime) input(pod *v1.Pod, mode string, previous *v1.PodStatus) podstatus.Input {
	observed := r.status(pod)
	return podstatus.Input{
		Pod:         pod,
		Previous:    previous,
		Observed:    observed,
		RuntimeName: "containerd",
		RestartAll:  runtime.RestartAllTriggered(pod, observed),
		Stopped:     mode == "terminated",
		Now:         recordedAt.Add(time.Hour),
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
		ID      string          `json:"id"`
		Mode    string          `json:"mode"`
		Pod     *v1.Pod         `json:"pod"`
		Runtime recordedRuntime `json:"runtime"`
		phaseAnswer
	}
	require.NoError(t, json.Unmarshal(line, &c))
	in := c.Runtime.input(c.Pod, c.Mode, nil)
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
			Runtime   recordedRuntime            `json:"runtime"`
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
		in := step.Runtime.input(c.Pod, step.Mode, previous)
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

func sameStatus(a, b *v1.PodStatus) bool { return asJSON(undated(a)) == asJSON(undated(b)) }

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

// replayQOS compares the classes; what else is in this recording is not asked of
// this package.
func replayQOS(t *testing.T, line []byte) recordings.Answer {
	type answer struct {
		Computed v1.PodQOSClass `json:"computed"`
		QOS      v1.PodQOSClass `json:"qos"`
	}
	var c struct {
		ID   string  `json:"id"`
		Pod  *v1.Pod `json:"pod"`
		Want answer  `json:"want"`
	}
	require.NoError(t, json.Unmarshal(line, &c))
	blank := c.Pod.DeepCopy()
	blank.Status = v1.PodStatus{}
	got := answer{Computed: podstatus.QOS(blank), QOS: podstatus.QOS(c.Pod)}
	return recordings.Answer{Got: got, Want: c.Want, Agrees: got == c.Want}
}
