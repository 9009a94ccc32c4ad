package runtime_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

// dice turns fuzzed bytes into choices; without bytes each is the first.
type dice struct{ bytes []byte }

func (d *dice) roll(n int) int {
	if len(d.bytes) == 0 {
		return 0
	}
	b := d.bytes[0]
	d.bytes = d.bytes[1:]
	return int(b) % n
}

func pick[T any](d *dice, choices ...T) T { return choices[d.roll(len(choices))] }

func (d *dice) pod() *v1.Pod {
	names := ""
	for _, kind := range []string{"i", "s", "c", "e"} {
		for n := range d.roll(4) {
			names += fmt.Sprintf("%s%d ", kind, n)
		}
	}
	pod := newPod(pick(d, always, onFailure, never, ""), names)
	pod.Spec.HostNetwork = d.roll(8) == 1
	// Init containers come in any order.
	for i := range pod.Spec.InitContainers {
		j := d.roll(i + 1)
		in := pod.Spec.InitContainers
		in[i], in[j] = in[j], in[i]
	}
	for _, cs := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range cs {
			change := pick(d, nil, probes, policy("Never"), policy("OnFailure"), restartAllOn(42))
			if change != nil && (cs[i].RestartPolicy == nil || d.roll(2) == 0) {
				change(&cs[i])
			}
		}
	}
	return pod
}

func (d *dice) status(pod *v1.Pod) *runtime.PodStatus {
	status := &runtime.PodStatus{PodRef: runtime.RefOf(pod)}
	for n := range d.roll(4) {
		s := sandbox(uint32(n), d.roll(2) == 0)
		s.HostNetwork = d.roll(8) == 1
		s.IPs = pick(d, []string{"10.0.0.1"}, nil, []string{""})
		status.Sandboxes = append(status.Sandboxes, s)
	}
	all := []string{"stranger"}
	for _, cs := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range cs {
			all = append(all, cs[i].Name)
		}
	}
	for n := range d.roll(12) {
		name := pick(d, all...)
		status.Containers = append(status.Containers, runtime.ContainerStatus{
			ID: fmt.Sprintf("id%d", n), Name: name, Hash: pick(d, specHash(pod, name), 0, 1),
			SandboxID:    pick(d, "", "sb0", "sb1", "sb2"),
			State:        pick(d, runtime.StateRunning, runtime.StateExited, runtime.StateCreated, runtime.StateUnknown, "odd"),
			ExitCode:     pick[int32](d, 0, 1, 42),
			Reason:       pick(d, "", "OOMKilled"),
			RestartCount: pick[int32](d, 0, 1, 5, -1, 1<<31-1),
			CreatedAt:    now.Add(-time.Duration(d.roll(256)) * time.Second),
			FinishedAt:   pick(d, now, now.Add(-time.Minute), now.Add(time.Hour), time.Time{}),
		})
	}
	status.Sort()
	return status
}

func (d *dice) verdicts() map[string]runtime.Verdict {
	m := map[string]runtime.Verdict{}
	for n := range 12 {
		if v := pick(d, "", runtime.VerdictSuccess, runtime.VerdictFailure, runtime.VerdictUnknown); v != "" {
			m[fmt.Sprintf("id%d", n)] = v
		}
	}
	return m
}

func FuzzPlan(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{2, 2, 2, 1, 0, 0, 0, 0, 1, 1, 0, 0, 3, 3, 1, 0, 0, 5, 1, 0, 0, 1, 2, 0, 1, 0, 9, 2})
	f.Add([]byte("a pod, a status and what the probes said, all of them rather arbitrary, and long enough"))
	f.Fuzz(func(t *testing.T, bytes []byte) {
		d := &dice{bytes}
		pod := d.pod()
		in := runtime.PlanInput{
			Pod: pod, Status: d.status(pod), RestartAll: d.roll(8) == 1, Now: now,
			Probes: runtime.ProbeVerdicts{Liveness: d.verdicts(), Startup: d.verdicts()},
		}
		before := in.Pod.DeepCopy()
		a := runtime.Plan(in)
		checkPlan(t, in, a)
		require.Equal(t, a, runtime.Plan(in), "equal input, equal actions")
		require.Equal(t, before, in.Pod, "the pod is not written to")

		// The plan after this one, with what this one learned.
		for _, start := range a.Containers {
			a.Backoff = a.Backoff.Started(start, now)
		}
		in.Backoff = a.Backoff
		checkPlan(t, in, runtime.Plan(in))
		checkStop(t, in)
	})
}

// checkPlan checks what holds of every plan.
func checkPlan(t *testing.T, in runtime.PlanInput, a runtime.Actions) {
	killed := map[string]bool{}
	for _, k := range a.Kill {
		require.False(t, killed[k.ID], "killed twice")
		killed[k.ID] = true
		require.Equal(t, k.Name, instance(in.Status, k.ID).Name, "what is killed is known")
	}
	for _, r := range a.Reset {
		require.Equal(t, r.Name, instance(in.Status, r.ID).Name, "what is reset is known")
	}
	for _, id := range a.Remove {
		c := instance(in.Status, id)
		require.NotEmpty(t, c.ID, "what is removed is known")
		require.True(t, a.KillPod || c.State != runtime.StateRunning, "what is removed does not run")
	}

	started := map[string]bool{}
	newInits := 0
	for _, starts := range [][]runtime.Start{a.Ephemeral, a.Init, a.Containers} {
		for _, s := range starts {
			name := s.Container.Name
			require.False(t, started[name], "started twice")
			started[name] = true
			require.GreaterOrEqual(t, s.RestartCount, int32(0))
			require.Equal(t, s.Waits(), s.Reason != "")
			if s.Waits() {
				require.False(t, a.RetryAt.IsZero() || a.RetryAt.After(s.WaitUntil), "somebody comes back for it")
				require.True(t, s.WaitUntil.After(in.Now) && s.WaitUntil.Before(in.Now.Add(10*time.Minute)))
			}
			for _, c := range in.Status.Containers {
				if c.Name == name && c.State != runtime.StateExited && c.State != runtime.StateCreated {
					require.True(t, a.KillPod || killed[c.ID], "what may run is killed before it is started")
				}
			}
		}
	}
	for _, s := range a.Init {
		if !runtime.IsSidecar(s.Container) {
			newInits++
		}
	}
	require.LessOrEqual(t, newInits, 1, "plain init containers run one after the other")
	if newInits == 1 {
		require.Empty(t, a.Containers)
	}
	if len(a.Reset) > 0 {
		require.Empty(t, started, "a reset comes before all starts")
	}
	if a.CreateSandbox {
		require.True(t, a.KillPod)
	}
}

// checkStop checks that nobody waits for himself, whatever way round.
func checkStop(t *testing.T, in runtime.PlanInput) {
	waitsFor := map[string][]string{}
	for _, s := range runtime.StopOrder(in.Pod, in.Status, time.Minute) {
		require.NotContains(t, waitsFor, s.ID)
		waitsFor[s.ID] = s.After
	}
	for len(waitsFor) > 0 {
		free := ""
		for id, after := range waitsFor {
			blocked := false
			for _, other := range after {
				_, waits := waitsFor[other]
				blocked = blocked || waits
			}
			if !blocked {
				free = id
			}
		}
		require.NotEmpty(t, free, "all wait for each other")
		delete(waitsFor, free)
	}
}

func instance(status *runtime.PodStatus, id string) runtime.ContainerStatus {
	for _, c := range status.Containers {
		if c.ID == id {
			return c
		}
	}
	return runtime.ContainerStatus{}
}
