package podstatus_test

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// now is when everything happens in these tests.
var now = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// newPod makes a pod of containers c0, c1 ... and what the options add.
func newPod(options ...func(*v1.Pod)) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "uid", Generation: 1},
		Spec: v1.PodSpec{
			RestartPolicy: v1.RestartPolicyAlways,
			Containers:    []v1.Container{{Name: "c0", Image: "img"}},
		},
	}
	for _, o := range options {
		o(pod)
	}
	return pod
}

func policy(p v1.RestartPolicy) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.RestartPolicy = p }
}

func static(pod *v1.Pod) {
	pod.Annotations = map[string]string{"kubernetes.io/config.source": "file"}
}

func withC1(pod *v1.Pod) {
	pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: "c1", Image: "img"})
}

func withInit(pod *v1.Pod) {
	pod.Spec.InitContainers = append(pod.Spec.InitContainers, v1.Container{Name: "i0", Image: "img"})
}

func withSidecar(pod *v1.Pod) {
	pod.Spec.InitContainers = append(pod.Spec.InitContainers, v1.Container{
		Name: "s0", Image: "img", RestartPolicy: new(v1.ContainerRestartPolicyAlways),
	})
}

// restartAllOn gives container c0 a rule that restarts all on an exit code.
func restartAllOn(code int32) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.Containers[0].RestartPolicy = new(v1.ContainerRestartPolicyNever)
		pod.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{
			Action:    v1.ContainerRestartRuleActionRestartAllContainers,
			ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{code}},
		}}
	}
}

// running, exited, created and unknown make instances of containers; their IDs
// are their names, for one of each is enough here.
func running(name string) runtime.ContainerStatus {
	return runtime.ContainerStatus{ID: name, Name: name, SandboxID: "sb", State: runtime.StateRunning, StartedAt: now}
}

func exited(name string, code int32) runtime.ContainerStatus {
	return runtime.ContainerStatus{
		ID: name, Name: name, SandboxID: "sb", State: runtime.StateExited,
		ExitCode: code, Reason: "Error", StartedAt: now, FinishedAt: now,
	}
}

func created(name string) runtime.ContainerStatus {
	return runtime.ContainerStatus{ID: name, Name: name, SandboxID: "sb", State: runtime.StateCreated}
}

func unknown(name string) runtime.ContainerStatus {
	return runtime.ContainerStatus{ID: name, Name: name, SandboxID: "sb", State: runtime.StateUnknown}
}

// again is the next instance of a container.
func again(c runtime.ContainerStatus, id string, restarts int32) runtime.ContainerStatus {
	c.ID, c.RestartCount = id, restarts
	return c
}

// observed is a pod with a ready sandbox and these containers, newest first.
func observed(containers ...runtime.ContainerStatus) *runtime.PodStatus {
	return &runtime.PodStatus{
		IPs:        []string{"10.1.2.3"},
		Sandboxes:  []runtime.SandboxStatus{{ID: "sb", Ready: true, IPs: []string{"10.1.2.3"}}},
		Containers: containers,
	}
}

// input is a computation without anything said before.
func input(pod *v1.Pod, containers ...runtime.ContainerStatus) podstatus.Input {
	return podstatus.Input{Pod: pod, Observed: observed(containers...), RuntimeName: "fake", Now: now}
}

// after is a computation with what was said in an earlier one.
func after(r podstatus.Result, pod *v1.Pod, containers ...runtime.ContainerStatus) podstatus.Input {
	in := input(pod, containers...)
	in.Previous = &r.Status
	in.Verdict = r.Verdict
	return in
}

// full gives a condition as text: status, reason and message.
func full(status *v1.PodStatus, t v1.PodConditionType) string {
	for _, c := range status.Conditions {
		if c.Type == t {
			text := string(c.Status)
			for _, more := range []string{c.Reason, c.Message} {
				if more != "" {
					text += " " + more
				}
			}
			return text
		}
	}
	return ""
}
