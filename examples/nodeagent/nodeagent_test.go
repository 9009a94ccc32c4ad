package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// One of the samples never gets ready: what settles is the rest.
func TestSamplesSettle(t *testing.T) {
	y := newYard(t)
	r := y.run("--until-settled", "-o", "json")
	r.says("unready-node/main", "Unhealthy", "Readiness probe failed: the cache is cold")
	require.False(t, isReady(y.until("runs", "unready", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodRunning })))
	require.NoError(t, os.Remove(filepath.Join(y.root, "samples", "unready.yaml")))
	require.Equal(t, exitOK, r.wait(), r.stderr.String())
	pods := r.list()
	for name, phase := range map[string]v1.PodPhase{
		"web": v1.PodRunning, "greeting": v1.PodRunning, "reader": v1.PodSucceeded, "goodbye": v1.PodRunning, "job": v1.PodSucceeded, "crash": v1.PodRunning, "sick": v1.PodRunning, "toobig": v1.PodFailed,
	} {
		require.Equal(t, phase, pods[name].Status.Phase, name)
	}
	require.Equal(t, "OutOfcpu", pods["toobig"].Status.Reason)
	crash := pods["crash"].Status.ContainerStatuses[0]
	require.Equal(t, "CrashLoopBackOff", crash.State.Waiting.Reason)
	require.GreaterOrEqual(t, crash.RestartCount, int32(2))
	require.EqualValues(t, 3, crash.LastTerminationState.Terminated.ExitCode)
	require.Equal(t, "done", pods["job"].Status.ContainerStatuses[0].State.Terminated.Message)
	require.Equal(t, "a token of 13 bytes", pods["reader"].Status.ContainerStatuses[0].State.Terminated.Message)
	require.True(t, isReady(new(pods["web"])))
	for _, dir := range []string{"pods", "logs", "samples", "sample-objects", "bin"} {
		require.NoDirExists(t, filepath.Join(y.root, dir), "everything is cleaned up")
	}
}

func TestManifestAddedChangedBrokenMendedRemoved(t *testing.T) {
	y := newYard(t)
	y.put("a", y.sleeper("a", "1"))
	agent := y.start()
	a := y.up("a", 0)

	y.put("b", y.sleeper("b", "1"))
	b := y.up("b", 0)
	alive(t, a)

	y.put("a", y.sleeper("a", "2"))
	a2 := y.up("a", a)
	y.gone(a)

	y.put("a", "kind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: A_B}]}\napiVersion: v1\n")
	agent.says("ManifestRefused", filepath.Join(y.manifests, "a.yaml"), "spec.containers[0].name", "last valid version stays in force")
	alive(t, a2)

	y.put("a", y.sleeper("a", "3"))
	a3 := y.up("a", a2)

	require.NoError(t, os.Remove(filepath.Join(y.manifests, "b.yaml")))
	y.gone(b)
	alive(t, a3)
	agent.stop()
	y.gone(a3)
}

func TestFolderMovedAwayAndBack(t *testing.T) {
	y := newYard(t)
	y.put("a", y.sleeper("a", "1"))
	agent := y.start()
	a := y.up("a", 0)
	require.NoError(t, os.Rename(y.manifests, y.manifests+".away"))
	agent.says("SourceFailed", y.manifests, "stays in force")
	alive(t, a)
	require.NoError(t, os.Rename(y.manifests+".away", y.manifests))
	y.put("b", y.sleeper("b", "1"))
	y.up("b", 0)
	alive(t, a)
	agent.stop()
}

func TestKilledAgentIsFollowedByOneThatRestartsNothing(t *testing.T) {
	y := newYard(t)
	names := []string{"a", "b", "c"}
	for _, name := range names {
		y.put(name, y.sleeper(name, "1"))
	}
	first := y.start()
	before := map[string]int{}
	for _, name := range names {
		before[name] = y.up(name, 0)
	}
	first.signal(syscall.SIGKILL)
	first.wait()
	for _, pid := range before {
		alive(t, pid)
	}
	// One ends while nobody looks: the next agent knows, and restarts it alone.
	require.NoError(t, syscall.Kill(before["c"], syscall.SIGTERM))
	y.gone(before["c"])

	second := y.start("--until-settled", "-o", "json")
	c := y.up("c", before["c"])
	require.Equal(t, exitOK, second.wait())
	second.says("a-node", "Adopted")
	pods := second.list()
	require.Equal(t, v1.PodRunning, pods["a"].Status.Phase)
	require.Zero(t, restarts(new(pods["a"])))
	require.Zero(t, restarts(new(pods["b"])))
	require.EqualValues(t, 1, restarts(new(pods["c"])))
	require.EqualValues(t, 143, pods["c"].Status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode)
	require.Equal(t, before["a"], readPID(t, y, "a"), "the same process to the end")
	y.gone(before["a"])
	y.gone(c)
}

func TestTermLeavesThePodsToTheNextAgent(t *testing.T) {
	y := newYard(t)
	y.put("a", y.sleeper("a", "1"))
	first := y.start()
	a := y.up("a", 0)
	first.says("main", "Started")
	first.signal(syscall.SIGTERM)
	require.Equal(t, exitOK, first.wait())
	alive(t, a)

	second := y.start("--stop-pods-on-term")
	second.says("pod/default/a-node", "Adopted")
	second.signal(syscall.SIGTERM)
	require.Equal(t, exitOK, second.wait())
	y.gone(a)
}

func TestSecondAgentOnARootIsRefused(t *testing.T) {
	y := newYard(t)
	y.put("a", y.sleeper("a", "1"))
	first := y.start()
	y.up("a", 0)
	second := y.start()
	require.Equal(t, exitFault, second.wait())
	require.Contains(t, second.stderr.String(), strconv.Itoa(first.cmd.Process.Pid))
	require.Contains(t, second.stderr.String(), y.root)
	require.Contains(t, second.stderr.String(), "--root of its own")
	first.stop()
}

func TestContainerKilledByHandIsRestarted(t *testing.T) {
	y := newYard(t)
	y.put("a", y.sleeper("a", "1"))
	agent := y.start()
	a := y.up("a", 0)
	require.NoError(t, syscall.Kill(a, syscall.SIGKILL))
	y.up("a", a)
	agent.signal(syscall.SIGTERM)
	require.Equal(t, exitOK, agent.wait())

	next := y.start("--until-settled", "-o", "json")
	require.Equal(t, exitOK, next.wait())
	pod := next.list()["a"]
	require.EqualValues(t, 1, restarts(&pod))
	require.EqualValues(t, 137, pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode)
}

func TestURLThatGoesAwayAndComesBack(t *testing.T) {
	y := newYard(t)
	var up atomic.Bool
	up.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !up.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		fmt.Fprint(w, y.sleeper("far", "1"))
	}))
	defer server.Close()

	agent := y.run("--manifest-url", server.URL)
	far := y.up("far", 0)
	up.Store(false)
	agent.signal(syscall.SIGKILL)
	agent.wait()

	next := y.run("--manifest-url", server.URL)
	next.says("source/http", "SourceFailed", "502")
	alive(t, far)
	up.Store(true)
	next.says("pod/default/far-node", "Adopted")
	alive(t, far)
	next.stop()
	y.gone(far)
}

func TestSecondInterruptKillsAtOnce(t *testing.T) {
	y := newYard(t)
	y.put("stubborn", strings.NewReplacer(
		"terminationGracePeriodSeconds: 1", "terminationGracePeriodSeconds: 3600",
		"echo", `trap "" TERM; echo`, "exec sleep 100000", "while :; do sleep 1; done",
	).Replace(y.sleeper("stubborn", "1")))
	agent := y.start("-o", "json")
	pid := y.up("stubborn", 0)
	agent.signal(os.Interrupt)
	agent.says("stopping 1 pod:", "stubborn-node")
	alive(t, pid)
	agent.signal(os.Interrupt)
	require.Equal(t, exitOK, agent.wait())
	require.Contains(t, agent.list(), "stubborn", "json is still written")
	y.gone(pid)
}

func TestTwoServersOnOnePortAreAClearRejection(t *testing.T) {
	y := newYard(t)
	port := strings.Replace(y.sleeper("NAME", "1"), "    image: local\n", "    image: local\n    ports: [{containerPort: 18080}]\n", 1)
	y.put("a", strings.ReplaceAll(port, "NAME", "a"))
	y.put("b", strings.ReplaceAll(port, "NAME", "b"))
	agent := y.start("--until-settled", "-o", "json")
	require.Equal(t, exitOK, agent.wait())
	pods := agent.list()
	require.Equal(t, v1.PodRunning, pods["a"].Status.Phase)
	require.Equal(t, "NodePorts", pods["b"].Status.Reason)
}

// The node is full: a critical pod takes the place of the one whose room suffices,
// and of nobody else.
func TestCriticalPodTakesThePlaceOfTheRightVictim(t *testing.T) {
	y := newYard(t)
	pod := func(name, cpu string, priority int) string {
		spec := fmt.Sprintf("spec:\n  priority: %d\n", priority)
		resources := fmt.Sprintf("    image: local\n    resources: {requests: {cpu: %s}}\n", cpu)
		return strings.NewReplacer("spec:\n", spec, "    image: local\n", resources).Replace(y.sleeper(name, "1"))
	}
	y.put("small", pod("small", "250m", 0))
	y.put("large", pod("large", "750m", 10))
	y.put("vital", pod("vital", "1", 2000001000))
	agent := y.start("--capacity", "cpu=2", "-o", "json")
	small, large, vital := y.up("small", 0), y.up("large", 0), y.up("vital", 0)

	y.put("critical", pod("critical", "500m", 2000000000))
	y.up("critical", 0)
	y.gone(large)
	alive(t, small)
	alive(t, vital)
	agent.says("critical", "Preempting", "waiting for pods to stop that give way: default/large-node")
	agent.says("large", "Preempting", "Preempted in order to admit critical pod")
	y.until("has failed", "large", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodFailed })
	agent.stop()
	victim := agent.list()["large"]
	require.Equal(t, v1.PodFailed, victim.Status.Phase)
	require.Equal(t, "Preempting", victim.Status.Reason)
}

func TestPodThatProcessesCantBeIsRejectedByField(t *testing.T) {
	y := newYard(t)
	y.put("nocommand", "apiVersion: v1\nkind: Pod\nmetadata: {name: nocommand}\nspec: {containers: [{name: main, image: nginx}]}\n")
	agent := y.start("--until-settled", "-o", "json")
	require.Equal(t, exitOK, agent.wait())
	pod := agent.list()["nocommand"]
	require.Equal(t, v1.PodFailed, pod.Status.Phase)
	require.Contains(t, pod.Status.Message, "spec.containers[0].command")
}

func TestTwoHundredPodsAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("200 processes; not with -short")
	}
	y := newYard(t)
	for i := range atOnce {
		y.put(fmt.Sprint("p", i), y.sleeper(fmt.Sprint("p", i), "1"))
	}
	agent := y.start("--capacity", "cpu=2,memory=4Gi,pods=250", "--until-settled", "-o", "json")
	require.Equal(t, exitOK, agent.wait())
	list := agent.list()
	require.Len(t, list, atOnce)
	for name, pod := range list {
		require.True(t, conditionTrue(&pod, v1.PodReady), name)
	}
}

func TestSilentSourceIsGivenUp(t *testing.T) {
	y := newYard(t)
	require.NoError(t, os.Remove(y.manifests))
	agent := y.start("--until-settled", "--settle-timeout", "1s")
	require.Equal(t, exitOK, agent.wait())
	agent.says("SourceFailed", y.manifests, "no such file or folder")
	require.Contains(t, agent.stdout.String(), "No pods.")
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"--no-such-flag"}, {"-o", "yaml"}, {"--capacity", "cpu"}, {"--capacity", "cpu=-1"}, {"--node-ip", "home"},
		{"--node-name", "No_Name"}, {"--settle-timeout", "0s"}, {"--manifest-url", "home"}, {"--manifest-url", "ftp://host/"},
		{"--eviction-hard", "memory.available<0"}, {"--eviction-soft", "memory.available<1Gi"}, {"--enforce-node-allocatable", "pods"}, {"pods"}, {"serve"},
	} {
		r := start(t, args...)
		require.Equal(t, exitUsage, r.wait(), args)
		require.Regexp(t, "^nodeagent.*\n$", r.stderr.String(), "one line, which no help hides")
	}
	for _, arg := range []string{"--help", "help"} {
		r := start(t, arg)
		require.Equal(t, exitOK, r.wait())
		require.Contains(t, r.stderr.String(), "--until-settled gives up")
	}
}
