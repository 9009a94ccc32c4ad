package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var files = []string{"--node", "testdata/node.json", "--pods", "testdata/pods.json", "--summary", "testdata/summary.json"}

func Example() {
	err := run(append(files, "--eviction-hard", "memory.available<1Gi"), os.Stdout, io.Discard)
	fmt.Println(err)
	// Output:
	// conditions  [MemoryPressure DiskPressure]
	// short of    memory (memory.available)
	// evict       jobs/batch within 1s: The node was low on resource: memory. Threshold quantity: 1Gi, available: 700Mi. Container c was using 100Mi, request is 0, has larger consumption of memory.
	//
	// PLACE  POD                WHY
	// 1      kube-system/proxy  stays: static pod; uses 5Gi of memory, more than its request of 0, priority -20
	// 2      jobs/batch         uses 100Mi of memory, more than its request of 0, priority -10
	// 3      shop/web           uses 1Gi of memory, more than its request of 256Mi, priority 0
	// 4      shop/cache         uses 384Mi of memory, within its request of 512Mi, priority 0
	// <nil>
}

func TestJSON(t *testing.T) {
	var out bytes.Buffer
	args := append(files, "-o", "json", "--eviction-hard=", "--eviction-soft", "memory.available<1Gi", "--eviction-soft-grace-period", "memory.available=1m",
		"--eviction-max-pod-grace-period", "20")
	require.NoError(t, run(args, &out, io.Discard))
	var got struct {
		Conditions []string
		Victims    []victim
		Ranking    []struct {
			Name, Reason string
			Exceeds      bool
		}
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	require.Equal(t, []string{"MemoryPressure", "DiskPressure"}, got.Conditions)
	require.Equal(t, "batch", got.Victims[0].Name)
	require.Equal(t, 20.0, got.Victims[0].GraceSeconds)
	require.Len(t, got.Ranking, 4, "a pod that is over is none")
	require.True(t, got.Ranking[0].Exceeds)
}

func TestWhatIf(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(append(files, "--eviction-hard", "memory.available<1Mi", "--rank", "pid.available"), &out, io.Discard))
	require.Contains(t, out.String(), "evict       nobody\n")
	require.Contains(t, out.String(), "priority -20, uses 0 of pids")
}

// Such a quantity would keep a processor busy for minutes.
func TestQuantityWithoutEnd(t *testing.T) {
	node := write(t, "node.json", `{"status":{"allocatable":{"memory":"1e999999999"}}}`)
	err := run(append(files, "--node", node), io.Discard, io.Discard)
	require.ErrorContains(t, err, node+": status.allocatable[memory]: Invalid value")
}

func TestBadCommandLines(t *testing.T) {
	for _, c := range []struct {
		want string
		args []string
	}{
		{"--pods and --summary are required", nil},
		{"-o yaml", append(files, "-o", "yaml")},
		{"no such signal", append(files, "--rank", "x")},
		{"no-such-file", []string{"--pods", "no-such-file", "--summary", "testdata/summary.json"}},
		{"unsupported eviction signal x", append(files, "--eviction-hard", "x<1")},
		{"main.go: ", []string{"--pods", "testdata/pods.json", "--summary", "main.go"}},
		{`"extra" is no flag`, append(files, "extra")},
		// One file in the place of another is not a node at peace.
		{"pods.json: it is no stats summary: node.nodeName is missing", []string{"--pods", "testdata/pods.json", "--summary", "testdata/pods.json"}},
		{`summary.json: kind is "", and should be List or PodList`, []string{"--pods", "testdata/summary.json", "--summary", "testdata/summary.json"}},
		{`pods.json: kind is "List", and should be Node`, append(files, "--node", "testdata/pods.json")},
		{`nodes.json, items[0]: kind is "Node", and should be Pod`, append(files, "--pods", write(t, "nodes.json", `{"kind": "List", "items": [{"kind": "Node"}]}`))},
		{`node.json: it is node "n2", and the summary is of "n1"`, append(files, "--node", write(t, "node.json", `{"kind": "Node", "metadata": {"name": "n2"}}`))},
	} {
		t.Run(c.want, func(t *testing.T) {
			require.ErrorContains(t, run(c.args, io.Discard, io.Discard), c.want)
		})
	}
}

// The command of the package's comment lists the pods of one node; who leaves that out
// of it gets the same answer.
func TestPodsOfOtherNodesAreLeftOut(t *testing.T) {
	pods := write(t, "pods.json", `{"kind": "PodList", "items": [
		{"metadata": {"name": "here", "uid": "u-batch"}, "spec": {"nodeName": "n1"}},
		{"metadata": {"name": "elsewhere"}, "spec": {"nodeName": "n2"}}]}`)
	var out bytes.Buffer
	require.NoError(t, run(append(files, "--pods", pods, "--eviction-hard", "memory.available<1Gi"), &out, io.Discard))
	require.Contains(t, out.String(), "here")
	require.NotContains(t, out.String(), "elsewhere")
}

func write(t *testing.T, name, text string) (path string) {
	path = filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
