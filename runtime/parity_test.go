package runtime_test

import (
	"encoding/json"
	"testing"

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
	Runtime  recordings.Runtime         `json:"runtime"`
	Liveness map[string]runtime.Verdict `json:"liveness_results"`
	Startup  map[string]runtime.Verdict `json:"startup_results"`
	All      bool                       `json:"restart_all_containers"`
	Want     recordedActions            `json:"want"`
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
		Status:     c.status(),
		Probes:     runtime.ProbeVerdicts{Liveness: c.Liveness, Startup: c.Startup},
		RestartAll: c.All,
		Now:        recordings.At(3600),
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

// status has the hashes of the pod's spec, or others where that has changed.
func (c actionsCase) status() *runtime.PodStatus {
	status := c.Runtime.Status(c.Pod)
	for i, recorded := range c.Runtime.Containers {
		hash := specHash(c.Pod, recorded.Name)
		if recorded.SpecChanged {
			hash++
		}
		status.Containers[i].Hash = hash
	}
	return status
}

func names(starts []runtime.Start) []string {
	names := []string{}
	for _, s := range starts {
		names = append(names, s.Container.Name)
	}
	return names
}
