package runtime_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/internal/recordings"
	"github.com/kubeparts/kubeparts/runtime"
)

// TestKubeletParity replays decisions that were recorded from the kubelet's
// computePodActions. KUBEPARTS_CORPUS names a folder of further recordings.
func TestKubeletParity(t *testing.T) {
	t.Run("podactions", func(t *testing.T) {
		recordings.Replay(t, "podactions", func(t *testing.T, line []byte) recordings.Answer {
			var c actionsCase
			require.NoError(t, json.Unmarshal(line, &c))
			return recordings.Compare(c.Want, c.got())
		})
	})
}

// actionsCase is one line of podactions.jsonl.
type actionsCase struct {
	ID       string                     `json:"id"`
	Pod      *v1.Pod                    `json:"pod"`
	Runtime  recordedStatus             `json:"runtime"`
	Liveness map[string]runtime.Verdict `json:"liveness_results"`
	Startup  map[string]runtime.Verdict `json:"startup_results"`
	All      bool                       `json:"restart_all_containers"`
	Want     recordedActions            `json:"want"`
}

type recordedStatus struct {
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
		ID           string `json:"id"`
		Name         string `json:"name"`
		State        string `json:"state"`
		ExitCode     int32  `json:"exit_code"`
		Reason       string `json:"reason"`
		Message      string `json:"message"`
		RestartCount int32  `json:"restart_count"`
		CreatedAt    int64  `json:"created_at"`
		StartedAt    int64  `json:"started_at"`
		FinishedAt   int64  `json:"finished_at"`
		Image        string `json:"image"`
		ImageRef     string `json:"image_ref"`
		SpecChanged  bool   `json:"spec_changed"`
	} `json:"containers"`
}

type recordedActions struct {
	KillPod       bool            `json:"kill_pod"`
	CreateSandbox bool            `json:"create_sandbox"`
	SandboxID     string          `json:"sandbox_id"`
	Attempt       uint32          `json:"attempt"`
	Init          []string        `json:"init_containers_to_start"`
	Containers    []string        `json:"containers_to_start"`
	Ephemeral     []string        `json:"ephemeral_containers_to_start"`
	Kill          []recordedKill  `json:"containers_to_kill"`
	Reset         []recordedReset `json:"containers_to_reset"`
}

type recordedKill struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Message string `json:"message"`
	Reason  string `json:"reason"`
}

type recordedReset struct {
	Name string `json:"name"`
	ID   string `json:"id"`
	Kill bool   `json:"kill"`
}

func (c actionsCase) got() recordedActions {
	a := runtime.Plan(runtime.PlanInput{
		Pod:        c.Pod,
		Status:     c.Runtime.status(c.Pod),
		Probes:     runtime.ProbeVerdicts{Liveness: c.Liveness, Startup: c.Startup},
		RestartAll: c.All,
		Now:        corpusTime(3600),
	})
	got := recordedActions{
		KillPod: a.KillPod, CreateSandbox: a.CreateSandbox, SandboxID: a.SandboxID, Attempt: a.Attempt,
		Init: names(a.Init), Containers: names(a.Containers), Ephemeral: names(a.Ephemeral),
		Kill: []recordedKill{}, Reset: []recordedReset{},
	}
	for _, k := range a.Kill {
		got.Kill = append(got.Kill, recordedKill{k.ID, k.Name, k.Message, string(k.Reason)})
	}
	for _, r := range a.Reset {
		got.Reset = append(got.Reset, recordedReset{r.Name, r.ID, r.Kill})
	}
	return got
}

func (r recordedStatus) status(pod *v1.Pod) *runtime.PodStatus {
	status := &runtime.PodStatus{PodRef: runtime.RefOf(pod), IPs: r.IPs}
	for _, s := range r.Sandboxes {
		status.Sandboxes = append(status.Sandboxes, runtime.SandboxStatus{
			ID: s.ID, Attempt: s.Attempt, Ready: s.Ready, IPs: []string{s.IP},
			HostNetwork: s.HostNetwork, CreatedAt: corpusTime(s.CreatedAt),
		})
	}
	for _, c := range r.Containers {
		hash := specHash(pod, c.Name)
		if c.SpecChanged {
			hash++
		}
		status.Containers = append(status.Containers, runtime.ContainerStatus{
			ID: c.ID, Name: c.Name, State: runtime.State(c.State), Hash: hash,
			ExitCode: c.ExitCode, Reason: c.Reason, Message: c.Message, RestartCount: c.RestartCount,
			CreatedAt: corpusTime(c.CreatedAt), StartedAt: corpusTime(c.StartedAt), FinishedAt: corpusTime(c.FinishedAt),
			Image: c.Image, ImageRef: c.ImageRef,
		})
	}
	return status
}

// specHash is the hash of the named container of the pod, of whichever kind.
func specHash(pod *v1.Pod, name string) uint64 {
	for _, cs := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range cs {
			if cs[i].Name == name {
				return runtime.ContainerHash(&cs[i])
			}
		}
	}
	return 0
}

// corpusTime is a time in a recording: seconds after its base, 0 for no time.
func corpusTime(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC).Add(time.Duration(seconds) * time.Second)
}

func names(starts []runtime.Start) []string {
	names := []string{}
	for _, s := range starts {
		names = append(names, s.Container.Name)
	}
	return names
}
