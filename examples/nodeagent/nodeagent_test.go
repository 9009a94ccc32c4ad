package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// These tests run the agent as a person does: as a process of its own, with
// pods that are real processes. The test binary is the agent when it is told so.
const beAgent = "NODEAGENT_TEST_IS_AGENT"

func TestMain(m *testing.M) {
	// The sample's web server runs a copy of this program.
	if os.Getenv(beAgent) != "" || len(os.Args) > 1 && os.Args[1] == "serve" {
		os.Exit(run(os.Args[1:], fakeSurroundings()))
	}
	if scheme := os.Getenv(beServer); scheme != "" {
		os.Exit(serveHealth(scheme, os.Getenv(beServerAt)))
	}
	os.Exit(m.Run())
}

// patience is how long a test waits for what must happen; it says nothing about
// speed.
const patience = 5 * time.Minute

// running is an agent that was started.
type running struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout bytes.Buffer
	stderr lines
	ended  chan error
}

// lines is what an agent printed so far.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func start(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{t: t, ended: make(chan error, 1)}
	r.cmd = exec.Command(os.Args[0], args...)
	r.cmd.Env = append(os.Environ(), beAgent+"=1")
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	require.NoError(t, r.cmd.Start())
	go func() { r.ended <- r.cmd.Wait(); close(r.ended) }()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the agent said:\n%s", r.stderr.String())
			r.cmd.Process.Signal(os.Interrupt)
			r.cmd.Process.Signal(os.Interrupt)
			<-r.ended
		}
	})
	return r
}

// wait waits for the end of the agent and returns its exit status.
func (r *running) wait() int {
	r.t.Helper()
	select {
	case <-r.ended:
		return r.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		r.t.Fatalf("the agent did not end; it said:\n%s", r.stderr.String())
		return -1
	}
}

func (r *running) signal(s os.Signal) {
	r.t.Helper()
	require.NoError(r.t, r.cmd.Process.Signal(s))
}

// stop ends the agent and its pods with Ctrl-C.
func (r *running) stop() {
	r.t.Helper()
	r.signal(os.Interrupt)
	require.Equal(r.t, exitOK, r.wait())
}

// says waits for a line on stderr that has all the parts.
func (r *running) says(parts ...string) {
	r.t.Helper()
	eventually(r.t, func() bool {
		for line := range strings.Lines(r.stderr.String()) {
			if !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(line, p) }) {
				return true
			}
		}
		return false
	}, "a line with %q", parts)
}

// list reads what -o json printed.
func (r *running) list() map[string]v1.Pod {
	r.t.Helper()
	var list struct {
		Kind  string
		Items []json.RawMessage
	}
	require.NoError(r.t, json.Unmarshal(r.stdout.Bytes(), &list))
	require.Equal(r.t, "List", list.Kind)
	pods := make(map[string]v1.Pod)
	for i, raw := range list.Items {
		var pod v1.Pod
		require.NoError(r.t, json.Unmarshal(raw, &pod))
		if i == 0 {
			require.Equal(r.t, "Node", pod.Kind)
			continue
		}
		require.Equal(r.t, "Pod", pod.Kind)
		pods[strings.TrimSuffix(pod.Name, "-node")] = pod
	}
	return pods
}

func eventually(t *testing.T, ok func() bool, what string, args ...any) {
	t.Helper()
	require.Eventuallyf(t, ok, patience, 20*time.Millisecond, what, args...)
}

// yard is a folder for an agent: its manifests, its root, and where the pods
// write their PIDs; and an address for its pods.
type yard struct {
	t                     *testing.T
	manifests, root, pids string
	ip                    string
}

func newYard(t *testing.T) yard {
	t.Helper()
	dir := t.TempDir()
	y := yard{t, filepath.Join(dir, "pods"), filepath.Join(dir, "root"), filepath.Join(dir, "pids"), ownIP()}
	require.NoError(t, os.Mkdir(y.manifests, 0o700))
	require.NoError(t, os.Mkdir(y.pids, 0o700))
	t.Cleanup(func() {
		eventually(t, func() bool { return len(y.leftovers()) == 0 }, "no process is left")
	})
	return y
}

// ownIP is a loopback address that nobody else uses, so that every port of it is
// free: a free port of a shared one may be taken before it is used.
func ownIP() string {
	return net.IPv4(127, byte(1+rand.N(254)), byte(rand.N(256)), byte(1+rand.N(254))).String()
}

// start starts an agent on the yard's manifests.
func (y yard) start(args ...string) *running {
	y.t.Helper()
	return y.run(append([]string{"--manifests", y.manifests}, args...)...)
}

// run starts an agent on the yard's root. What the machine is short of, and how
// slow it is, is no matter of these tests.
func (y yard) run(args ...string) *running {
	y.t.Helper()
	return start(y.t, append([]string{
		"--root", y.root, "--node-ip", y.ip, "--eviction-hard", "", "--settle-timeout", "1h",
	}, args...)...)
}

// leftovers are the processes that still have to do with this yard: the agent, what
// its pods run, and their keepers, which only their folder gives away.
func (y yard) leftovers() []string {
	yard := []byte(filepath.Dir(y.root))
	var left []string
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range processes {
		environ, _ := os.ReadFile(filepath.Join(p, "environ"))
		cmdline, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		folder, _ := os.Readlink(filepath.Join(p, "cwd"))
		if bytes.Contains(environ, yard) || bytes.Contains(cmdline, yard) || strings.Contains(folder, string(yard)) {
			left = append(left, p+" "+string(cmdline))
		}
	}
	return left
}

// keepers are those of the yard's pods.
func (y yard) keepers() []string {
	return slices.DeleteFunc(y.leftovers(), func(p string) bool { return !strings.Contains(p, " kubeparts-keeper: ") })
}

// sleeper is a pod that writes its PID and sleeps; the note makes the content of
// two versions differ.
func (y yard) sleeper(name, note string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {note: %q}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: local
    command: [/bin/sh, -c, 'echo $$$$ > "$KUBEPARTS_MOUNT_PIDS/%s"; exec sleep 100000']
    volumeMounts: [{name: pids, mountPath: /pids}]
  volumes:
  - name: pids
    hostPath: {path: %s}
`, name, note, name, y.pids)
}

func (y yard) put(name, content string) {
	y.t.Helper()
	path := filepath.Join(y.manifests, name+".yaml")
	require.NoError(y.t, os.WriteFile(path+".tmp", []byte(content), 0o600))
	require.NoError(y.t, os.Rename(path+".tmp", path))
}

// pid is the process of a pod that is alive, or 0.
func (y yard) pid(name string) int {
	data, _ := os.ReadFile(filepath.Join(y.pids, name))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(data)))
	if pid == 0 || syscall.Kill(pid, 0) != nil {
		return 0
	}
	return pid
}

// up waits until the pod has a process, other than the one given, and returns it.
func (y yard) up(name string, not int) int {
	y.t.Helper()
	eventually(y.t, func() bool { p := y.pid(name); return p != 0 && p != not }, "pod %s runs", name)
	return y.pid(name)
}

func (y yard) gone(pid int) {
	y.t.Helper()
	eventually(y.t, func() bool { return syscall.Kill(pid, 0) != nil }, "process %d ends", pid)
}

func alive(t *testing.T, pid int) {
	t.Helper()
	require.NoError(t, syscall.Kill(pid, 0), "process %d lives", pid)
}

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
	require.True(t, isReady(ptr(pods["web"])))
	for _, dir := range []string{"pods", "logs", "samples", "sample-objects", "bin"} {
		require.NoDirExists(t, filepath.Join(y.root, dir), "everything is cleaned up")
	}
}

func ptr[T any](v T) *T { return &v }

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
	require.Zero(t, restarts(ptr(pods["a"])))
	require.Zero(t, restarts(ptr(pods["b"])))
	require.EqualValues(t, 1, restarts(ptr(pods["c"])))
	require.EqualValues(t, 143, pods["c"].Status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode)
	require.Equal(t, before["a"], readPID(t, y, "a"), "the same process to the end")
	y.gone(before["a"])
	y.gone(c)
}

func readPID(t *testing.T, y yard, name string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(y.pids, name))
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	require.NoError(t, err)
	return pid
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
		require.NotEmpty(t, r.stderr.String())
	}
	require.Equal(t, exitOK, start(t, "--help").wait())
}
