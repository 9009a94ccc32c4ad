package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// sized is a sleeper with a UID of its own, so that another version of its manifest
// is the same pod, that asks for so much cpu.
func (y yard) sized(name, cpu string) string {
	return strings.NewReplacer(
		"metadata: {", "metadata: {uid: uid-"+name+", ",
		"    image: local\n", fmt.Sprintf("    image: local\n    resources: {requests: {cpu: %q}}\n", cpu),
	).Replace(y.sleeper(name, ""))
}

// A manifest that asks for more changes what its pod has and not its process: at
// once, when there is room, also after the agent was killed meanwhile.
func TestResizeOfARunningPod(t *testing.T) {
	y := newYard(t)
	y.put("web", y.sized("web", "500m"))
	y.put("other", y.sized("other", "1"))
	r := y.start()
	web, other := y.up("web", 0), y.up("other", 0)

	y.put("web", y.sized("web", "1"))
	r.says("ResizeStarted", `"cpu":"1"`)
	r.says("ResizeCompleted", `"cpu":"1"`)

	y.put("web", y.sized("web", "2"))
	granted := `"Allocated":{"containers":{"main":{"requests":{"cpu":"1"}}}}`
	eventually(t, func() bool { return y.remembers("uid-web", granted) }, "what web was granted is on disk")
	r.says("ResizeDeferred", "default/web-node", "Pod resize OutOfcpu", "requested: 2000, used: 1000, capacity: 2000")
	r.signal(syscall.SIGKILL)
	r.wait()

	r = y.start("-o", "json")
	y.put("late", y.sized("late", "1")) // the node is full by what was granted
	r.says("late-node", "OutOfcpu", "used: 2000")
	require.NotContains(t, r.stderr.String(), "ResizeStarted")
	alive(t, web)
	alive(t, other)
	require.NoError(t, os.Remove(filepath.Join(y.manifests, "other.yaml")))
	y.gone(other)
	r.says("ResizeStarted", `"cpu":"2"`)
	r.says("ResizeCompleted", `"cpu":"2"`)
	y.until("is said to have it", "web", func(p *v1.Pod) bool {
		return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].AllocatedResources.Cpu().String() == "2"
	})
	r.stop()
	status := r.list()["web"].Status
	require.Zero(t, status.ContainerStatuses[0].RestartCount)
	require.Equal(t, web, y.lastPID("web"), "it is the process that ran first")
	require.Equal(t, "2", status.ContainerStatuses[0].AllocatedResources.Cpu().String())
}

// What runs stays, on a node that has become too small for it; nobody else comes.
func TestRestartOnAFullNodeHarmsNobody(t *testing.T) {
	y := newYard(t)
	y.put("web", y.sized("web", "1"))
	y.put("other", y.sized("other", "1"))
	r := y.start()
	web, other := y.up("web", 0), y.up("other", 0)
	r.signal(syscall.SIGKILL)
	r.wait()

	r = y.start("-o", "json", "--capacity", "cpu=500m,pods=1")
	r.says("web-node", "Adopted")
	r.says("other-node", "Adopted")
	y.put("late", y.sized("late", "1m"))
	r.says("late-node", "OutOfpods", "Node didn't have enough resource: pods, requested: 1, used: 2, capacity: 1")
	for _, name := range []string{"web", "other"} {
		y.until("runs", name, isRunning)
	}
	y.until("has failed", "late", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodFailed })
	alive(t, web)
	alive(t, other)
	r.stop()
	pods := r.list()
	require.Equal(t, "Pod was rejected: Node didn't have enough resource: pods, requested: 1, used: 2, capacity: 1", pods["late"].Status.Message)
	for _, name := range []string{"web", "other"} {
		require.Equal(t, v1.PodRunning, pods[name].Status.Phase)
		require.Zero(t, pods[name].Status.ContainerStatuses[0].RestartCount)
	}
}

// remembers tells whether a pod's record on disk holds the text.
func (y yard) remembers(uid, text string) bool {
	record, _ := os.ReadFile(filepath.Join(checkpointsOf(y.root), "pod-"+uid))
	return strings.Contains(string(record), text)
}

// lastPID is what the pod's process wrote last, dead or alive.
func (y yard) lastPID(name string) (pid int) {
	y.t.Helper()
	data, err := os.ReadFile(filepath.Join(y.pids, name))
	require.NoError(y.t, err)
	_, err = fmt.Sscan(string(data), &pid)
	require.NoError(y.t, err)
	return pid
}
