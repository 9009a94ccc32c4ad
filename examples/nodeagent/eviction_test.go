package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// These tests run real processes on a node whose memory is what a file says, so
// that they come out the same however short the machine is.
const nodeFolder = "NODEAGENT_TEST_NODE"

// fakeSurroundings are those of an agent that a test started.
func fakeSurroundings() surroundings {
	dir := os.Getenv(nodeFolder)
	if dir == "" {
		return surroundings{}
	}
	return surroundings{proc: dir, cgroups: filepath.Join(dir, "cgroups"), interval: 50 * time.Millisecond}
}

// shortNode is a node of 8 GiB memory with a threshold at 1 GiB.
type shortNode struct {
	yard
	dir string
}

func newShortNode(t *testing.T, freeMiB int) shortNode {
	t.Helper()
	n := shortNode{newYard(t), t.TempDir()}
	for path, text := range map[string]string{"loadavg": "0.1 0.2 0.3 5/331 17922\n", "sys/kernel/pid_max": "32768\n"} {
		path = filepath.Join(n.dir, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	n.prepare("low", 500)
	n.prepare("calm", 6000)
	n.set(freeMiB)
	t.Setenv(nodeFolder, n.dir)
	return n
}

// prepare writes what the node will say of its memory once the file is moved to
// meminfo.
func (n shortNode) prepare(name string, freeMiB int) {
	n.t.Helper()
	text := fmt.Sprintf("MemTotal: %d kB\nMemFree: %d kB\nInactive(file): 0 kB\n", 8<<20, freeMiB<<10)
	require.NoError(n.t, os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600))
}

func (n shortNode) set(freeMiB int) {
	n.t.Helper()
	n.prepare("next", freeMiB)
	require.NoError(n.t, os.Rename(filepath.Join(n.dir, "next"), filepath.Join(n.dir, "meminfo")))
}

// grower is a pod that grows to 32 MiB, which leaves the node short, and gives
// all back when it is stopped.
func (n shortNode) grower(name, extra string) string {
	return n.shell(name, extra, fmt.Sprintf(`
      trap "mv %[1]s/calm %[1]s/meminfo; exit 0" TERM
      x=xxxxxxxx
      while [ ${#x} -lt 33554432 ]; do x=$x$x; done
      echo has grown
      mv %[1]s/low %[1]s/meminfo
      sleep 100000 & wait`, n.dir))
}

// shell is a pod with a script; extra goes into its spec.
func (n shortNode) shell(name, extra, script string) string {
	pod := n.sleeper(name, "1")
	pod = strings.Replace(pod, "  terminationGracePeriodSeconds: 1\n", extra, 1)
	before, after, _ := strings.Cut(pod, "command: ")
	_, after, _ = strings.Cut(after, "\n")
	command, err := json.Marshal([]string{"/bin/sh", "-c", strings.ReplaceAll(script, "$", "$$")})
	require.NoError(n.t, err)
	return before + "command: " + string(command) + "\n" + after
}

// requesting asks for memory for the only container of a pod.
func requesting(pod, memory string) string {
	return strings.Replace(pod, "    image: local\n", "    image: local\n    resources: {requests: {memory: "+memory+"}}\n", 1)
}

// critical gives a pod the priority from which on nobody takes it.
func critical(pod string) string {
	return strings.Replace(pod, "spec:\n", "spec:\n  priority: 2000000000\n", 1)
}

func (n shortNode) status() answer {
	n.t.Helper()
	out, _, code := asked(n.t, n.root, "status", "-o", "json")
	var got answer
	if code == exitOK {
		require.NoError(n.t, json.Unmarshal([]byte(out), &got))
	}
	return got
}

// pod waits until the agent says something of a pod that is as wanted.
func (n shortNode) await(name string, wanted func(v1.PodStatus) bool) v1.PodStatus {
	n.t.Helper()
	var status v1.PodStatus
	eventually(n.t, func() bool {
		for _, pod := range n.status().Pods {
			if pod.Name == name+"-node" {
				status = pod.Status
				return wanted(status)
			}
		}
		return false
	}, "pod %s", name)
	return status
}

func evicted(s v1.PodStatus) bool { return s.Phase == v1.PodFailed && s.Reason == "Evicted" }

func (n shortNode) awaitPressure(status v1.ConditionStatus, reason string) {
	n.t.Helper()
	eventually(n.t, func() bool {
		node := n.status().Node
		if node == nil {
			return false
		}
		c := node.Status.Conditions[0]
		return c.Type == v1.NodeMemoryPressure && c.Status == status && c.Reason == reason
	}, "MemoryPressure is %s", status)
}

// softThreshold leaves a pod its own grace, so that a loaded machine has time to
// stop it.
var softThreshold = []string{
	"--eviction-soft", "memory.available<1Gi", "--eviction-soft-grace-period", "memory.available=1ms", "--eviction-max-pod-grace-period", "-1",
}

func TestProcessThatGrowsIsEvictedAndItsNeighboursStay(t *testing.T) {
	n := newShortNode(t, 6000)
	n.put("modest", requesting(n.sleeper("modest", "1"), "64Mi"))
	n.put("idle", n.sleeper("idle", "1"))
	n.put("vital", critical(n.shell("vital", "", `
      x=xxxxxxxx
      while [ ${#x} -lt 67108864 ]; do x=$x$x; done
      echo $$ > "$KUBEPARTS_MOUNT_PIDS/vital"
      sleep 100000 & wait`)))
	agent := n.start(softThreshold...)
	neighbours := []int{n.up("modest", 0), n.up("idle", 0), n.up("vital", 0)}

	n.put("hog", requesting(n.grower("hog", ""), "1Mi"))
	status := n.await("hog", evicted)
	require.Contains(t, status.Message, "The node was low on resource: memory. Threshold quantity: 1Gi, available: 500Mi. Container main was using ")
	require.Contains(t, status.Message, ", request is 1Mi, has larger consumption of memory. ")
	require.True(t, conditionTrue(&v1.Pod{Status: status}, v1.DisruptionTarget))
	agent.says("node/node", "EvictionThresholdMet", "Attempting to reclaim memory")
	agent.says("node/node", "NodeHasInsufficientMemory")
	agent.says("pod/default/hog-node", "Evicted", "low on resource: memory")
	for _, pid := range neighbours {
		alive(t, pid)
	}
	n.awaitLog("hog", "has grown\n") // an evicted pod can be looked at
	n.awaitPressure(v1.ConditionTrue, "KubeletHasInsufficientMemory")
	agent.stop()
	require.Contains(t, agent.stdout.String(), "MemoryPressure   True")
}

func TestPressureKeepsPodsOut(t *testing.T) {
	n := newShortNode(t, 500)
	n.put("vital", critical(n.sleeper("vital", "1")))
	agent := n.start("--eviction-hard", "memory.available<1Gi", "--eviction-pressure-transition-period", "1s")
	vital := n.up("vital", 0)
	agent.says("node/node", "NoPodToEvict")
	n.awaitPressure(v1.ConditionTrue, "KubeletHasInsufficientMemory")
	out, _, _ := asked(t, n.root, "status")
	require.Contains(t, out, "eviction      FAILING")

	n.put("idle", n.sleeper("idle", "1"))
	require.Equal(t, "Pod was rejected: The node had condition: [MemoryPressure]. ", n.await("idle", evicted).Message)
	n.put("late", critical(n.sleeper("late", "1")))
	n.up("late", 0)

	n.set(6000)
	n.awaitPressure(v1.ConditionFalse, "KubeletHasSufficientMemory")
	agent.says("node/node", "NodeHasSufficientMemory")
	n.put("idle", n.sleeper("idle", "2"))
	n.up("idle", 0)
	alive(t, vital)
	agent.stop()
}

func TestStaticPodsStayIfWanted(t *testing.T) {
	n := newShortNode(t, 500)
	n.put("idle", n.sleeper("idle", "1"))
	agent := n.start("--eviction-hard", "memory.available<1Gi", "--static-pods-stay")
	idle := n.up("idle", 0)
	agent.says("node/node", "NoPodToEvict")
	alive(t, idle)
	agent.stop()
}

// The disk is never free to the last byte, so that this threshold is always met.
func TestShortDiskTakesDeadContainersFirst(t *testing.T) {
	n := newShortNode(t, 6000)
	n.put("job", n.shell("job", "  restartPolicy: Never\n", "echo did its work"))
	n.put("idle", n.shell("idle", "", "echo is here; sleep 100000 & wait"))
	first := n.start()
	n.await("job", func(s v1.PodStatus) bool { return s.Phase == v1.PodSucceeded })
	n.awaitLog("idle", "is here\n")
	n.awaitLog("job", "did its work\n")
	first.signal(os.Kill)
	first.wait()

	second := n.start("--eviction-hard", "nodefs.available<100.0%")
	require.Contains(t, n.await("idle", evicted).Message, "The node was low on resource: ephemeral-storage. ")
	second.says("node/node", "NodeHasDiskPressure")
	second.says("node/node", "NoPodToEvict") // before it knows the pods, or a round later
	eventually(t, func() bool {
		logs, err := filepath.Glob(filepath.Join(n.root, "logs", "default_job-node_*"))
		return err == nil && len(logs) == 0
	}, "what the finished pod left is gone")
	n.awaitLog("idle", "is here\n")
	n.awaitVerdict()
	second.signal(os.Kill)
	second.wait()

	third := n.start()
	n.await("job", func(s v1.PodStatus) bool {
		return s.Phase == v1.PodSucceeded && s.ContainerStatuses[0].RestartCount == 0
	})
	n.await("idle", evicted)
	third.stop()
	require.NotContains(t, third.stderr.String(), "Started", "nothing runs again")
}

// awaitVerdict waits until it is on disk that a pod was evicted, which its status
// may tell before.
func (n shortNode) awaitVerdict() {
	n.t.Helper()
	eventually(n.t, func() bool { return len(n.grep(checkpointsOf(n.root), `"Evicted"`)) == 1 }, "a verdict on disk")
}

// awaitLog waits until a pod has written just that.
func (n shortNode) awaitLog(name, want string) {
	n.t.Helper()
	eventually(n.t, func() bool {
		out, _, code := asked(n.t, n.root, "logs", name)
		return code == exitOK && out == want
	}, "the log of %s", name)
}

func TestPodThatOverfillsItsEmptyDirIsEvicted(t *testing.T) {
	n := newShortNode(t, 6000)
	n.put("idle", n.sleeper("idle", "1"))
	n.put("filler", strings.NewReplacer(
		"volumes:\n", "volumes:\n  - {name: scratch, emptyDir: {sizeLimit: 1Mi}}\n",
		"volumeMounts: [", "volumeMounts: [{name: scratch, mountPath: /scratch}, ",
	).Replace(n.shell("filler", "", `
      head -c 4194304 /dev/zero > "$KUBEPARTS_MOUNT_SCRATCH/data"
      sleep 100000`)))
	agent := n.start()
	idle := n.up("idle", 0)
	status := n.await("filler", evicted)
	require.Equal(t, `Usage of EmptyDir volume "scratch" exceeds the limit "1Mi". `, status.Message)
	require.False(t, conditionTrue(&v1.Pod{Status: status}, v1.DisruptionTarget))
	alive(t, idle)

	n.awaitVerdict()
	agent.signal(os.Kill)
	agent.wait()
	next := n.start()
	next.says("idle-node", "Adopted")
	require.Equal(t, status.Message, n.await("filler", evicted).Message, "what was evicted stays so")
	alive(t, idle)
	next.stop()
	require.NotContains(t, next.stdout.String(), "Pressure")
}
