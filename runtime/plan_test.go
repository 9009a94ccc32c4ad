package runtime_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

const (
	always    = v1.RestartPolicyAlways
	onFailure = v1.RestartPolicyOnFailure
	never     = v1.RestartPolicyNever
)

// planCase is a row of a table of plans, in the language of fixtures_test.go.
type planCase struct {
	name      string
	pod       *v1.Pod
	seen      string
	sandboxes []runtime.SandboxStatus // nil: one that is ready
	liveness  string
	startup   string
	all       bool
	want      string
}

func (c planCase) input() runtime.PlanInput {
	status := observe(c.pod, c.seen)
	if c.sandboxes != nil {
		status.Sandboxes = c.sandboxes
	}
	return runtime.PlanInput{
		Pod: c.pod, Status: status, RestartAll: c.all, Now: now,
		Probes: runtime.ProbeVerdicts{Liveness: verdicts(c.liveness), Startup: verdicts(c.startup)},
	}
}

func runPlans(t *testing.T, cases []planCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, summary(runtime.Plan(c.input())))
		})
	}
}

// The kubelet's rules for sandbox and regular containers.
func TestPlanRegularContainers(t *testing.T) {
	none := []runtime.SandboxStatus{}
	dead := func(attempt uint32) []runtime.SandboxStatus { return []runtime.SandboxStatus{sandbox(attempt, false)} }
	noIP := sandbox(0, true)
	noIP.IPs = []string{""}
	noNetwork := sandbox(0, true)
	noNetwork.IPs = nil
	pod := func(p v1.RestartPolicy) *v1.Pod { return newPod(p, "c0 c1 c2") }

	runPlans(t, []planCase{
		{"all is well", pod(always), "c0=running c1=running c2=running", nil, "", "", false, "nothing"},
		{"a new pod", pod(always), "", none, "", "", false, "kill pod; sandbox 0; start c0 c1 c2"},
		{"sandbox died", pod(always), "c0=running c1=running c2=running", dead(0), "", "", false, "kill pod; sandbox 1; start c0 c1 c2"},
		{"sandbox died, OnFailure, one was done", pod(onFailure), "c0=running c1=exited:0 c2=running", dead(0), "", "", false,
			"kill pod; sandbox 1; start c0 c2"},
		{"the same by the container's own policy", newPod(always, "c0 c1 c2", with("c1", policy("OnFailure"))),
			"c0=running c1=exited:0 c2=running", dead(0), "", "", false, "kill pod; sandbox 1; start c0 c2"},
		{"sandbox lost its address", pod(always), "c0=running c1=running c2=running", []runtime.SandboxStatus{noIP}, "", "", false,
			"kill pod; sandbox 1; start c0 c1 c2"},
		{"backend knows of no addresses", pod(always), "c0=running c1=running c2=running", []runtime.SandboxStatus{noNetwork}, "", "", false, "nothing"},
		{"sandbox died, Never, all ended", pod(never), "c0=exited:0 c1=exited:1 c2=exited:0", dead(0), "", "", false, "kill pod"},
		{"sandbox died, OnFailure, all done", pod(onFailure), "c0=exited:0 c1=exited:0 c2=exited:0", dead(0), "", "", false, "kill pod"},
		{"sandbox died, Never, nothing ever ran", pod(never), "", dead(1), "", "", false, "kill pod; sandbox 2; start c0 c1 c2"},
		{"two ended, Always", pod(always), "c0=exited:0 c1=exited:111 c2=running", nil, "", "", false, "start c0 c1"},
		{"two ended, OnFailure", pod(onFailure), "c0=exited:0 c1=exited:111 c2=running", nil, "", "", false, "start c1"},
		{"two ended, Never", pod(never), "c0=exited:0 c1=exited:111 c2=running", nil, "", "", false, "nothing"},
		{"created, OnFailure", pod(onFailure), "c0=running c1=created c2=running", nil, "", "", false, "start c1"},
		{"created, Never", pod(never), "c0=running c1=created c2=running", nil, "", "", false, "start c1"},
		{"unknown, Never", pod(never), "c0=running c1=unknown c2=running", nil, "", "", false, "kill c1; start c1"},
		{"changed", pod(always), "c0=running c1=changed c2=running", nil, "", "", false, "kill c1; start c1"},
		{"changed, Never", pod(never), "c0=running c1=changed c2=running", nil, "", "", false, "kill c1; start c1"},
		{"not alive", pod(always), "c0=running c1=running c2=running", nil, "c1.0=failure", "", false, "kill c1; start c1"},
		{"not alive, Never", pod(never), "c0=running c1=running c2=running", nil, "c1.0=failure", "", false, "kill c1"},
		{"did not start up", pod(always), "c0=running c1=running c2=running", nil, "", "c1.0=failure", false, "kill c1; start c1"},
		{"verdict on the instance before", pod(always), "c0=running c1=running c1=exited:1 c2=running", nil, "c1.0=failure", "", false, "nothing"},
		{"all done, Never", newPod(never, "c0 c1 c2 e0"), "e0=running c0=exited:0 c1=exited:0 c2=exited:0", nil, "", "", false, "kill pod"},
		{"ephemeral while init runs", newPod(always, "i0 c0 e0"), "i0=running", nil, "", "", false, "ephemeral e0"},
		{"ephemeral ended", newPod(always, "c0 e0 e1"), "c0=running e0=exited:1 e1=unknown", nil, "", "", false, "nothing"},
	})
}

// The kubelet's rules for init containers that run one after the other.
func TestPlanInitContainers(t *testing.T) {
	pod := func(p v1.RestartPolicy) *v1.Pod { return newPod(p, "i0 i1 i2 c0 c1 c2") }
	dead := []runtime.SandboxStatus{sandbox(0, false)}

	runPlans(t, []planCase{
		{"nothing yet", pod(always), "", nil, "", "", false, "init i0"},
		{"first done", pod(always), "i0=exited:0", nil, "", "", false, "init i1"},
		{"all done", pod(always), "i2=exited:0 i1=exited:0 i0=exited:0", nil, "", "", false, "start c0 c1 c2"},
		{"last runs", pod(always), "i2=running i1=exited:0 i0=exited:0", nil, "", "", false, "nothing"},
		{"last runs, the others were removed", pod(always), "i2=running", nil, "", "", false, "nothing"},
		{"created", pod(always), "i2=created i1=exited:0 i0=exited:0", nil, "", "", false, "init i2"},
		{"failed, Always", pod(always), "i2=exited:137", nil, "", "", false, "init i2"},
		{"failed, OnFailure", pod(onFailure), "i2=exited:137", nil, "", "", false, "init i2"},
		{"failed, Never", pod(never), "i2=exited:137", nil, "", "", false, "kill pod"},
		{"out of memory with code 0, OnFailure", pod(onFailure), "i2=oom:0", nil, "", "", false, "kill pod"},
		{"out of memory, OnFailure", pod(onFailure), "i2=oom:137", nil, "", "", false, "init i2"},
		{"unknown, Always", pod(always), "i2=unknown", nil, "", "", false, "kill i2; init i2"},
		{"unknown, Never", pod(never), "i2=unknown", nil, "", "", false, "kill pod"},
		{"sandbox died", pod(onFailure), "c0=exited:1 i2=exited:0 i1=exited:0 i0=exited:0", dead, "", "", false, "kill pod; sandbox 1; init i0"},
		{"sandbox died, Never", pod(never), "i0=running", dead, "", "", false, "kill pod"},
		{"initialized long ago", pod(always), "c0=running c1=running c2=exited:1", nil, "", "", false, "start c2"},
	})
}

// The kubelet's rules for sidecars.
func TestPlanSidecars(t *testing.T) {
	pod := func(p v1.RestartPolicy) *v1.Pod { return newPod(p, "s0 s1 s2 c0 c1 c2", with("s1 s2", probes)) }
	const regulars, started = "c0=running c1=running c2=running ", "s1.0=success s2.0=success"

	runPlans(t, []planCase{
		{"first runs", pod(always), "s0=running", nil, "", "", false, "init s1"},
		{"no startup verdict yet", pod(always), "s1=running s0=running", nil, "", "", false, "nothing"},
		{"startup verdict unknown", pod(always), "s1=running s0=running", nil, "", "s1.0=unknown", false, "nothing"},
		{"no liveness verdict yet", pod(always), "s1=running s0=running", nil, "", "s1.0=success", false, "init s2"},
		{"liveness unknown", pod(always), "s1=running s0=running", nil, "s1.0=unknown", "s1.0=success", false, "init s2"},
		{"all up", pod(always), "s2=running s1=running s0=running", nil, "", started, false, "start c0 c1 c2"},
		{"last not alive", pod(always), "s2=running s1=running s0=running", nil, "s2.0=failure", started, false, "kill s2; init s2; start c0 c1 c2"},
		{"last did not start up", pod(always), "s2=running s1=running s0=running", nil, "", "s1.0=success s2.0=failure", false, "kill s2; init s2"},
		{"last changed", pod(always), "s2=changed s1=running s0=running", nil, "", started, false, "kill s2; init s2; start c0 c1 c2"},
		{"first and last ended", pod(always), "s2=exited:0 s1=running s0=exited:0", nil, "", started, false, "init s0 s2"},
		{"first ended", pod(always), "s2=running s1=running s0=exited:0", nil, "", started, false, "init s0; start c0 c1 c2"},
		{"only the last is to be seen", pod(always), "s2=running", nil, "", started, false, "init s0 s1; start c0 c1 c2"},
		{"last failed, Never", pod(never), regulars + "s2=exited:137 s1=running s0=running", nil, "", started, false, "init s2"},
		{"the pod is done", pod(never), "c0=exited:0 c1=exited:0 c2=exited:0 s2=running s1=running s0=running", nil, "", started, false, "kill pod"},
		{"unknown, Never", pod(never), "s2=unknown s1=running s0=running", nil, "", started, false, "kill s2; init s2"},
	})
}

// A restart of all containers resets the one that asked for it last.
func TestPlanRestartAll(t *testing.T) {
	runPlans(t, []planCase{
		{"an init container asks", newPod(never, "i0 s1 i2 c0", with("i2", restartAllOn(42))),
			"i2=exited:42 s1=running i0=exited:0", nil, "", "", true, "reset i0.0 s1.0! i2.0"},
		{"a sidecar asks", newPod(never, "s0 s1 s2 c0", with("s2", restartAllOn(42))),
			"c0=running s2=exited:42 s1=running s0=running", nil, "", "", true, "reset c0.0! s0.0! s1.0! s2.0"},
		{"a regular container asks", newPod(never, "s0 s1 c0 c1 c2", with("c2", restartAllOn(42))),
			"c2=exited:42 c1=running c0=running s1=running s0=running", nil, "", "", true, "reset c0.0! c1.0! s0.0! s1.0! c2.0"},
		{"each instance by its own exit code", newPod(never, "i0 c0", with("c0", restartAllOn(42))),
			"c0=exited:1 c0=exited:42 i0=exited:0 i0=exited:0", nil, "", "", true, "reset c0.1 i0.1 i0.0 c0.0"},
		{"all reset, from the beginning in the same sandbox", newPod(never, "i0 c0", with("c0", restartAllOn(42))),
			"", nil, "", "", false, "init i0"},
		{"all reset, no init containers", newPod(never, "c0 c1", with("c0", restartAllOn(42))),
			"", nil, "", "", false, "start c0 c1"},
		{"the sandbox died meanwhile", newPod(never, "c0", with("c0", restartAllOn(42))),
			"c0=exited:42", []runtime.SandboxStatus{sandbox(0, false)}, "", "", true, "kill pod; reset c0.0; sandbox 1"},
	})
}

func TestPlanSaysWhyItKills(t *testing.T) {
	pod := newPod(always, "s0 c0 c1 c2 c3", with("c1", probes))
	grace, probeGrace := int64(60), int64(10)
	pod.Spec.TerminationGracePeriodSeconds = &grace
	pod.Spec.Containers[1].LivenessProbe.TerminationGracePeriodSeconds = &probeGrace
	got := runtime.Plan(runtime.PlanInput{
		Pod: pod, Now: now, Status: observe(pod, "c0=changed c1=running c2=running c3=unknown s0=changed"),
		Probes: runtime.ProbeVerdicts{Liveness: verdicts("c1.0=failure"), Startup: verdicts("c2.0=failure")},
	})
	require.Equal(t, []runtime.Kill{
		{ID: "c0.0", Name: "c0", Message: "Container c0 definition changed, will be restarted", Grace: time.Minute},
		{ID: "c1.0", Name: "c1", Reason: "LivenessProbe", Message: "Container c1 failed liveness probe, will be restarted", Grace: 10 * time.Second},
		{ID: "c2.0", Name: "c2", Reason: "StartupProbe", Message: "Container c2 failed startup probe, will be restarted", Grace: time.Minute},
		{ID: "c3.0", Name: "c3", Reason: "Unknown", Message: `Container is in "unknown" state, try killing it before restart`, Grace: time.Minute},
		{ID: "s0.0", Name: "s0", Message: "Init container s0 definition changed", Grace: time.Minute},
	}, got.Kill)
}

// A container that waits is in the plan, with reason, message and the time to come
// back; the others start.
func TestPlanBackoff(t *testing.T) {
	pod := newPod(always, "c0 c1")
	status := observe(pod, "c0=exited:1 c1=exited:1")
	status.Containers[0].RestartCount = 2
	got := runtime.Plan(runtime.PlanInput{Pod: pod, Status: status, Now: now})

	end := status.Containers[0].FinishedAt
	require.Equal(t, "start c0 c1", summary(got))
	require.True(t, got.Containers[0].Waits())
	require.Equal(t, end.Add(20*time.Second), got.Containers[0].WaitUntil)
	require.Equal(t, "CrashLoopBackOff", got.Containers[0].Reason)
	require.Equal(t, "back-off 20s restarting failed container=c0 pod=pod_ns(uid)", got.Containers[0].Message)
	require.False(t, got.Containers[1].Waits())
	require.Equal(t, end.Add(20*time.Second), got.RetryAt)
	require.Equal(t, []runtime.Event{{
		Container: "c0", Type: v1.EventTypeWarning, Reason: "BackOff",
		Message: "Back-off restarting failed container c0 in pod pod_ns(uid)",
	}}, got.Events)
}

func TestPlanReplacesSandbox(t *testing.T) {
	pod := newPod(always, "i0 c0")
	status := observe(pod, "c0=exited:1 i0=exited:0")
	status.Sandboxes = []runtime.SandboxStatus{sandbox(4, false), sandbox(3, false)}
	for i := range status.Containers {
		status.Containers[i].SandboxID = "sb4"
	}
	got := runtime.Plan(runtime.PlanInput{Pod: pod, Status: status, Now: now})

	require.Equal(t, "kill pod; sandbox 5; init i0", summary(got))
	require.Equal(t, []string{"sb4", "sb3"}, got.StopSandboxes)
	require.Equal(t, []string{"i0.0"}, got.Remove, "no init container passes for one of the new sandbox")
	require.Equal(t, []string{"sb3"}, got.RemoveSandboxes)
	require.EqualValues(t, 1, got.Init[0].RestartCount)
	require.Equal(t, []runtime.Event{{
		Type: v1.EventTypeNormal, Reason: "SandboxChanged",
		Message: "Pod sandbox changed, it will be killed and re-created.",
	}}, got.Events)

	// The agent ended before it could remove the init container: it still is one
	// of the sandbox before, and the pod begins with it again.
	status.Sandboxes = []runtime.SandboxStatus{sandbox(5, true), sandbox(4, false)}
	got = runtime.Plan(runtime.PlanInput{Pod: pod, Status: status, Now: now})
	require.Equal(t, "init i0", summary(got))
	require.Empty(t, got.RemoveSandboxes, "sb4 still holds containers")
}

func TestPlanRemovesDeadContainers(t *testing.T) {
	pod := newPod(always, "i0 c0 c1")
	got := runtime.Plan(runtime.PlanInput{Pod: pod, Now: now, Status: observe(pod,
		"c0=running c0=exited:1 c0=exited:1 c1=exited:1 c1=created c1=exited:2 i0=exited:0 i0=exited:1")})
	require.Equal(t, []string{"c0.0", "c1.1", "c1.0", "i0.0"}, got.Remove, "all but the newest that ended of each name")

	got = runtime.Plan(runtime.PlanInput{Pod: pod, Now: now, Status: observe(pod, "c0=exited:1 c0=exited:1"), RestartAll: true})
	require.Empty(t, got.Remove, "a reset keeps the logs")
}

// At most one instance of a container runs at a time, whatever a runtime says.
func TestPlanKillsStrays(t *testing.T) {
	pod := newPod(always, "c0 c1")
	got := runtime.Plan(runtime.PlanInput{Pod: pod, Now: now, Status: observe(pod, "c0=exited:1 c0=running c1=running c1=unknown")})
	require.Equal(t, "kill c0 c1; start c0", summary(got))
}

func TestPlanOfNothing(t *testing.T) {
	require.Equal(t, "nothing", summary(runtime.Plan(runtime.PlanInput{})))
	require.Equal(t, "kill pod; sandbox 0; start c0", summary(runtime.Plan(runtime.PlanInput{Pod: newPod(always, "c0")})))
}

// The target of an ephemeral container goes with it.
func TestPlanEphemeralTarget(t *testing.T) {
	pod := newPod(always, "c0 e0")
	pod.Spec.EphemeralContainers[0].TargetContainerName = "c0"
	got := runtime.Plan(runtime.PlanInput{Pod: pod, Now: now, Status: observe(pod, "c0=running")})
	require.Equal(t, "c0", got.Ephemeral[0].Target)
	require.Equal(t, "e0", got.Ephemeral[0].Container.Name)
}
