package manifest

import "testing"

const c0, s0 = "spec.containers[0].", "spec.initContainers[0]."

func TestRulesContainers(t *testing.T) {
	testRules(t, []rule{
		{pod(`containers: []`), refused("spec.containers" + required)},
		{pod(`containers: [{image: i}]`), refused(c0 + "name" + required)},
		{pod(`containers: [{name: A_b, image: i}]`), refused(c0 + "name" + invalid)},
		{pod(`containers: [{name: ../x, image: i}]`), refused(c0 + "name" + invalid)},
		{pod(`containers: [{name: c}]`), refused(c0 + "image" + required)},
		{pod(`containers: [{name: c, image: " i"}]`), refused(c0 + "image" + invalid)},
		{pod(`containers: [{name: c, image: i}, {name: c, image: i}]`), refused("spec.containers[1].name" + duplicate)},
		{pod(`initContainers: [{name: c, image: i}]`), refused(c0 + "name" + duplicate)},
		{container(`imagePullPolicy: Sometimes`), refused(c0 + "imagePullPolicy" + unsupported)},
		{container(`terminationMessagePolicy: Mail`), refused(c0 + "terminationMessagePolicy" + unsupported)},
		{pod(`ephemeralContainers: [{name: e, image: i}]`), refused("spec.ephemeralContainers" + forbidden)},

		// An init container that runs to its end has no probes and hooks.
		{initContainer(`restartPolicy: Always, startupProbe: {exec: {command: [a]}}, lifecycle: {preStop: {exec: {command: [a]}}}`), nil},
		{initContainer(`livenessProbe: {exec: {command: [a]}}`), refused(s0 + "livenessProbe" + forbidden)},
		{initContainer(`readinessProbe: {exec: {command: [a]}}`), refused(s0 + "readinessProbe" + forbidden)},
		{initContainer(`startupProbe: {exec: {command: [a]}}`), refused(s0 + "startupProbe" + forbidden)},
		{initContainer(`lifecycle: {}`), refused(s0 + "lifecycle" + forbidden)},
		{initContainer(`restartPolicy: Always, livenessProbe: {}`), refused(s0 + "livenessProbe" + required)},

		{container(`resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}]`), nil},
		{container(`resizePolicy: [{resourceName: disk, restartPolicy: NotRequired}]`), refused(c0 + "resizePolicy[0].resourceName" + unsupported)},
		{container(`resizePolicy: [{resourceName: cpu, restartPolicy: Perhaps}]`), refused(c0 + "resizePolicy[0].restartPolicy" + unsupported)},
		{container(`resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}, {resourceName: cpu, restartPolicy: NotRequired}]`), refused(c0 + "resizePolicy[1].resourceName" + duplicate)},
		{pod(`restartPolicy: Never, containers: [{name: c, image: i, resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]}]`), refused(c0 + "resizePolicy[0].restartPolicy" + invalid)},
	})
}

func TestRulesRestart(t *testing.T) {
	const exit = `exitCodes: {operator: In, values: [3]}`
	many := ""
	for range 21 {
		many += "{action: Restart, " + exit + "}, "
	}
	codes := ""
	for range 256 {
		codes += "1, "
	}
	testRules(t, []rule{
		{container(`restartPolicy: Never, restartPolicyRules: [{action: Restart, ` + exit + `}, {action: RestartAllContainers, ` + exit + `}]`), nil},
		{container(`restartPolicy: Sometimes`), refused(c0 + "restartPolicy" + unsupported)},
		{initContainer(`restartPolicy: ""`), refused(s0 + "restartPolicy" + required)},
		{container(`restartPolicyRules: [{action: Restart, ` + exit + `}]`), refused(c0 + "restartPolicy" + required)},
		{container(`restartPolicy: Never, restartPolicyRules: [{action: Dance, ` + exit + `}]`), refused(c0 + "restartPolicyRules[0].action" + unsupported)},
		{container(`restartPolicy: Never, restartPolicyRules: [{action: Restart}]`), refused(c0 + "restartPolicyRules[0].exitCodes" + required)},
		{container(`restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: Like, values: [1]}}]`), refused(c0 + "restartPolicyRules[0].exitCodes.operator" + unsupported)},
		{container(`restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [` + codes + `]}}]`), refused(c0 + "restartPolicyRules[0].exitCodes.values" + tooMany)},
		{container(`restartPolicy: Never, restartPolicyRules: [` + many + `]`), refused(c0 + "restartPolicyRules" + tooMany)},
	})
}

func TestRulesPorts(t *testing.T) {
	testRules(t, []rule{
		{container(`ports: [{name: http, containerPort: 80}, {name: dns, containerPort: 53, protocol: UDP, hostPort: 53}]`), nil},
		{container(`ports: [{name: Bad_Port, containerPort: 80}]`), refused(c0 + "ports[0].name" + invalid)},
		{container(`ports: [{name: a, containerPort: 80}, {name: a, containerPort: 81}]`), refused(c0 + "ports[1].name" + duplicate)},
		{container(`ports: [{name: a}]`), refused(c0 + "ports[0].containerPort" + required)},
		{container(`ports: [{containerPort: 65536}]`), refused(c0 + "ports[0].containerPort" + invalid)},
		{container(`ports: [{containerPort: 80, hostPort: -1}]`), refused(c0 + "ports[0].hostPort" + invalid)},
		{container(`ports: [{containerPort: 80, protocol: tcp}]`), refused(c0 + "ports[0].protocol" + unsupported)},
		{pod(`containers: [{name: c, image: i, ports: [{containerPort: 80, hostPort: 80}]}, {name: d, image: i, ports: [{containerPort: 81, hostPort: 80}]}]`), refused("spec.containers[1].ports[0].hostPort" + duplicate)},
		{pod(`containers: [{name: c, image: i, ports: [{containerPort: 80, hostPort: 80}, {containerPort: 80, hostPort: 80, hostIP: 1.2.3.4}, {containerPort: 80, hostPort: 80, protocol: UDP}]}]`), nil},
		{initContainer(`ports: [{containerPort: 80, hostPort: 80}, {containerPort: 81, hostPort: 80}]`), refused(s0 + "ports[1].hostPort" + duplicate)},
		{pod(`hostNetwork: true, containers: [{name: c, image: i, ports: [{containerPort: 80, hostPort: 81}]}]`), refused(c0 + "ports[0].containerPort" + invalid)},
	})
}

func TestRulesProbesAndHooks(t *testing.T) {
	testRules(t, []rule{
		{container(`livenessProbe: {httpGet: {port: 80, httpHeaders: [{name: X-A, value: b}]}}, readinessProbe: {tcpSocket: {port: web}, successThreshold: 3}, startupProbe: {grpc: {port: 5}}`), nil},
		{container(`readinessProbe: {periodSeconds: 3}`), refused(c0 + "readinessProbe" + required)},
		{container(`readinessProbe: {exec: {command: [a]}, tcpSocket: {port: 80}}`), refused(c0 + "readinessProbe" + forbidden)},
		{container(`readinessProbe: {exec: {command: []}}`), refused(c0 + "readinessProbe.exec.command" + required)},
		{container(`readinessProbe: {httpGet: {port: 0}}`), refused(c0 + "readinessProbe.httpGet.port" + invalid)},
		{container(`readinessProbe: {httpGet: {port: "80"}}`), refused(c0 + "readinessProbe.httpGet.port" + invalid)},
		{container(`readinessProbe: {httpGet: {port: 80, scheme: http}}`), refused(c0 + "readinessProbe.httpGet.scheme" + unsupported)},
		{container(`readinessProbe: {httpGet: {port: 80, httpHeaders: [{name: "a b", value: c}]}}`), refused(c0 + "readinessProbe.httpGet.httpHeaders[0].name" + invalid)},
		{container(`readinessProbe: {tcpSocket: {port: 70000}}`), refused(c0 + "readinessProbe.tcpSocket.port" + invalid)},
		{container(`readinessProbe: {grpc: {port: 0}}`), refused(c0 + "readinessProbe.grpc.port" + invalid)},
		{container(`readinessProbe: {exec: {command: [a]}, initialDelaySeconds: -1, timeoutSeconds: -1, periodSeconds: -1, successThreshold: -1, failureThreshold: -1}`),
			refused(c0+"readinessProbe.initialDelaySeconds"+invalid, c0+"readinessProbe.timeoutSeconds"+invalid, c0+"readinessProbe.periodSeconds"+invalid,
				c0+"readinessProbe.successThreshold"+invalid, c0+"readinessProbe.failureThreshold"+invalid)},
		{container(`readinessProbe: {exec: {command: [a]}, terminationGracePeriodSeconds: 3}`), refused(c0 + "readinessProbe.terminationGracePeriodSeconds" + invalid)},
		{container(`livenessProbe: {exec: {command: [a]}, terminationGracePeriodSeconds: 0}`), refused(c0 + "livenessProbe.terminationGracePeriodSeconds" + invalid)},
		{container(`livenessProbe: {exec: {command: [a]}, successThreshold: 2}`), refused(c0 + "livenessProbe.successThreshold" + invalid)},
		{container(`startupProbe: {exec: {command: [a]}, successThreshold: 2}`), refused(c0 + "startupProbe.successThreshold" + invalid)},

		{container(`lifecycle: {postStart: {httpGet: {port: 80}}, preStop: {sleep: {seconds: 30}}}`), nil},
		{container(`lifecycle: {preStop: {}}`), refused(c0 + "lifecycle.preStop" + required)},
		{container(`lifecycle: {postStart: {exec: {}}}`), refused(c0 + "lifecycle.postStart.exec.command" + required)},
		{container(`lifecycle: {preStop: {sleep: {seconds: 31}}}`), refused(c0 + "lifecycle.preStop.sleep.seconds" + invalid)},
		{container(`lifecycle: {preStop: {sleep: {seconds: -1}}}`), refused(c0 + "lifecycle.preStop.sleep.seconds" + invalid)},
		{container(`lifecycle: {stopSignal: SIGUSR1}`), refused(c0 + "lifecycle.stopSignal" + forbidden)},
		{pod(`os: {name: linux}, containers: [{name: c, image: i, lifecycle: {stopSignal: SIGRTMIN+3}}]`), nil},
		{pod(`os: {name: linux}, containers: [{name: c, image: i, lifecycle: {stopSignal: SIGFOO}}]`), refused(c0 + "lifecycle.stopSignal" + unsupported)},
		{pod(`os: {name: windows}, containers: [{name: c, image: i, lifecycle: {stopSignal: SIGUSR1}}]`), refused(c0 + "lifecycle.stopSignal" + unsupported)},
	})
}

func TestRulesEnv(t *testing.T) {
	from := func(source string) string { return container(`env: [{name: A, valueFrom: {` + source + `}}]`) }
	const v = c0 + "env[0].valueFrom"
	testRules(t, []rule{
		{container(`env: [{name: A.b-c_1, value: x}, {name: "1 :", value: z}]`), nil},
		{container(`env: [{value: x}]`), refused(c0 + "env[0].name" + required)},
		{container(`env: [{name: A=B, value: x}]`), refused(c0 + "env[0].name" + invalid)},
		{container(`env: [{name: "A\0B", value: x}]`), refused(c0 + "env[0].name" + invalid)},
		{container(`env: [{name: A, value: x, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]`), refused(v + invalid)},
		{from(``), refused(v + required)},
		{from(`fieldRef: {fieldPath: metadata.name}, resourceFieldRef: {resource: limits.cpu}`), refused(v + invalid)},
		{from(`fieldRef: {fieldPath: metadata.name, apiVersion: v2}`), refused(v + ".fieldRef.apiVersion" + invalid)},
		{from(`fieldRef: {}`), refused(v + ".fieldRef.fieldPath" + required)},
		{from(`fieldRef: {fieldPath: spec.containers}`), refused(v + ".fieldRef.fieldPath" + unsupported)},
		{from(`fieldRef: {fieldPath: metadata.labels}`), refused(v + ".fieldRef.fieldPath" + unsupported)},
		{from(`fieldRef: {fieldPath: "metadata.labels['a/b']"}`), nil},
		{from(`fieldRef: {fieldPath: "metadata.labels['a b']"}`), refused(v + ".fieldRef.fieldPath" + invalid)},
		{from(`fieldRef: {fieldPath: "metadata.annotations['A']"}`), nil},
		{from(`fieldRef: {fieldPath: "metadata.name['a']"}`), refused(v + ".fieldRef.fieldPath" + invalid)},
		{from(`resourceFieldRef: {resource: requests.memory, divisor: 1Mi}`), nil},
		{from(`resourceFieldRef: {resource: limits.hugepages-2Mi}`), nil},
		{from(`resourceFieldRef: {}`), refused(v + ".resourceFieldRef.resource" + required)},
		{from(`resourceFieldRef: {resource: limits.gpu}`), refused(v + ".resourceFieldRef.resource" + unsupported)},
		{from(`resourceFieldRef: {resource: limits.cpu, divisor: 1k}`), refused(v + ".resourceFieldRef.divisor" + invalid)},
		{from(`resourceFieldRef: {resource: limits.memory, divisor: 3}`), refused(v + ".resourceFieldRef.divisor" + invalid)},
		{from(`configMapKeyRef: {key: k}`), refused(v + ".configMapKeyRef.name" + required)},
		{from(`configMapKeyRef: {name: cm}`), refused(v + ".configMapKeyRef.key" + required)},
		{from(`configMapKeyRef: {name: cm, key: a/b}`), refused(v + ".configMapKeyRef.key" + invalid)},
		{from(`secretKeyRef: {key: k}`), refused(v + ".secretKeyRef.name" + required)},
		{from(`secretKeyRef: {name: cm, key: ".."}`), refused(v + ".secretKeyRef.key" + invalid)},
		{withVolume(`env: [{name: A, valueFrom: {fileKeyRef: {volumeName: v, path: f, key: K}}}]`), nil},
		{withVolume(`env: [{name: A, valueFrom: {fileKeyRef: {volumeName: w, path: ../f, key: "K="}}}]`),
			refused(v+".fileKeyRef.volumeName"+invalid, v+".fileKeyRef.path"+invalid, v+".fileKeyRef.key"+invalid)},
		{from(`fileKeyRef: {}`), refused(v+".fileKeyRef.volumeName"+required, v+".fileKeyRef.path"+required, v+".fileKeyRef.key"+required)},
		{from(`fileKeyRef: {volumeName: x, path: f, key: K}`), refused(v + ".fileKeyRef.volumeName" + notFound)},

		{container(`envFrom: [{prefix: P_, secretRef: {name: s}}]`), nil},
		{container(`envFrom: [{prefix: "P=", secretRef: {name: s}}]`), refused(c0 + "envFrom[0].prefix" + invalid)},
		{container(`envFrom: [{prefix: P}]`), refused(c0 + "envFrom[0]" + required)},
		{container(`envFrom: [{configMapRef: {name: c}, secretRef: {name: s}}]`), refused(c0 + "envFrom[0]" + invalid)},
		{container(`envFrom: [{configMapRef: {}}]`), refused(c0 + "envFrom[0].configMapRef.name" + required)},
		{container(`envFrom: [{secretRef: {}}]`), refused(c0 + "envFrom[0].secretRef.name" + required)},
	})
}

func TestRulesResources(t *testing.T) {
	resources := func(fragment string) string { return container("resources: {" + fragment + "}") }
	const r = c0 + "resources"
	testRules(t, []rule{
		{resources(`limits: {cpu: 1, memory: 1Gi, example.com/gpu: 2, hugepages-2Mi: 4Mi, ephemeral-storage: 1G}`), nil},
		{resources(`limits: {cpu: 1}, requests: {cpu: 2}`), refused(r + ".requests" + invalid)},
		{resources(`limits: {cpu: -1}`), refused(r+".limits[cpu]"+invalid, r+".requests[cpu]"+invalid)},
		{resources(`requests: {storage: 1}`), refused(r + ".requests[storage]" + invalid)},
		{resources(`requests: {"a b": 1}`), refused(r+".requests[a b]"+invalid, r+".requests[a b]"+invalid)},
		{resources(`limits: {requests.example.com/gpu: 1}, requests: {}`), refused(r+".limits[requests.example.com/gpu]"+invalid, r+".requests[requests.example.com/gpu]"+invalid)},
		{resources(`limits: {example.com/gpu: 1500m}`), refused(r+".limits[example.com/gpu]"+invalid, r+".requests[example.com/gpu]"+invalid)},
		{resources(`limits: {example.com/gpu: 2}, requests: {example.com/gpu: 1}`), refused(r + ".requests" + invalid)},
		{resources(`requests: {example.com/gpu: 1}`), refused(r + ".limits" + required)},
		{resources(`limits: {hugepages-2Mi: 4Mi}`), refused(r + forbidden)},
		{resources(`limits: {cpu: 1, hugepages-2Mi: 3Mi}`), refused(r+".limits[hugepages-2Mi]"+invalid, r+".requests[hugepages-2Mi]"+invalid)},
		{resources(`limits: {cpu: 1, hugepages-big: 3Mi}`), refused(r+".limits[hugepages-big]"+invalid, r+".requests[hugepages-big]"+invalid)},

		{resources(`claims: [{name: x}]`), refused(r + ".claims[0].name" + notFound)},
		{resources(`claims: [{}]`), refused(r + ".claims[0].name" + required)},
		{pod(`resourceClaims: [{name: x, resourceClaimName: q}], containers: [{name: c, image: i, resources: {claims: [{name: x, request: r}]}}]`), nil},
		{pod(`resourceClaims: [{name: x, resourceClaimName: q}], containers: [{name: c, image: i, resources: {claims: [{name: x, request: A}, {name: x, request: A}]}}]`),
			refused(r+".claims[0].request"+invalid, r+".claims[1].request"+invalid, r+".claims[1]"+duplicate)},
		{pod(`resourceClaims: [{name: x}]`), refused("spec.resourceClaims[0]" + required)},
		{pod(`resourceClaims: [{name: x, resourceClaimName: q, resourceClaimTemplateName: z}]`), refused("spec.resourceClaims[0]" + invalid)},
		{pod(`resourceClaims: [{name: X, resourceClaimName: Q}]`), refused("spec.resourceClaims[0].name"+invalid, "spec.resourceClaims[0].resourceClaimName"+invalid)},
		{pod(`resourceClaims: [{name: x, resourceClaimTemplateName: Q}]`), refused("spec.resourceClaims[0].resourceClaimTemplateName" + invalid)},
		{pod(`resourceClaims: [{name: x, resourceClaimName: q}, {name: x, resourceClaimName: z}]`), refused("spec.resourceClaims[1].name" + duplicate)},
	})
}
