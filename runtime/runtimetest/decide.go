package runtimetest

import (
	"github.com/kubeparts/kubeparts/runtime"
	v1 "k8s.io/api/core/v1"
)

func decide(in runtime.PlanInput) (a runtime.Actions) {
	pod, st := in.Pod, in.Status
	if pod.DeletionTimestamp != nil {
		return a
	}
	if st == nil || len(st.Sandboxes) == 0 {
		a.CreateSandbox = true
	} else if !st.Sandboxes[0].Ready {
		a.CreateSandbox, a.Attempt = true, st.Sandboxes[0].Attempt+1
	}
	inits := pod.Spec.InitContainers
	for i := range inits {
		c := &inits[i]
		s := st.Container(c.Name)
		if runtime.IsSidecar(c) {
			if s == nil || s.State != runtime.StateRunning {
				a.Init = append(a.Init, startOf(c, s))
			}
			continue
		}
		switch {
		case s == nil, s.State == runtime.StateCreated, s.State == runtime.StateExited && s.ExitCode != 0 && pod.Spec.RestartPolicy != v1.RestartPolicyNever:
			a.Init = append(a.Init, startOf(c, s))
			return a
		case s.State != runtime.StateExited || s.ExitCode != 0:
			return a
		}
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		s := st.Container(c.Name)
		if s == nil || s.State == runtime.StateCreated || s.State == runtime.StateExited && restarts(pod, s.ExitCode) {
			a.Containers = append(a.Containers, startOf(c, s))
		}
	}
	return a
}

func startOf(c *v1.Container, s *runtime.ContainerStatus) runtime.Start {
	if s == nil {
		return runtime.Start{Container: c}
	}
	return runtime.Start{Container: c, RestartCount: s.RestartCount + 1}
}

func restarts(pod *v1.Pod, code int32) bool {
	switch pod.Spec.RestartPolicy {
	case v1.RestartPolicyNever:
		return false
	case v1.RestartPolicyOnFailure:
		return code != 0
	}
	return true
}
