package main

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// seen is what a runtime observes of a pod, from words such as "main:running"
// and "setup:exited:0". The container that is named first is the newest.
func seen(words ...string) *runtime.PodStatus {
	status := &runtime.PodStatus{Sandboxes: []runtime.SandboxStatus{{ID: "s0", Ready: true}}}
	for i, word := range words {
		parts := strings.Split(word, ":")
		c := runtime.ContainerStatus{
			ID: parts[0] + "-0", Name: parts[0], SandboxID: "s0", State: runtime.State(parts[1]),
			CreatedAt: noon.Add(-time.Duration(i) * time.Second), StartedAt: noon.Add(-time.Duration(i) * time.Second),
		}
		if len(parts) > 2 {
			_, _ = fmt.Sscan(parts[2], &c.ExitCode)
			c.FinishedAt = noon
		}
		status.Containers = append(status.Containers, c)
	}
	return status
}

// showPhase prints phase, reason and message.
func showPhase(s *v1.PodStatus) string {
	text := string(s.Phase)
	if s.Reason != "" {
		text += ", " + s.Reason + ": " + s.Message
	}
	return text
}
