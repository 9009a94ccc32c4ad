package podstatus_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/internal/recordings"
	"github.com/kubeparts/kubeparts/runtime"
	"github.com/kubeparts/kubeparts/syncloop/podstatus"
)

// FuzzCompute lives through a pod's life of arbitrary observations and checks,
// after each, what must hold whatever a runtime claims.
func FuzzCompute(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{2, 1, 1, 3, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17})
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		seed := make([]byte, 600)
		for i := range seed {
			seed[i] = byte(random.Uint32())
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := &dice{data: data}
		pod := d.pod()
		var previous *v1.PodStatus
		for step := range 6 {
			in := d.input(pod, previous, step)
			r := podstatus.Compute(in)
			checkResult(t, in, r)
			previous = &r.Status
		}
		end := podstatus.Terminate(podstatus.Input{Pod: pod, Previous: previous, Now: startOfTime})
		require.True(t, end.Terminal, "Terminate leaves a pod that has not ended")
		checkPhases(t, pod, previous, &end.Status)
	})
}

// checkResult checks what must hold for every status.
func checkResult(t *testing.T, in podstatus.Input, r podstatus.Result) {
	before := in.Previous
	if before == nil {
		before = &in.Pod.Status
	}
	checkPhases(t, in.Pod, before, &r.Status)
	require.Equal(t, podstatus.Terminal(r.Status.Phase), r.Terminal)

	after := statuses(&r.Status)
	unique := len(after) == len(r.Status.InitContainerStatuses)+len(r.Status.ContainerStatuses)
	for name, was := range statuses(before) {
		if now, ok := after[name]; ok && unique {
			require.GreaterOrEqual(t, now.RestartCount, was.RestartCount, "restart count of %s fell", name)
		}
	}
	in.Previous, in.Verdict = &r.Status, r.Verdict
	in.Pod = in.Pod.DeepCopy()
	in.Pod.Status = r.Status
	again := podstatus.Compute(in)
	if again.Changed {
		t.Fatalf("computed again:\n%s\nbefore:\n%s", recordings.JSON(again.Status), recordings.JSON(r.Status))
	}
	require.Empty(t, again.Events)
}

// checkPhases checks that a phase does not leave Succeeded or Failed, and that a
// pod which has ended is not ready.
func checkPhases(t *testing.T, pod *v1.Pod, before, after *v1.PodStatus) {
	if podstatus.Terminal(before.Phase) {
		require.Equal(t, before.Phase, after.Phase, "phase left %s", before.Phase)
	}
	if podstatus.Terminal(pod.Status.Phase) && !podstatus.Terminal(before.Phase) {
		require.Equal(t, pod.Status.Phase, after.Phase)
	}
	if podstatus.Terminal(after.Phase) {
		require.NotContains(t, condition(after, v1.PodReady), "True")
		require.NotContains(t, condition(after, v1.ContainersReady), "True")
	}
}

var startOfTime = time.Date(2030, 1, 2, 3, 4, 5, 678, time.UTC)

// dice makes values of a fuzzer's bytes; when they are used up, all are zero.
type dice struct{ data []byte }

// roll returns a number below n.
func (d *dice) roll(n int) int {
	if len(d.data) == 0 {
		return 0
	}
	b := d.data[0]
	d.data = d.data[1:]
	return int(b) % n
}

func pick[T any](d *dice, values ...T) T { return values[d.roll(len(values))] }

func (d *dice) pod() *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns", UID: "uid", Generation: int64(d.roll(3))}}
	pod.Spec.RestartPolicy = pick(d, v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever, "", "Odd")
	pod.Spec.HostNetwork = d.roll(4) == 1
	if d.roll(4) == 1 {
		pod.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "gate"}, {ConditionType: v1.PodInitialized}}
	}
	if d.roll(4) == 1 {
		pod.DeletionTimestamp = &metav1.Time{Time: startOfTime}
	}
	if d.roll(4) == 1 {
		pod.Spec.ActiveDeadlineSeconds = new(pick(d, int64(1), int64(0), int64(-5), int64(1)<<62))
	}
	for range d.roll(3) {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, d.container("i", len(pod.Spec.InitContainers)))
	}
	for range 1 + d.roll(3) {
		pod.Spec.Containers = append(pod.Spec.Containers, d.container("c", len(pod.Spec.Containers)))
	}
	for range d.roll(2) {
		pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, v1.EphemeralContainer{
			EphemeralContainerCommon: v1.EphemeralContainerCommon(d.container("e", 0)),
		})
	}
	if d.roll(3) == 1 {
		pod.Status = d.apiStatus(pod)
	}
	return pod
}

func (d *dice) container(kind string, i int) v1.Container {
	c := v1.Container{Name: fmt.Sprint(kind, i), Image: "image"}
	if d.roll(5) == 1 {
		c.Name = "c0" // a duplicate, or out of order
	}
	c.RestartPolicy = pick(d, nil, new(v1.ContainerRestartPolicyAlways), new(v1.ContainerRestartPolicyNever), nil)
	if d.roll(5) == 1 {
		c.RestartPolicyRules = []v1.ContainerRestartRule{{
			Action:    pick(d, v1.ContainerRestartRuleActionRestart, v1.ContainerRestartRuleActionRestartAllContainers),
			ExitCodes: pick(d, nil, &v1.ContainerRestartRuleOnExitCodes{Operator: "In", Values: []int32{0, 1}}),
		}}
	}
	if d.roll(4) == 1 {
		c.ReadinessProbe = &v1.Probe{}
	}
	return c
}

// apiStatus is a status that someone else made up.
func (d *dice) apiStatus(pod *v1.Pod) v1.PodStatus {
	s := v1.PodStatus{
		Phase:              pick(d, v1.PodPhase(""), v1.PodRunning, v1.PodFailed, v1.PodSucceeded, "Odd"),
		Reason:             pick(d, "", "Because"),
		ObservedGeneration: int64(d.roll(9)),
		Conditions: []v1.PodCondition{
			{Type: v1.PodReady, Status: pick(d, v1.ConditionTrue, v1.ConditionFalse)},
			{Type: pick(d, "gate", v1.DisruptionTarget, v1.PodInitialized), Status: v1.ConditionTrue},
		},
	}
	for _, c := range pod.Spec.Containers {
		s.ContainerStatuses = append(s.ContainerStatuses, d.containerStatus(c.Name))
	}
	for _, c := range pod.Spec.InitContainers {
		s.InitContainerStatuses = append([]v1.ContainerStatus{d.containerStatus(c.Name)}, s.InitContainerStatuses...)
	}
	return s
}

func (d *dice) containerStatus(name string) v1.ContainerStatus {
	return v1.ContainerStatus{
		Name:                 name,
		ContainerID:          pick(d, "", "fake://1", "nonsense"),
		Ready:                d.roll(2) == 1,
		Started:              pick(d, nil, new(true), new(false)),
		RestartCount:         int32(d.roll(4)) - 1,
		State:                d.containerState(),
		LastTerminationState: d.containerState(),
	}
}

func (d *dice) containerState() v1.ContainerState {
	return pick(d,
		v1.ContainerState{},
		v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: pick(d, "CrashLoopBackOff", "RestartingAllContainers")}},
		v1.ContainerState{Running: &v1.ContainerStateRunning{}},
		v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: int32(d.roll(2)), Message: "bye"}},
	)
}

func (d *dice) input(pod *v1.Pod, previous *v1.PodStatus, step int) podstatus.Input {
	in := podstatus.Input{
		Pod:         pod,
		Previous:    previous,
		Observed:    d.observed(pod),
		RuntimeName: "fake",
		RestartAll:  d.roll(6) == 1,
		Stopped:     d.roll(6) == 1,
		HostIPs:     pick(d, nil, []string{"10.0.0.1"}, []string{"fd00::1", "10.0.0.1", "nonsense"}),
		Now:         startOfTime.Add(time.Duration(step) * 700 * time.Millisecond),
	}
	in.Readiness = d.probing()
	in.Startup = d.probing()
	if d.roll(4) == 1 {
		in.AgentStarted = startOfTime.Add(time.Minute)
	}
	if d.roll(4) == 1 {
		in.StartFailures = map[string]runtime.StartResult{"c0": {Reason: "CrashLoopBackOff", Message: "m"}, "i0": {}}
	}
	if d.roll(8) == 1 {
		in.Verdict = &podstatus.Verdict{Reason: "Evicted", Message: "m", Disruption: pick(d, "", "d")}
	}
	return in
}

func (d *dice) probing() podstatus.Probing {
	p := podstatus.Probing{Workers: map[string]bool{}, Results: map[string]runtime.Verdict{}}
	for _, name := range []string{"i0", "i1", "c0", "c1"} {
		p.Workers[name] = d.roll(3) == 1
	}
	for id := range 4 {
		if v := pick(d, "", runtime.VerdictSuccess, runtime.VerdictFailure, runtime.VerdictUnknown); v != "" {
			p.Results[fmt.Sprint(id)] = v
		}
	}
	return p
}

func (d *dice) observed(pod *v1.Pod) *runtime.PodStatus {
	if d.roll(8) == 1 {
		return nil
	}
	s := &runtime.PodStatus{PodRef: runtime.RefOf(pod), IPs: pick(d, nil, []string{"10.1.2.3"}, []string{"", "fd00::2", "::ffff:10.1.2.3"})}
	for i := range d.roll(3) {
		s.Sandboxes = append(s.Sandboxes, runtime.SandboxStatus{ID: fmt.Sprint(i), Ready: d.roll(2) == 1, IPs: s.IPs})
	}
	for range d.roll(8) {
		s.Containers = append(s.Containers, runtime.ContainerStatus{
			ID:           fmt.Sprint(d.roll(6)),
			Name:         pick(d, "c0", "c1", "i0", "i1", "e0", "stranger"),
			SandboxID:    fmt.Sprint(d.roll(2)),
			State:        pick(d, runtime.StateRunning, runtime.StateExited, runtime.StateUnknown, runtime.StateCreated, "odd"),
			ExitCode:     int32(d.roll(3)),
			RestartCount: int32(d.roll(5)) - 1,
			StartedAt:    startOfTime,
			Message:      pick(d, "", string(make([]byte, 5000))+"\xff"),
		})
	}
	return s
}
