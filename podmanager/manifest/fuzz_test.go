package manifest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
)

// Whatever the bytes are: no panic, an answer, and pods that can be written and
// read again, with names and UIDs that stay in their folder.
func FuzzDecode(f *testing.F) {
	for _, c := range fuzzSeeds() {
		f.Add([]byte(c), true)
		f.Add([]byte(c), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, http bool) {
		d := Decoder{NodeName: "node", AllowAPIReferences: true}
		if http {
			d.Source = podmanager.SourceHTTP
		}
		r := d.Decode(data, "origin")
		if !r.List {
			require.Equal(t, 1, len(r.Pods)+len(r.Errors))
		}
		for _, err := range r.Errors {
			require.NotEmpty(t, err.Kind)
			require.True(t, strings.HasPrefix(err.Error(), "origin: "))
		}
		for _, pod := range r.Pods {
			requireWhole(t, pod)
		}
		require.Equal(t, r, d.Decode(data, "origin"), "decoding is a function")
	})
}

func requireWhole(t *testing.T, pod *v1.Pod) {
	encoded, err := json.Marshal(pod)
	require.NoError(t, err)
	var again v1.Pod
	require.NoError(t, json.Unmarshal(encoded, &again))
	for _, name := range []string{pod.Name, pod.Namespace, string(pod.UID)} {
		require.NotEmpty(t, name)
		require.False(t, name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00"), name)
	}
	for _, volume := range pod.Spec.Volumes {
		require.False(t, strings.ContainsAny(volume.Name, "./\\\x00"), volume.Name)
	}
	for c := range containers(&pod.Spec) {
		require.False(t, strings.ContainsAny(c.Name, "./\\\x00"), c.Name)
		for _, variable := range c.Env {
			require.False(t, strings.ContainsAny(variable.Name, "=\x00"), variable.Name)
		}
	}
}

func fuzzSeeds() []string {
	return []string{
		smallest, "", "\x00", "{", "[", "---\n---\n", "null", "5", smallest + "---\n" + smallest,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}`,
		podList(goodItem, goodItem, "null", "5"),
		"apiVersion: v1\nkind: List\nitems: []",
		"apiVersion: v1\nkind: Service\nspec: {ports: [{port: 80}]}",
		"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n" + smallest,
		"a: &a [*a]", "<<: &a {kind: Pod}\nb: {<<: *a}", "? {a: b}\n: c", "!!binary x", "!!float .nan", "%YAML 1.1\n---\n" + smallest,
		strings.Repeat("[", 100), "a: " + strings.Repeat("{b: ", 100),
		metadata(`uid: ../../x, namespace: ns, labels: {a: b}, annotations: {c: d}`),
		metadata(`creationTimestamp: "2030-01-02T03:00:00Z", deletionTimestamp: null, managedFields: [{}]`),
		container(`ports: [{containerPort: 80, hostPort: 80}], env: [{name: A, value: $(B)}, {name: C, valueFrom: {fieldRef: {fieldPath: "metadata.labels['a']"}}}]`),
		container(`livenessProbe: {httpGet: {port: web}}, lifecycle: {preStop: {sleep: {seconds: 3}}}`),
		container(`resources: {limits: {cpu: 1e9, memory: 1Ei, hugepages-0: 1, hugepages-2Mi: 3, a.b/c: 1m}, requests: {cpu: -5, memory: 99999999999999999999}}`),
		container(`securityContext: {windowsOptions: {runAsUserName: 'a\b'}, procMount: Unmasked, seccompProfile: {type: Localhost, localhostProfile: ../x}}`),
		container(`restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [1]}}]`),
		initContainer(`restartPolicy: Always, startupProbe: {grpc: {port: 1}}`),
		volume(`projected: {sources: [{}, {downwardAPI: {items: [{path: ..a}]}}, {clusterTrustBundle: {}}, {podCertificate: {}}]}`),
		volume(`hostPath: {path: /../x}, emptyDir: {sizeLimit: -1}`), volume(`iscsi: {}, fc: {}, azureDisk: {}, csi: {}, ephemeral: {volumeClaimTemplate: {}}`),
		withVolume(`volumeMounts: [{name: v, mountPath: /m, subPathExpr: ..}], volumeDevices: [{name: w, devicePath: x}]`),
		pod(`resources: {limits: {cpu: 1, hugepages-2Mi: 2Mi}}, overhead: {cpu: 1n}, os: {name: windows}, hostUsers: false`),
		pod(`affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}}, podAffinity: {}}, topologySpreadConstraints: [{}], tolerations: [{}]`),
		pod(`dnsPolicy: None, hostAliases: [{}], schedulingGates: [{}], schedulingGroup: {}, resourceClaims: [{}], readinessGates: [{}]`),
	}
}
