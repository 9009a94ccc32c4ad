package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// These tests run the agent as a person does: as a process of its own, with
// pods that are real processes. The test binary is the agent when it is told so.
const beAgent = "NODEAGENT_TEST_IS_AGENT"

// patience is how long a test waits for what must happen; it says nothing about
// speed.
const patience = 5 * time.Minute

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

func readPID(t *testing.T, y yard, name string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(y.pids, name))
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	require.NoError(t, err)
	return pid
}
