package manifest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// Each row is a manifest, and a part of the pod that it becomes: the fields that
// stand there, in the same place, as YAML.
func TestDefaults(t *testing.T) {
	const c = "containers: [{name: c, image: i"
	for _, tc := range []struct{ name, manifest, want string }{
		{"the pod", smallest, `{spec: {restartPolicy: Always, dnsPolicy: ClusterFirst, schedulerName: default-scheduler, securityContext: {},
  terminationGracePeriodSeconds: 30, enableServiceLinks: true, nodeName: "n"}, metadata: {namespace: default, name: web-n}, status: {phase: Pending}}`},
		{"what is given stays", pod(`restartPolicy: Never, terminationGracePeriodSeconds: 0, enableServiceLinks: false, dnsPolicy: Default, schedulerName: s`),
			`{spec: {restartPolicy: Never, terminationGracePeriodSeconds: 0, enableServiceLinks: false, dnsPolicy: Default, schedulerName: s}}`},
		{"a container", container(``), `{spec: {containers: [{imagePullPolicy: Always, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File}]}}`},
		{"ports", container(`ports: [{containerPort: 1}]`), `{spec: {containers: [{ports: [{protocol: TCP}]}]}}`},
		{"ports of the host", pod(`hostNetwork: true, ` + c + `, ports: [{containerPort: 1}, {containerPort: 2, hostPort: 2}]}], initContainers: [{name: s, image: i, ports: [{containerPort: 3}]}]`),
			`{spec: {containers: [{ports: [{hostPort: 1}, {hostPort: 2}]}], initContainers: [{ports: [{hostPort: 3}]}]}}`},
		{"fieldRef", container(`env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]`), `{spec: {containers: [{env: [{valueFrom: {fieldRef: {apiVersion: v1}}}]}]}}`},
		{"fileKeyRef", withVolume(`env: [{name: A, valueFrom: {fileKeyRef: {volumeName: v, path: f, key: K}}}]`), `{spec: {containers: [{env: [{valueFrom: {fileKeyRef: {optional: false}}}]}]}}`},
		{"probes", initContainer(`restartPolicy: Always, livenessProbe: {httpGet: {port: 80}}, startupProbe: {grpc: {port: 5}}`),
			`{spec: {initContainers: [{livenessProbe: {timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3, httpGet: {path: /, scheme: HTTP}},
  startupProbe: {timeoutSeconds: 1, grpc: {service: ""}}}]}}`},
		{"hooks", container(`lifecycle: {postStart: {httpGet: {port: 80}}, preStop: {httpGet: {port: 80, path: a, scheme: HTTPS}}}`),
			`{spec: {containers: [{lifecycle: {postStart: {httpGet: {path: /, scheme: HTTP}}, preStop: {httpGet: {path: a, scheme: HTTPS}}}}]}}`},

		{"requests are the limits", container(`resources: {limits: {cpu: 2, memory: 1Gi}, requests: {cpu: 1}}`), `{spec: {containers: [{resources: {requests: {cpu: "1", memory: 1Gi}}}]}}`},
		{"no less than a thousandth", container(`resources: {limits: {cpu: 1500100u}}`), `{spec: {containers: [{resources: {limits: {cpu: 1501m}, requests: {cpu: 1501m}}}]}}`},
		{"overhead", pod(`overhead: {cpu: 1u}`), `{spec: {overhead: {cpu: 1m}}}`},
		{"the pod's requests are its containers'", pod(`resources: {limits: {cpu: 5, memory: 1Gi}}, ` + c + `, resources: {requests: {cpu: 1}}}, {name: d, image: i, resources: {requests: {cpu: 1}}}]`),
			`{spec: {resources: {limits: {cpu: "5", memory: 1Gi}, requests: {cpu: "2", memory: 1Gi}}}}`},
		{"the pod's huge pages are its containers'", pod(`resources: {limits: {cpu: 5}}, ` + c + `, resources: {limits: {cpu: 1, hugepages-2Mi: 2Mi}}}]`),
			`{spec: {resources: {limits: {cpu: "5", hugepages-2Mi: 2Mi}, requests: {cpu: "1", hugepages-2Mi: 2Mi}}}}`},

		{"a volume of nothing", volume(``), `{spec: {volumes: [{emptyDir: {}}]}}`},
		{"hostPath", volume(`hostPath: {path: /a}`), `{spec: {volumes: [{hostPath: {type: ""}}]}}`},
		{"image", volume(`image: {reference: "r.io/i:v1"}`), `{spec: {volumes: [{image: {pullPolicy: IfNotPresent}}]}}`},
		{"secret", volume(`secret: {secretName: s}`), `{spec: {volumes: [{secret: {defaultMode: 420}}]}}`},
		{"configMap", volume(`configMap: {name: m, defaultMode: 256}`), `{spec: {volumes: [{configMap: {defaultMode: 256}}]}}`},
		{"downwardAPI", volume(`downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.name}}]}`), `{spec: {volumes: [{downwardAPI: {defaultMode: 420, items: [{fieldRef: {apiVersion: v1}}]}}]}}`},
		{"projected", pod(`serviceAccountName: a, volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}, {downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.name}}]}}]}}]`),
			`{spec: {serviceAccount: a, volumes: [{projected: {defaultMode: 420, sources: [{serviceAccountToken: {expirationSeconds: 3600}}, {downwardAPI: {items: [{fieldRef: {apiVersion: v1}}]}}]}}]}}`},
		{"iscsi", volume(`iscsi: {targetPortal: p, iqn: "iqn.2001-04.com.example:storage", lun: 0}`), `{spec: {volumes: [{iscsi: {iscsiInterface: default}}]}}`},
		{"rbd", volume(`rbd: {monitors: [a], image: i}`), `{spec: {volumes: [{rbd: {pool: rbd, user: admin, keyring: /etc/ceph/keyring}}]}}`},
		{"azureDisk", volume(`azureDisk: {diskName: d, diskURI: "https://x"}`), `{spec: {volumes: [{azureDisk: {cachingMode: ReadWrite, kind: Shared, fsType: ext4, readOnly: false}}]}}`},
		{"scaleIO", volume(`scaleIO: {gateway: g, system: s, volumeName: v}`), `{spec: {volumes: [{scaleIO: {storageMode: ThinProvisioned, fsType: xfs}}]}}`},
		{"ephemeral", volume(`ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1}}}}}`), `{spec: {volumes: [{ephemeral: {volumeClaimTemplate: {spec: {volumeMode: Filesystem}}}}]}}`},

		{"the one service account", pod(`serviceAccount: old`), `{spec: {serviceAccountName: old, serviceAccount: old}}`},
		{"both service accounts", pod(`serviceAccount: old, serviceAccountName: new`), `{spec: {serviceAccountName: new, serviceAccount: new}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := Decoder{NodeName: "n", AllowAPIReferences: true}.Decode([]byte(tc.manifest), "f")
			require.Empty(t, r.Errors)
			require.Len(t, r.Pods, 1)
			requirePart(t, asTree(t, r.Pods[0]), yamlTree(t, tc.want), "pod")
		})
	}
}

func TestOldInitContainerAnnotationsAreDropped(t *testing.T) {
	r := Decoder{NodeName: "n"}.Decode([]byte(metadata(`annotations: {pod.beta.kubernetes.io/init-containers: "[]", a: b}`)), "f")
	require.NotContains(t, r.Pods[0].Annotations, "pod.beta.kubernetes.io/init-containers")
	require.Contains(t, r.Pods[0].Annotations, "a")
}

func TestPullPolicy(t *testing.T) {
	const digest = "@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	for image, want := range map[string]v1.PullPolicy{
		"nginx":                  v1.PullAlways,
		"nginx:latest":           v1.PullAlways,
		"r.io:5000/nginx":        v1.PullAlways,
		"R.io/nginx":             v1.PullAlways,
		"localhost/a/b__c.d-e":   v1.PullAlways,
		"[::1]:5000/nginx":       v1.PullAlways,
		"nginx:latest" + digest:  v1.PullAlways,
		"nginx:1":                v1.PullIfNotPresent,
		"r.io:5000/nginx:1":      v1.PullIfNotPresent,
		"nginx" + digest:         v1.PullIfNotPresent,
		"nginx@sha256:aa":        v1.PullIfNotPresent,
		"Nginx":                  v1.PullIfNotPresent, // not a valid reference
		"a b":                    v1.PullIfNotPresent,
		"nginx:":                 v1.PullIfNotPresent,
		"nginx:.x":               v1.PullIfNotPresent,
		"a//b":                   v1.PullIfNotPresent,
		"-x.io/nginx":            v1.PullIfNotPresent,
		"":                       v1.PullIfNotPresent,
		digest[len("@sha256:"):]: v1.PullIfNotPresent, // an ID
		"https://r.io/nginx":     v1.PullIfNotPresent,
	} {
		require.Equal(t, want, pullPolicyOf(image), image)
	}
}

func asTree(t *testing.T, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return yamlTree(t, string(data))
}

func yamlTree(t *testing.T, text string) any {
	t.Helper()
	data, err := utilyaml.ToJSON([]byte("\n- " + text)) // a list, so that YAML is YAML
	require.NoError(t, err)
	var tree []any
	require.NoError(t, json.Unmarshal(data, &tree))
	return tree[0]
}

// requirePart requires all of part to stand in whole.
func requirePart(t *testing.T, whole, part any, path string) {
	t.Helper()
	switch part := part.(type) {
	case map[string]any:
		require.IsType(t, part, whole, path)
		for key, value := range part {
			requirePart(t, whole.(map[string]any)[key], value, path+"."+key)
		}
	case []any:
		require.IsType(t, part, whole, path)
		require.Len(t, whole, len(part), path)
		for i := range part {
			requirePart(t, whole.([]any)[i], part[i], path)
		}
	default:
		require.Equal(t, part, whole, path)
	}
}
