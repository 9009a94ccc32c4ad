package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files")

func admit(t *testing.T, stdin string, args ...string) (status int, out, complaint string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = run(t.Context(), args, strings.NewReader(stdin), &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

func TestGolden(t *testing.T) {
	world := []string{"--node", "testdata/node.yaml", "--pods", "testdata/running.yaml"}
	for _, c := range []struct {
		name   string
		args   []string
		status int
	}{
		{"in-turn", []string{"testdata/candidates.yaml"}, oneRefused},
		{"each", []string{"--each", "testdata/candidates.yaml"}, oneRefused},
		{"json", []string{"testdata/candidates.yaml", "-o", "json"}, oneRefused},
		{"explain", []string{"--explain", "testdata/candidates.yaml"}, oneRefused},
		{"one", []string{"testdata/small.json"}, allAdmitted},
		{"until-full", []string{"--until-full", "testdata/small.json"}, allAdmitted},
		{"until-full-explain", []string{"--until-full", "--explain", "testdata/small.json"}, allAdmitted},
		{"until-full-json", []string{"--until-full", "-o", "json", "testdata/small.json"}, allAdmitted},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, out, complaint := admit(t, "", append(world, c.args...)...)
			require.Empty(t, complaint)
			require.Equal(t, c.status, status)
			file := filepath.Join("testdata", c.name+".golden")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(out), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), out)
		})
	}
}

// Whoever mends a pod learns all that keeps it out at once.
func TestAllThatStandsInTheWay(t *testing.T) {
	pod := `{"kind":"Pod","metadata":{"name":"x"},"spec":{"nodeName":"other","nodeSelector":{"disk":"fast"},"containers":[{"name":"c"}]}}`
	status, out, _ := admit(t, pod, "--node", "testdata/node.yaml", "-")
	require.Equal(t, oneRefused, status)
	require.Regexp(t, `default/x  reject   NodeAffinity  .*\n +also +NodeName +\S.*\n`, out)
}

func TestStandardInput(t *testing.T) {
	status, out, _ := admit(t, `{"kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"c"}]}}`, "--node", "testdata/node.yaml", "-")
	require.Equal(t, allAdmitted, status)
	require.Contains(t, out, "default/x  admit")
}

func TestBadInput(t *testing.T) {
	pod := func(rest string) string { return "kind: Pod\nmetadata: {name: x}\n" + rest }
	for _, c := range []struct{ name, stdin, says string }{
		{"a quantity that is none", pod("spec: {containers: [{name: c, resources: {requests: {cpu: lots}}}]}"),
			`-: spec.containers[0].resources.requests[cpu]: Invalid value: "lots": quantities must match`},
		{"a quantity without end", pod("spec: {volumes: [{name: v, emptyDir: {sizeLimit: 1e999999999}}]}"),
			"-: spec.volumes[0].emptyDir.sizeLimit: Invalid value"},
		{"another type", pod("spec: {containers: {name: c}}"), "spec.containers"},
		{"another kind", "kind: Service\nmetadata: {name: x}", `-: kind is "Service", and should be Pod`},
		{"in a list", "kind: List\nitems: [{kind: Secret}]", `-, items[0]: kind is "Secret"`},
		{"in a second document", pod("") + "\n---\nkind: ConfigMap", "-, document 2: kind is"},
		{"lists in lists", strings.Repeat(`{"kind":"List","items":[`, 5000) + strings.Repeat("]}", 5000), "nested more than 10 deep"},
		{"no name", "kind: Pod", "metadata.name is missing"},
		{"no YAML", "\t{", "-: "},
		{"a number", "42", "it is no object"},
		{"nothing", "", "it holds no pod"},
		{"a pod twice", pod("") + "\n---\n" + pod(""), "given twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, out, complaint := admit(t, c.stdin, "--node", "testdata/node.yaml", "-")
			require.Equal(t, badInput, status)
			require.Empty(t, out)
			require.Contains(t, complaint, c.says)
		})
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"testdata/small.json"}, "--node is missing"},
		{[]string{"--node", "testdata/node.yaml"}, "no candidate"},
		{[]string{"--node", "testdata/none.yaml", "testdata/small.json"}, "none.yaml"},
		{[]string{"--node", "testdata/running.yaml", "testdata/small.json"}, "should hold one Node"},
		{[]string{"--node", "testdata/node.yaml", "-o", "xml", "testdata/small.json"}, "table or json"},
		{[]string{"--node", "-", "-"}, "it holds 0 objects"},
		{[]string{"--node", "testdata", "testdata/small.json"}, "testdata: read testdata: is a directory"},
		{[]string{"--node", "testdata/node.yaml", "--pods", "testdata", "testdata/small.json"}, "is a directory"},
		{[]string{"--node", "testdata/node.yaml", "testdata/node.yaml"}, `kind is "Node", and should be Pod`},
		{[]string{"--node", "testdata/node.yaml", "--until-full", "testdata/candidates.yaml"}, "takes one candidate, not 4"},
		{[]string{"--node", "testdata/node.yaml", "--until-full", "--each", "testdata/small.json"}, "leave one of them out"},
		{[]string{"--nonsense"}, "nonsense"},
		{[]string{"--node", "testdata/node.yaml", "--pods", "a", "--pods", "b", "testdata/small.json"}, "-pods: it is given twice"},
	} {
		status, _, complaint := admit(t, "", c.args...)
		require.Equal(t, badInput, status, c.args)
		require.Contains(t, complaint, c.says)
	}
}

// A slip in a field's name would be taken for a pod that asks for nothing.
func TestUnknownFieldIsAWarning(t *testing.T) {
	status, out, complaint := admit(t, "kind: Pod\nmetadata: {name: x}\nspec: {containers: [{name: c, resource: {requests: {cpu: 64}}}]}",
		"--node", "testdata/node.yaml", "-")
	require.Equal(t, allAdmitted, status)
	require.Contains(t, out, "default/x  admit")
	require.Equal(t, "admit: warning: -: unknown field \"resource\" is passed over\n", complaint)
}

// One with the UID of the pod that runs is judged in its place, and runs on as it is
// if it is refused; without the UID it is another pod.
func TestCandidateOfTheNameOfOneThatRuns(t *testing.T) {
	const uid = "5f0f7b60-0001-4000-8000-000000000001"
	for _, c := range []struct {
		uid, cpu, used string
		status         int
	}{{uid, "1", "1500m", allAdmitted}, {uid, "1200m", "1700m", allAdmitted}, {uid, "9", "1500m", oneRefused}, {"", "1", "1500m", oneRefused}} {
		pod := "kind: Pod\nmetadata: {name: web-1, uid: '" + c.uid + "'}\nspec: {containers: [{name: c, resources: {requests: {cpu: " + c.cpu + "}}}]}"
		status, out, complaint := admit(t, pod, "--node", "testdata/node.yaml", "--pods", "testdata/running.yaml", "-")
		require.Equal(t, c.status, status, c)
		require.Regexp(t, "cpu +"+c.used+" ", out)
		require.Equal(t, c.uid == "", strings.Contains(complaint, "candidate default/web-1: a pod of that name runs already"), complaint)
	}
}

// Nobody gives way to a pod that runs and wants more, and the explanation says so too.
func TestExplanationOfACriticalPodThatGrows(t *testing.T) {
	pod := "kind: Pod\nmetadata: {name: web-1, uid: 5f0f7b60-0001-4000-8000-000000000001}\n" +
		"spec: {priority: 2000001000, containers: [{name: c, resources: {requests: {cpu: 1900m}}}]}"
	status, out, _ := admit(t, pod, "--node", "testdata/node.yaml", "--pods", "testdata/running.yaml", "--explain", "-")
	require.Equal(t, oneRefused, status)
	require.Contains(t, out, "default/web-1  reject   OutOfcpu")
	require.Contains(t, out, "default/web-1: reject, OutOfcpu: ")
	require.NotContains(t, out, "Preempting")
}

// Bad nodes give an error with the field, or a verdict.
func TestOddNodes(t *testing.T) {
	for _, c := range []struct {
		node, says string
		status     int
	}{
		{`{"kind":"Node"}`, "-: metadata.name is missing", badInput},
		{`{"kind":"NodeList","items":[{"status":{"allocatable":{"cpu":"x"}}}]}`, "-, items[0]: status.allocatable[cpu]: Invalid value", badInput},
		{`{"kind":"Node","metadata":{"name":"n"},"status":{"allocatable":[]}}`, "status.allocatable: array instead of", badInput},
		{`{"kind":"Node","metadata":{"name":"n"}}`, "OutOfpods  Node didn't have enough resource: pods, requested: 1, used: 0, capacity: 0", oneRefused},
		{`{"kind":"Node","metadata":{"name":"n"},"status":{"allocatable":{"pods":"-3"}}}`, "OutOfpods", oneRefused},
	} {
		status, out, complaint := admit(t, c.node, "--node", "-", "testdata/small.json")
		require.Equal(t, c.status, status, c.node)
		require.Contains(t, out+complaint, c.says)
	}
}

// Thousands of ports and of terms that nobody can read are a verdict.
func TestVeryLargePod(t *testing.T) {
	ports := strings.TrimSuffix(strings.Repeat(`{"hostPort":80,"containerPort":80},`, 5000), ",")
	terms := strings.TrimSuffix(strings.Repeat(`{"matchExpressions":[{"key":"zone","operator":"Near","values":["a"]}]},`, 5000), ",")
	pod := `{"kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"c","ports":[` + ports + `]}],
		"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[` + terms + `]}}}}}`
	status, out, _ := admit(t, pod, "--node", "testdata/node.yaml", "-")
	require.Equal(t, oneRefused, status)
	require.Contains(t, out, "default/x  reject   NodeAffinity  Predicate NodeAffinity failed")
}

// What kubectl prints of all namespaces of a large cluster.
func TestTenThousandPods(t *testing.T) {
	var pods strings.Builder
	pods.WriteString(`{"kind":"List","apiVersion":"v1","items":[`)
	for i := range 10_000 {
		phase, node := "Running", "n1"
		if i%4 == 0 {
			phase = "Succeeded"
		} else if i%4 == 1 {
			node = "n2"
		}
		fmt.Fprintf(&pods, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p-%d","uid":"u-%[1]d","managedFields":[{"manager":"kubelet","fieldsType":"FieldsV1","fieldsV1":{"f:status":{}}}]},
			"spec":{"nodeName":%q,"containers":[{"name":"c","resources":{"requests":{"cpu":"1m"}}}]},"status":{"phase":%q}},`, i, node, phase)
	}
	status, out, complaint := admit(t, strings.TrimSuffix(pods.String(), ",")+"]}", "--node", "testdata/node.yaml", "--pods", "-", "testdata/small.json")
	require.Empty(t, complaint)
	require.Equal(t, oneRefused, status)
	require.Contains(t, out, "node n1, 5000 pods run\nleft out: 2500 finished, 2500 of other nodes\n")
	require.Contains(t, out, "OutOfpods  Node didn't have enough resource: pods, requested: 1, used: 5000, capacity: 110")
}

// Pods that are to get their names from the API server get some here.
func TestGeneratedNames(t *testing.T) {
	pod := "kind: Pod\nmetadata: {generateName: job-}\n"
	status, out, _ := admit(t, pod+"---\n"+pod, "--node", "testdata/node.yaml", "-")
	require.Equal(t, allAdmitted, status)
	require.Contains(t, out, "default/job-new1  admit")
	require.Contains(t, out, "default/job-new2  admit")
}

// FuzzRead decodes whatever there is: an error or objects, no panic.
func FuzzRead(f *testing.F) {
	f.Add("kind: Pod\nmetadata: {name: x}\nspec: {containers: [{resources: {requests: {cpu: '-1e30'}}}]}")
	f.Add("kind: List\nitems: [{kind: List, items: [null]}]")
	f.Add(`{"kind":"Pod"}{"kind":"Pod"}`)
	f.Fuzz(func(t *testing.T, text string) {
		_, _, _ = admit(t, text, "--node", "testdata/node.yaml", "-o", "json", "--explain", "-")
	})
}

// The kubelet of a node under pressure keeps pods out.
func TestNodeUnderPressure(t *testing.T) {
	node, err := os.ReadFile("testdata/node.yaml")
	require.NoError(t, err)
	under := func(condition, status string) string {
		return strings.Replace(string(node), "- type: Ready\n    status: \"True\"", "- type: "+condition+"\n    status: \""+status+"\"", 1)
	}
	for _, c := range []struct {
		condition, status, requests string
		want                        string
	}{
		{"MemoryPressure", "True", "", "default/x  reject   Evicted  The node had condition: [MemoryPressure]."},
		{"MemoryPressure", "True", "cpu: 1m", "default/x  admit"},
		{"DiskPressure", "True", "cpu: 1m", "default/x  reject   Evicted  The node had condition: [DiskPressure]."},
		{"DiskPressure", "False", "", "default/x  admit"},
		{"Ready", "True", "", "default/x  admit"},
	} {
		file := filepath.Join(t.TempDir(), "node.yaml")
		require.NoError(t, os.WriteFile(file, []byte(under(c.condition, c.status)), 0o600))
		pod := "kind: Pod\nmetadata: {name: x}\nspec: {containers: [{name: c, resources: {requests: {" + c.requests + "}}}]}\n"
		_, out, complaint := admit(t, pod, "--node", file, "-")
		require.Empty(t, complaint)
		require.Contains(t, out, c.want)
	}
}

// Files may hold anything, and what a terminal would act upon is not for it.
func TestControlCharactersAreEscaped(t *testing.T) {
	pod := `{"kind":"Pod","metadata":{"name":"x\u001b[2J\ny"},"spec":{"nodeName":"n\u0007\u009b","containers":[{"name":"c","resources":{"requests":{"cpu":"900"}}}]}}`
	for _, args := range [][]string{{"-"}, {"--explain", "-"}, {"--until-full", "-"}} {
		_, out, complaint := admit(t, pod, append([]string{"--node", "testdata/node.yaml"}, args...)...)
		require.Empty(t, complaint)
		require.Contains(t, out, `default/x\x1b[2J\ny`)
		require.Equal(t, -1, strings.IndexFunc(out, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }), out)
	}
	_, _, complaint := admit(t, pod, "--node", "testdata/node.yaml", "--pods", "-", "no\x1bfile")
	require.NotContains(t, complaint, "\x1b")
}
