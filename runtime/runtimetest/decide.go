package runtimetest

import (
	"github.com/kubeparts/kubeparts/runtime"
	v1 "k8s.io/api/core/v1"
)

type decision struct {
	newSandbox bool
	start      []start
}

type start struct {
	*v1.Container
	init  bool
	order int
}

func decide(pod *v1.Pod, st *runtime.PodStatus) (d decision) {
	if pod.DeletionTimestamp != nil {
		return d
	}
	d.newSandbox = len(st.Sandboxes) == 0 || !st.Sandboxes[0].Ready
	inits := pod.Spec.InitContainers
	for i := range inits {
		c := &inits[i]
		s := st.Container(c.Name)
		if c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways {
			if s == nil || s.State != runtime.StateRunning {
				d.start = append(d.start, start{c, false, len(inits) - i})
			}
			continue
		}
		switch {
		case s == nil, s.State == runtime.StateCreated, s.State == runtime.StateExited && s.ExitCode != 0 && pod.Spec.RestartPolicy != v1.RestartPolicyNever:
			d.start = append(d.start, start{c, true, 0})
			return d
		case s.State != runtime.StateExited || s.ExitCode != 0:
			return d
		}
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		s := st.Container(c.Name)
		if s == nil || s.State == runtime.StateCreated || s.State == runtime.StateExited && restarts(pod, s.ExitCode) {
			d.start = append(d.start, start{c, false, 0})
		}
	}
	return d
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
