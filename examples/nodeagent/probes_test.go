package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// beServer makes the test binary a web server, "http" or "https", at beServerAt. It
// answers 200, and 500 once somebody asked for /sick.
const (
	beServer   = "NODEAGENT_TEST_IS_SERVER"
	beServerAt = "NODEAGENT_TEST_SERVER_AT"
)

func serveHealth(scheme, addr string) int {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFault
	}
	var sick atomic.Bool
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/sick" {
			sick.Store(true)
		} else if sick.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	server.Listener.Close()
	server.Listener = listener
	if scheme == "https" {
		server.StartTLS()
	} else {
		server.Start()
	}
	select {}
}

// probed is the manifest of a pod with the probes.
func probed(name, command, probes string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: local
    command: %s
    volumeMounts: [{name: state, mountPath: /state}]
%s
  volumes:
  - name: state
    emptyDir: {}
`, name, command, probes)
}

func (y yard) server(name, scheme string, port int, probes string) string {
	y.t.Helper()
	env := fmt.Sprintf("    env: [{name: %s, value: %s}, {name: %s, value: \"%s:%d\"}]\n", beServer, scheme, beServerAt, y.ip, port)
	return probed(name, fmt.Sprintf("[%s]", os.Args[0]), env+strings.ReplaceAll(probes, "PORT", fmt.Sprint(port)))
}

// pod asks the agent for a pod.
func (y yard) pod(name string) *v1.Pod {
	y.t.Helper()
	out, _, code := asked(y.t, y.root, "status", "-o", "json")
	if code != exitOK {
		return nil
	}
	var got answer
	require.NoError(y.t, json.Unmarshal([]byte(out), &got))
	for _, pod := range got.Pods {
		if pod.Name == name+"-node" {
			return pod
		}
	}
	return nil
}

// until waits for a pod to be as it is wanted.
func (y yard) until(what, name string, ok func(*v1.Pod) bool) *v1.Pod {
	y.t.Helper()
	var pod *v1.Pod
	eventually(y.t, func() bool { pod = y.pod(name); return pod != nil && ok(pod) }, "pod %s %s", name, what)
	return pod
}

func isReady(pod *v1.Pod) bool { return conditionTrue(pod, v1.PodReady) }

func isRunning(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodRunning }

// each is an attempt a second that has the time it needs: no machine is so slow
// that a probe fails for that.
const each = "periodSeconds: 1, timeoutSeconds: 300"

func TestProbesOfRealProcesses(t *testing.T) {
	y := newYard(t)
	const plain, secure = 8001, 8002
	y.put("plain", y.server("plain", "http", plain, `    startupProbe: {httpGet: {path: /, port: PORT}, `+each+`, failureThreshold: 1000}
    livenessProbe: {httpGet: {path: /, port: PORT}, `+each+`, failureThreshold: 2, terminationGracePeriodSeconds: 1}
    readinessProbe: {httpGet: {path: /, port: PORT}, `+each+`}`))
	y.put("secure", y.server("secure", "https", secure, `    readinessProbe: {httpGet: {path: /, port: PORT, scheme: HTTPS}, `+each+`, failureThreshold: 2}`))
	y.put("file", probed("file", `[/bin/sh, -c, 'touch "$KUBEPARTS_MOUNT_STATE/up"; exec sleep 100000']`,
		`    readinessProbe: {exec: {command: [/bin/sh, -c, 'test -e "$KUBEPARTS_MOUNT_STATE/up" || { echo it is down; exit 1; }']}, `+each+`, failureThreshold: 2}`))
	y.put("slow", probed("slow", `[/bin/sh, -c, 'exec sleep 100000']`,
		`    startupProbe: {exec: {command: [/bin/sh, -c, 'test -e "$KUBEPARTS_MOUNT_STATE/up"']}, `+each+`, failureThreshold: 1000}
    livenessProbe: {exec: {command: [/bin/sh, -c, 'test -e "$KUBEPARTS_MOUNT_STATE/up"']}, `+each+`, failureThreshold: 1}`))
	agent := y.start()
	agent.says("slow-node/main", "Unhealthy", "Startup probe failed")
	require.NoError(t, os.WriteFile(y.upFile("slow"), nil, 0o600))
	for _, name := range []string{"plain", "secure", "file", "slow"} {
		pod := y.until("is ready", name, isReady)
		require.Zero(t, restarts(pod), name)
		require.True(t, *pod.Status.ContainerStatuses[0].Started)
	}

	t.Run("a web server that turns unhealthy is restarted", func(t *testing.T) {
		get(t, fmt.Sprintf("http://%s:%d/sick", y.ip, plain))
		pod := y.until("is restarted and ready", "plain", func(p *v1.Pod) bool { return restarts(p) == 1 && isReady(p) })
		require.NotNil(t, pod.Status.ContainerStatuses[0].LastTerminationState.Terminated)
		agent.says("plain-node/main", "Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 500")
		agent.says("plain-node/main", "Killing", "Container main failed liveness probe, will be restarted")
	})
	t.Run("an HTTPS server that turns unhealthy gets no work", func(t *testing.T) {
		get(t, fmt.Sprintf("https://%s:%d/sick", y.ip, secure))
		require.Zero(t, restarts(y.until("is unready", "secure", func(p *v1.Pod) bool { return !isReady(p) })))
	})
	t.Run("a command says that a pod is down", func(t *testing.T) {
		require.NoError(t, os.Remove(y.upFile("file")))
		require.Zero(t, restarts(y.until("is unready", "file", func(p *v1.Pod) bool { return !isReady(p) })))
		out, _, _ := asked(t, y.root, "status")
		require.Contains(t, out, "readiness of main: it is down")
		require.Contains(t, out, "probes ")
		out, _, _ = asked(t, y.root, "explain", "file")
		require.Contains(t, out, "Probe readiness of main: failure; the last attempt")
		require.Contains(t, out, "was a failure: it is down")
	})
	agent.stop()
}

// upFile is what the probes of a running pod look for.
func (y yard) upFile(name string) string {
	y.t.Helper()
	pod := y.until("runs", name, isRunning)
	return filepath.Join(y.root, "pods", string(pod.UID), "volumes", "state", "up")
}

func get(t *testing.T, url string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: patience}
	defer client.CloseIdleConnections()
	resp, err := client.Get(url)
	require.NoError(t, err)
	resp.Body.Close()
}

// An agent that is killed while all is ready is followed by one that never says
// otherwise, though its probes begin anew. (kubernetes/kubernetes#100277)
func TestReadinessDoesNotFlapWhenTheAgentIsKilled_100277(t *testing.T) {
	y := newYard(t)
	said := filepath.Join(t.TempDir(), "statuses")
	names := []string{"web", "file", "plain"}
	y.put("web", y.server("web", "http", 8001, `    startupProbe: {httpGet: {path: /, port: PORT}, `+each+`, failureThreshold: 1000}
    readinessProbe: {httpGet: {path: /, port: PORT}, `+each+`, initialDelaySeconds: 1}
    livenessProbe: {httpGet: {path: /, port: PORT}, `+each+`}`))
	y.put("file", probed("file", `[/bin/sh, -c, 'touch "$KUBEPARTS_MOUNT_STATE/up"; exec sleep 100000']`,
		`    readinessProbe: {exec: {command: [/bin/sh, -c, 'test -e "$KUBEPARTS_MOUNT_STATE/up"']}, `+each+`}`))
	y.put("plain", y.sleeper("plain", "1"))
	first := y.start("--statuses", said)
	ready := func(lines []statusLine) map[string]bool {
		found := map[string]bool{}
		for _, line := range lines {
			if pod := (v1.Pod{Status: *line.Status}); isReady(&pod) {
				found[strings.TrimSuffix(line.Metadata.Name, "-node")] = true
			}
		}
		return found
	}
	eventually(t, func() bool { return len(ready(statusesIn(t, said))) == len(names) }, "all are said to be ready")
	first.signal(syscall.SIGKILL)
	first.wait()
	before := statusesIn(t, said)

	second := y.start("--statuses", said)
	for _, name := range names {
		y.until("is ready", name, isReady)
	}
	out, _, _ := asked(t, y.root, "explain", "web")
	eventually(t, func() bool {
		out, _, _ = asked(t, y.root, "explain", "web")
		return strings.Contains(out, "Probe readiness of main: success; the last attempt")
	}, "the new agent probes: %s", out)
	second.stop()
	for _, line := range statusesIn(t, said)[len(before):] {
		pod := v1.Pod{ObjectMeta: line.Metadata, Status: *line.Status}
		if stopping := line.Status.Phase != v1.PodRunning || line.Status.ContainerStatuses[0].State.Running == nil; stopping {
			continue
		}
		require.True(t, isReady(&pod), "%s at %s", pod.Name, line.Time.Format(time.RFC3339Nano))
		require.Zero(t, restarts(&pod))
	}
}

func statusesIn(t *testing.T, path string) (all []statusLine) {
	t.Helper()
	data, err := os.ReadFile(path)
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	for line := range strings.Lines(string(data)) {
		if !strings.HasSuffix(line, "\n") {
			break // the agent was killed over it
		}
		var s statusLine
		require.NoError(t, json.Unmarshal([]byte(line), &s))
		all = append(all, s)
	}
	return all
}
