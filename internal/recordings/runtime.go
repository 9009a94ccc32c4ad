package recordings

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// Began is second 0 of every recording.
var Began = time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC)

// At is a second of a recording; 0 stands for no time.
func At(second int64) time.Time {
	if second == 0 {
		return time.Time{}
	}
	return Began.Add(time.Duration(second) * time.Second)
}

// Runtime is what a recording says of the sandboxes and containers of a pod.
type Runtime struct {
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
		SpecChanged  bool          `json:"spec_changed"`
	} `json:"containers"`
}

// Status is the same as a runtime of this library reports it: all containers are in
// the newest sandbox, if that is ready. They have no Hash.
func (r Runtime) Status(pod *v1.Pod) *runtime.PodStatus {
	s := &runtime.PodStatus{PodRef: runtime.RefOf(pod), IPs: r.IPs}
	for _, b := range r.Sandboxes {
		s.Sandboxes = append(s.Sandboxes, runtime.SandboxStatus{
			ID: b.ID, Attempt: b.Attempt, Ready: b.Ready, IPs: []string{b.IP},
			HostNetwork: b.HostNetwork, CreatedAt: At(b.CreatedAt),
		})
	}
	active := ""
	if len(r.Sandboxes) > 0 && r.Sandboxes[0].Ready {
		active = r.Sandboxes[0].ID
	}
	for _, c := range r.Containers {
		s.Containers = append(s.Containers, runtime.ContainerStatus{
			ID: c.ID, Name: c.Name, SandboxID: active, State: c.State,
			CreatedAt: At(c.CreatedAt), StartedAt: At(c.StartedAt), FinishedAt: At(c.FinishedAt),
			ExitCode: c.ExitCode, Reason: c.Reason, Message: c.Message,
			RestartCount: c.RestartCount, Image: c.Image, ImageRef: c.ImageRef,
		})
	}
	return s
}
