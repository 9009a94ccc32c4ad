package main

import (
	"fmt"
	"net/http"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime/process"
	"github.com/kubeparts/kubeparts/syncloop"
)

// instance is the newest one of a container, for people who know it by names.
type instance struct {
	pod    *syncloop.PodView
	status v1.ContainerStatus
	id     string // by which the runtime knows it
}

// container finds the container that a request names, or the only one.
func (c *control) container(r *http.Request) (*instance, error) {
	view, err := c.find(r.FormValue("pod"))
	if err != nil {
		return nil, err
	}
	if view.Status == nil {
		return nil, fmt.Errorf("pod %s has no containers yet", view.Name)
	}
	wanted := r.FormValue("container")
	var names []string
	for _, list := range [][]v1.ContainerStatus{view.Status.ContainerStatuses, view.Status.InitContainerStatuses} {
		for _, s := range list {
			names = append(names, s.Name)
			if wanted == s.Name || wanted == "" && len(view.Status.ContainerStatuses) == 1 {
				return newInstance(view, s)
			}
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("pod %s has no containers: see nodeagent explain", view.Name)
	}
	if wanted == "" {
		return nil, fmt.Errorf("pod %s has several containers, name one of %s", view.Name, strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("pod %s has no container %s, but %s", view.Name, wanted, strings.Join(names, ", "))
}

func newInstance(pod *syncloop.PodView, s v1.ContainerStatus) (*instance, error) {
	id := s.ContainerID
	if id == "" && s.LastTerminationState.Terminated != nil {
		id = s.LastTerminationState.Terminated.ContainerID
	}
	x := &instance{pod, s, strings.TrimPrefix(id, process.Name+"://")}
	if id == "" {
		return nil, fmt.Errorf("%s was never started", x)
	}
	return x, nil
}

func (x *instance) String() string {
	return fmt.Sprintf("container %s of pod %s/%s", x.status.Name, x.pod.Namespace, x.pod.Name)
}

// noExec is why no command could be run in the container, in the words of a person: the
// backend names it by its ID.
func (x *instance) noExec(err error) error {
	switch s := x.status.State; {
	case s.Terminated != nil:
		return fmt.Errorf("%s does not run: it exited with %d", x, s.Terminated.ExitCode)
	case s.Waiting != nil:
		return fmt.Errorf("%s does not run: it waits (%s)", x, s.Waiting.Reason)
	}
	return fmt.Errorf("%s: %s", x, strings.TrimPrefix(err.Error(), fmt.Sprintf("%s: exec in container %s: ", process.Name, x.id)))
}
