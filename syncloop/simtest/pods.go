package simtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeparts/kubeparts/podmanager"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/runtime/runtimetest"
)

// secret is in the environment and the annotations of every pod, and must be
// nowhere else.
const secret = "s3cret-t0ken"

// What a container ends with that was asked to stop: no container ends so by
// itself.
const stopCode = 143

// healsAfter, as an argument of a container, is the attempt from which on it
// runs until it is stopped, whatever its command says.
const healsAfter = "heals-after="

// Script is the behaviour of the containers of the simulation in a fake: that of
// [runtimetest.ByCommand], save that those which fail at first may heal.
func Script(i runtimetest.Instance) runtimetest.Script {
	s := runtimetest.ByCommand(i)
	if healed(i, healsAfter) {
		s.StartError, s.ExitCode, s.Reason = nil, 0, ""
		s.Exits = i.Init
	}
	return s
}

// healed tells whether an instance is of an attempt from which on, by an argument of
// that name, what failed is well.
func healed(i runtimetest.Instance, name string) bool {
	return slices.ContainsFunc(i.Args, func(arg string) bool {
		n, ok := strings.CutPrefix(arg, name)
		attempt, err := strconv.Atoi(n)
		return ok && err == nil && int(i.Attempt) >= attempt
	})
}

// draw is a source of what is left to chance.
type draw struct{ *rand.Rand }

func newDraw(seed, stream uint64) draw { return draw{rand.New(rand.NewPCG(seed, stream))} }

// chance is true so many times of a hundred.
func (d draw) chance(percent int) bool { return d.IntN(100) < percent }

// between draws a duration, down to the nanosecond, so that no two of them are
// likely to end at one moment.
func (d draw) between(least, most time.Duration) time.Duration {
	return least + time.Duration(d.Int64N(int64(most-least)+1))
}

func one[T any](d draw, of ...T) T { return of[d.IntN(len(of))] }

// newPod draws a pod of a source.
func newPod(d draw, name, source string) *v1.Pod {
	grace := int64(one(d, 0, 1, 5, 30, 30, 60))
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name,
			Annotations: map[string]string{"token": secret},
			Labels:      map[string]string{"version": "0"},
		},
		Spec: v1.PodSpec{
			RestartPolicy:                 one(d, v1.RestartPolicyAlways, v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever),
			TerminationGracePeriodSeconds: &grace,
		},
	}
	if d.chance(12) {
		deadline := int64(5 + d.IntN(300))
		pod.Spec.ActiveDeadlineSeconds = &deadline
	}
	if d.chance(10) {
		priority := int32(2000001000)
		pod.Spec.Priority, pod.Spec.PriorityClassName = &priority, "system-node-critical"
	}
	for i := range one(d, 0, 0, 0, 1, 2) {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, newInit(d, fmt.Sprintf("i%d", i)))
	}
	for i := range one(d, 1, 1, 1, 2, 3) {
		pod.Spec.Containers = append(pod.Spec.Containers, newContainer(d, fmt.Sprintf("c%d", i)))
	}
	if d.chance(8) {
		addRules(d, &pod.Spec.Containers[0])
	}
	identify(pod, source, 0)
	return pod
}

// identify gives the pod the identity of its n-th version.
func identify(pod *v1.Pod, source string, n int) {
	pod.UID = types.UID(fmt.Sprintf("%s.%d", pod.Name, n))
	if source != podmanager.SourceAPI {
		pod.Annotations[podmanager.AnnotationHash] = string(pod.UID)
	}
}

func newContainer(d draw, name string) v1.Container {
	c := v1.Container{Name: name, Image: "image:0", LivenessProbe: once(), Env: []v1.EnvVar{{Name: "TOKEN", Value: secret}}}
	if d.chance(60) {
		c.Resources.Requests = v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(int64(100*(1+d.IntN(15))), resource.DecimalSI)}
	}
	if d.chance(20) {
		c.ReadinessProbe = once()
	}
	s := stops(d)
	switch d.IntN(10) {
	case 0: // fails again and again
		s.Exits, s.RunFor, s.ExitCode = true, d.between(time.Millisecond, 40*time.Second), 1
	case 1: // is out of memory now and then
		s.Exits, s.RunFor, s.ExitCode, s.Reason = true, d.between(time.Second, 30*time.Minute), 137, "OOMKilled"
	case 2: // fails until it heals
		s.Exits, s.RunFor, s.ExitCode = true, d.between(0, 5*time.Second), 2
		c.Args = []string{healsAfter + strconv.Itoa(1+d.IntN(4))}
	case 3, 4: // does its work and ends
		s.Exits, s.RunFor = true, d.between(time.Millisecond, 3*time.Minute)
	case 5: // can't be started at first
		s.StartError = fmt.Errorf("no such file")
		c.Args = []string{healsAfter + strconv.Itoa(1+d.IntN(3))}
	}
	if d.chance(15) {
		s.StartDelay = d.between(time.Millisecond, 20*time.Second)
	}
	c.Command = s.Command()
	return c
}

// stops draws how a container takes it to be asked to stop.
func stops(d draw) runtimetest.Script {
	s := runtimetest.Script{StopCode: stopCode}
	switch d.IntN(5) {
	case 0:
		s.IgnoresTerm = true
	case 1:
		s.StopAfter = d.between(time.Millisecond, 40*time.Second)
	}
	return s
}

// newInit draws an init container; some are sidecars.
func newInit(d draw, name string) v1.Container {
	if d.chance(40) {
		c := newContainer(d, name)
		always := v1.ContainerRestartPolicyAlways
		c.RestartPolicy = &always
		return c
	}
	s := stops(d)
	s.Exits, s.RunFor = true, d.between(0, 20*time.Second)
	c := v1.Container{Name: name, Image: "image:0"}
	if d.chance(25) {
		s.ExitCode = 1
		if d.chance(80) {
			c.Args = []string{healsAfter + strconv.Itoa(1+d.IntN(3))}
		}
	}
	c.Command = s.Command()
	return c
}

// addRules gives a container rules for its restart.
func addRules(d draw, c *v1.Container) {
	policy := one(d, v1.ContainerRestartPolicyNever, v1.ContainerRestartPolicyOnFailure)
	c.RestartPolicy = &policy
	c.RestartPolicyRules = []v1.ContainerRestartRule{{
		Action:    one(d, v1.ContainerRestartRuleActionRestart, v1.ContainerRestartRuleActionRestartAllContainers),
		ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{1, 42}},
	}}
}

// grace is what a pod gets to stop in, at least a second: that of its deletion,
// if it was marked for that, and otherwise its own.
func grace(pod *v1.Pod) time.Duration {
	seconds := int64(1)
	for _, g := range []*int64{pod.Spec.TerminationGracePeriodSeconds, pod.DeletionGracePeriodSeconds} {
		if g != nil {
			seconds = *g
		}
	}
	return max(time.Duration(seconds)*time.Second, time.Second)
}

func critical(pod *v1.Pod) bool { return pod.Spec.Priority != nil && *pod.Spec.Priority >= 2000000000 }

// regular tells whether a container of the name is one of the pod's regular ones.
func regular(pod *v1.Pod, name string) bool {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == name {
			return true
		}
	}
	return false
}

func restartsAll(pod *v1.Pod) bool { return runtime.HasRestartAllRule(pod) }
