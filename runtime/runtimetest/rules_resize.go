package runtimetest

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeparts/kubeparts/internal/conformance"
	"github.com/kubeparts/kubeparts/runtime"
)

// someCPU are resources of a container.
func someCPU(milli int64) v1.ResourceRequirements {
	return v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(milli, resource.DecimalSI)}}
}

// hasCPU tells whether the resources are those; nil may be any.
func hasCPU(r *v1.ResourceRequirements, milli int64) error {
	if r == nil || r.Requests.Cpu().MilliValue() == milli {
		return nil
	}
	return fmt.Errorf("it has %s of cpu, want %dm", r.Requests.Cpu(), milli)
}

func runtimeResize(c *runtimeCase) error {
	if r, ok := c.Runtime.(runtime.Resizer); !ok || !r.CanResize() {
		return conformance.Skip("it can't resize")
	}
	if err := c.Programs.RunsForever.missing("runs"); err != nil {
		return err
	}
	container := c.Programs.RunsForever.container("main")
	container.Resources = someCPU(100)
	pod := c.pod(v1.RestartPolicyAlways, container)
	before, err := c.drive(pod, "main to run", inState(runtime.StateRunning, "main"))
	if err != nil {
		return err
	}
	for _, milli := range []int64{200, 50} {
		pod = pod.DeepCopy()
		pod.Spec.Containers[0].Resources = someCPU(milli)
		if _, err := c.sync(pod); err != nil {
			return err
		}
		res, err := c.sync(pod)
		if err != nil {
			return err
		}
		if res.Acted {
			return errors.New("a pass after a resize acted")
		}
		st, err := c.PodStatus(c.ctx, pod.UID)
		if err != nil {
			return err
		}
		main := st.Container("main")
		if main.State != runtime.StateRunning || main.ID != before.Container("main").ID {
			return fmt.Errorf("after a resize its containers are %s, want the one that ran", describe(st))
		}
		if err := hasCPU(main.Resources, milli); err != nil {
			return err
		}
	}
	return nil
}

func containerResize(c *backendCase) error {
	r, ok := c.Backend.(runtime.ContainerResizer)
	if !ok {
		return conformance.Skip("it is no ContainerResizer")
	}
	_, id, err := c.started(c.Programs.RunsForever, "runs")
	if err != nil {
		return err
	}
	if err := r.ResizeContainer(c.ctx, id, someCPU(200)); err != nil {
		return err
	}
	st, err := c.ContainerStatus(c.ctx, id)
	if err != nil {
		return err
	}
	return errors.Join(c.running(id), hasCPU(st.Resources, 200))
}
