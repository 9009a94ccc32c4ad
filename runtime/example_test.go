package runtime_test

import (
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

var t0 = time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC)

func webPod() *v1.Pod {
	always := v1.ContainerRestartPolicyAlways
	pod := &v1.Pod{}
	pod.UID, pod.Namespace, pod.Name = "0d9f", "default", "web"
	pod.Spec.InitContainers = []v1.Container{
		{Name: "setup", Image: "setup:1"},
		{Name: "proxy", Image: "proxy:1", RestartPolicy: &always},
	}
	pod.Spec.Containers = []v1.Container{{Name: "server", Image: "server:1"}}
	return pod
}

// What would be done for a pod in this state, now? No runtime is needed to ask.
func Example() {
	pod := webPod()
	status := &runtime.PodStatus{
		PodRef:    runtime.RefOf(pod),
		Sandboxes: []runtime.SandboxStatus{{ID: "s1", Ready: true, IPs: []string{"10.0.0.7"}}},
		Containers: []runtime.ContainerStatus{
			{ID: "c3", Name: "server", State: runtime.StateExited, ExitCode: 1, RestartCount: 2,
				CreatedAt: t0, StartedAt: t0, FinishedAt: t0.Add(time.Second)},
			{ID: "c2", Name: "proxy", State: runtime.StateRunning},
			{ID: "c1", Name: "setup", State: runtime.StateExited},
		},
	}
	actions := runtime.Plan(runtime.PlanInput{Pod: pod, Status: status, Now: t0.Add(2 * time.Second)})
	for _, start := range actions.Containers {
		fmt.Println(start.Container.Name, start.Reason)
		fmt.Println(start.Message)
	}
	fmt.Println("come back at", actions.RetryAt.Format(time.TimeOnly))
	// Output:
	// server CrashLoopBackOff
	// back-off 20s restarting failed container=server pod=web_default(0d9f)
	// come back at 03:00:21
}

// A new pod is planned pass by pass: each one needs a new status.
func ExamplePlan() {
	pod := webPod()
	status := &runtime.PodStatus{PodRef: runtime.RefOf(pod)}
	var backoff runtime.Backoff
	for pass := range 3 {
		a := runtime.Plan(runtime.PlanInput{Pod: pod, Status: status, Backoff: backoff, Now: t0})
		backoff = a.Backoff
		if a.CreateSandbox {
			fmt.Println("create sandbox", a.Attempt)
			status.Sandboxes = []runtime.SandboxStatus{{ID: "s", Ready: true}}
		}
		for _, starts := range [][]runtime.Start{a.Init, a.Containers} {
			for _, start := range starts {
				fmt.Println("start", start.Container.Name)
				backoff = backoff.Started(start, t0)
				instance := runtime.ContainerStatus{
					ID: start.Container.Name, Name: start.Container.Name, State: runtime.StateRunning,
					CreatedAt: t0.Add(time.Duration(pass) * time.Second),
				}
				if instance.Name == "setup" {
					instance.State = runtime.StateExited // it did its work
				}
				status.Containers = append(status.Containers, instance)
			}
		}
		status.Sort()
	}
	// Output:
	// create sandbox 0
	// start setup
	// start proxy
	// start server
}

func ExampleStopOrder() {
	pod := webPod()
	status := &runtime.PodStatus{Containers: []runtime.ContainerStatus{
		{ID: "c3", Name: "server", State: runtime.StateRunning},
		{ID: "c2", Name: "proxy", State: runtime.StateRunning},
		{ID: "c1", Name: "setup", State: runtime.StateExited},
	}}
	for _, stop := range runtime.StopOrder(pod, status, 30*time.Second) {
		fmt.Println(stop.Name, stop.Grace, "after", stop.After)
	}
	// Output:
	// server 30s after []
	// proxy 30s after [c3]
}

func ExampleDecideImage() {
	container := &v1.Container{Name: "server", Image: "server:1", ImagePullPolicy: v1.PullIfNotPresent}
	var backoff runtime.PullBackoff
	decide := func(now time.Time) {
		d := runtime.DecideImage(runtime.ImageInput{Container: container, Backoff: backoff, Now: now})
		fmt.Printf("%s: %q %q\n", d.Action, d.Reason, d.Message)
	}
	decide(t0)
	backoff = backoff.Failed(container.Image, errors.New("no route to host"), t0)
	decide(t0.Add(time.Second))
	decide(t0.Add(10 * time.Second))
	// Output:
	// pull: "" ""
	// wait: "ImagePullBackOff" "Back-off pulling image \"server:1\": ErrImagePull: no route to host"
	// pull: "" ""
}

func ExampleExpand() {
	vars := map[string]string{"HOST": "localhost", "PORT": "8080"}
	lookup := func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
	fmt.Println(runtime.Expand("http://$(HOST):$(PORT)/$(PATH)", lookup))
	fmt.Println(runtime.Expand("$$(HOST) costs 5$", lookup))
	// Output:
	// http://localhost:8080/$(PATH)
	// $(HOST) costs 5$
}

func ExampleContainerHash() {
	fmt.Printf("%x\n", runtime.ContainerHash(&v1.Container{Name: "test_container", Image: "foo/image:v1"}))
	// Output: 8e45cbd0
}

func ExampleRestartAfterExit() {
	onFailure := v1.ContainerRestartPolicyOnFailure
	pod := webPod()
	job := &v1.Container{Name: "job", RestartPolicy: &onFailure}
	fmt.Println(runtime.RestartAfterExit(pod, job, 0), runtime.RestartAfterExit(pod, job, 1))
	// Output: false true
}
