package runtime_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

var now = time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC)

// newPod makes a pod of containers named after their kind: i… is a plain init
// container, s… a sidecar, e… ephemeral, any other regular. Options change it.
func newPod(policy v1.RestartPolicy, names string, options ...func(*v1.Pod)) *v1.Pod {
	pod := &v1.Pod{}
	pod.UID, pod.Namespace, pod.Name = "uid", "ns", "pod"
	pod.Spec.RestartPolicy = policy
	always := v1.ContainerRestartPolicyAlways
	for _, name := range strings.Fields(names) {
		c := v1.Container{Name: name, Image: "image:1"}
		switch name[0] {
		case 'i':
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
		case 's':
			c.RestartPolicy = &always
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
		case 'e':
			pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers,
				v1.EphemeralContainer{EphemeralContainerCommon: v1.EphemeralContainerCommon(c)})
		default:
			pod.Spec.Containers = append(pod.Spec.Containers, c)
		}
	}
	for _, option := range options {
		option(pod)
	}
	return pod
}

// with changes the named containers.
func with(names string, change func(*v1.Container)) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		for _, name := range strings.Fields(names) {
			for _, cs := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
				for i := range cs {
					if cs[i].Name == name {
						change(&cs[i])
					}
				}
			}
		}
	}
}

func policy(p v1.ContainerRestartPolicy) func(*v1.Container) {
	return func(c *v1.Container) { c.RestartPolicy = &p }
}

// restartAllOn gives a container a rule that restarts the whole pod on an exit code.
func restartAllOn(code int32) func(*v1.Container) {
	return rules(v1.ContainerRestartRule{
		Action: v1.ContainerRestartRuleActionRestartAllContainers,
		ExitCodes: &v1.ContainerRestartRuleOnExitCodes{
			Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{code},
		},
	})
}

func rules(rules ...v1.ContainerRestartRule) func(*v1.Container) {
	return func(c *v1.Container) {
		if c.RestartPolicy == nil {
			never := v1.ContainerRestartPolicyNever
			c.RestartPolicy = &never
		}
		c.RestartPolicyRules = rules
	}
}

func probes(c *v1.Container) {
	c.LivenessProbe, c.StartupProbe = &v1.Probe{}, &v1.Probe{}
}

// observe makes the status of a pod in one ready sandbox, "sb0", from words such as
//
//	c0=running c1=exited:137 c1=created i0=unknown c2=changed
//
// newest first. Instances are numbered by name, the newest highest, and that makes
// their IDs: c1.1, c1.0. Each was created 10 s after the next; one that exited did
// so 5 s later. "changed" runs with another spec.
func observe(pod *v1.Pod, words string) *runtime.PodStatus {
	status := &runtime.PodStatus{PodRef: runtime.RefOf(pod), Sandboxes: []runtime.SandboxStatus{sandbox(0, true)}}
	fields := strings.Fields(words)
	count := map[string]int32{}
	for _, word := range fields {
		name, _, _ := strings.Cut(word, "=")
		count[name]++
	}
	for i, word := range fields {
		name, state, _ := strings.Cut(word, "=")
		count[name]--
		c := runtime.ContainerStatus{
			ID: fmt.Sprintf("%s.%d", name, count[name]), Name: name, Hash: specHash(pod, name),
			RestartCount: count[name], CreatedAt: now.Add(-time.Duration(i+1) * 10 * time.Second),
		}
		state, code, _ := strings.Cut(state, ":")
		switch state {
		case "changed":
			c.State, c.Hash = runtime.StateRunning, 1
		case "exited", "oom":
			c.State, c.FinishedAt = runtime.StateExited, c.CreatedAt.Add(5*time.Second)
			exit, _ := strconv.Atoi(code)
			c.ExitCode = int32(exit)
			if state == "oom" {
				c.Reason = "OOMKilled"
			}
		default:
			c.State = runtime.State(state)
		}
		status.Containers = append(status.Containers, c)
	}
	return status
}

func sandbox(attempt uint32, ready bool) runtime.SandboxStatus {
	return runtime.SandboxStatus{
		ID: fmt.Sprintf("sb%d", attempt), Attempt: attempt, Ready: ready, IPs: []string{"10.0.0.1"},
		CreatedAt: now.Add(time.Duration(attempt)*time.Second - time.Hour),
	}
}

// verdicts makes probe verdicts from words such as "s2.0=failure".
func verdicts(words string) map[string]runtime.Verdict {
	m := map[string]runtime.Verdict{}
	for _, word := range strings.Fields(words) {
		id, verdict, _ := strings.Cut(word, "=")
		m[id] = runtime.Verdict(verdict)
	}
	return m
}

// summary tells actions in a line: what is done first stands first.
func summary(a runtime.Actions) string {
	var parts []string
	add := func(verb string, items ...string) {
		if len(items) > 0 {
			parts = append(parts, verb+" "+strings.Join(items, " "))
		}
	}
	if a.KillPod {
		parts = append(parts, "kill pod")
	}
	var kills, resets []string
	for _, k := range a.Kill {
		kills = append(kills, k.Name)
	}
	for _, r := range a.Reset {
		if r.Kill {
			resets = append(resets, r.ID+"!")
		} else {
			resets = append(resets, r.ID)
		}
	}
	add("kill", kills...)
	add("reset", resets...)
	if a.CreateSandbox {
		add("sandbox", strconv.Itoa(int(a.Attempt)))
	}
	add("ephemeral", names(a.Ephemeral)...)
	add("init", names(a.Init)...)
	add("start", names(a.Containers)...)
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "; ")
}

// specHash is the hash of the named container of the pod, of whichever kind.
func specHash(pod *v1.Pod, name string) uint64 {
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return runtime.ContainerHash(&list[i])
			}
		}
	}
	return 0
}
