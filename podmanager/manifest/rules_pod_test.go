package manifest

import (
	"strings"
	"testing"
)

func TestRulesPolicies(t *testing.T) {
	testRules(t, []rule{
		{pod(`restartPolicy: Sometimes`), refused("spec.restartPolicy" + unsupported)},
		{pod(`activeDeadlineSeconds: 0`), refused("spec.activeDeadlineSeconds" + invalid)},
		{pod(`activeDeadlineSeconds: 3000000000`), refused("spec.activeDeadlineSeconds" + invalid)},
		{pod(`serviceAccountName: A_b`), refused("spec.serviceAccountName" + invalid)},
		{pod(`runtimeClassName: A_b`), refused("spec.runtimeClassName" + invalid)},
		{pod(`readinessGates: [{conditionType: a b}]`), refused("spec.readinessGates[0].conditionType" + invalid)},
	})
}

func TestRulesScheduling(t *testing.T) {
	spread := func(fragment string) string { return pod("topologySpreadConstraints: [{" + fragment + "}]") }
	const s = "spec.topologySpreadConstraints[0]."
	testRules(t, []rule{
		{pod(`nodeSelector: {a: "b c"}`), refused("spec.nodeSelector" + invalid)},
		{pod(`nodeSelector: {"a b": c}`), refused("spec.nodeSelector" + invalid)},
		{pod(`priorityClassName: A_b`), refused("spec.priorityClassName" + invalid)},
		{pod(`preemptionPolicy: Always`), refused("spec.preemptionPolicy" + unsupported)},
		{pod(`schedulingGates: [{name: a/b}]`), refused("spec.nodeName" + forbidden)},
		{pod(`schedulingGates: [{name: a b}, {name: a b}]`),
			refused("spec.schedulingGates[0].name"+invalid, "spec.schedulingGates[1].name"+invalid, "spec.schedulingGates[1].name"+duplicate, "spec.nodeName"+forbidden)},
		{pod(`schedulingGroup: {}`), refused("spec.schedulingGroup.podGroupName" + required)},
		{pod(`schedulingGroup: {podGroupName: A}`), refused("spec.schedulingGroup.podGroupName" + invalid)},

		{spread(`maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, minDomains: 2, labelSelector: {matchLabels: {a: b}}, matchLabelKeys: [c]`), nil},
		{spread(``), refused(s+"maxSkew"+invalid, s+"topologyKey"+required, s+"whenUnsatisfiable"+required)},
		{spread(`maxSkew: 1, topologyKey: a b, whenUnsatisfiable: Cry`), refused(s+"topologyKey"+invalid, s+"whenUnsatisfiable"+unsupported)},
		{spread(`maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, minDomains: 0`), refused(s+"minDomains"+invalid, s+"minDomains"+invalid)},
		{spread(`maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, nodeAffinityPolicy: X, nodeTaintsPolicy: Z`), refused(s+"nodeAffinityPolicy"+unsupported, s+"nodeTaintsPolicy"+unsupported)},
		{spread(`maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, matchLabelKeys: [a]`), refused(s + "matchLabelKeys" + forbidden)},
		{spread(`maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, matchLabelKeys: [a, b c], labelSelector: {matchLabels: {a: b}}`), refused(s+"matchLabelKeys[0]"+invalid, s+"matchLabelKeys[1]"+invalid)},
		{spread(`maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchExpressions: [{key: a, operator: Like}]}`), refused(s + "labelSelector.matchExpressions[0].operator" + invalid)},
		{pod(`topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]`),
			refused("spec.topologySpreadConstraints[1].{topologyKey, whenUnsatisfiable}" + duplicate)},
	})
}

func TestRulesTolerations(t *testing.T) {
	toleration := func(fragment string) string { return pod("tolerations: [{" + fragment + "}]") }
	const o = "spec.tolerations[0]."
	testRules(t, []rule{
		{toleration(`key: a/b, value: c, effect: NoExecute, tolerationSeconds: 3`), nil},
		{toleration(`key: a b, operator: Exists`), refused(o + "key" + invalid)},
		{toleration(`value: c`), refused(o + "operator" + invalid)},
		{toleration(`key: a, value: b c`), refused(o + "operator" + invalid)},
		{toleration(`key: a, operator: Exists, value: b`), refused(o + "operator" + invalid)},
		{toleration(`key: a, operator: Lt, value: "5"`), refused(o + "operator" + unsupported)},
		{toleration(`key: a, effect: Never`), refused(o + "effect" + unsupported)},
		{toleration(`key: a, tolerationSeconds: 3`), refused(o + "effect" + invalid)},
	})
}

func TestRulesAffinity(t *testing.T) {
	node := func(term string) string {
		return pod("affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [" + term + "]}}}")
	}
	term := func(fragment string) string {
		return pod("affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{" + fragment + "}]}}")
	}
	const (
		n = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
		w = "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]."
		p = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]."
	)
	testRules(t, []rule{
		{node(`{matchExpressions: [{key: a, operator: In, values: [b]}, {key: c, operator: Gt, values: ["1"]}], matchFields: [{key: metadata.name, operator: In, values: [h]}]}`), nil},
		{node(``), refused(n + required)},
		{node(`{matchExpressions: [{key: a, operator: In}]}`), refused(n + "[0].matchExpressions[0].values" + required)},
		{node(`{matchExpressions: [{key: a, operator: Exists, values: [b]}]}`), refused(n + "[0].matchExpressions[0].values" + forbidden)},
		{node(`{matchExpressions: [{key: a, operator: Lt, values: []}]}`), refused(n + "[0].matchExpressions[0].values" + required)},
		{node(`{matchExpressions: [{key: a b, operator: Like}]}`), refused(n+"[0].matchExpressions[0].operator"+invalid, n+"[0].matchExpressions[0].key"+invalid)},
		{node(`{matchExpressions: [{key: a, operator: In, values: [b c]}]}`), refused(n + "[0].matchExpressions[0].values[0]" + invalid)},
		{node(`{matchFields: [{key: metadata.uid, operator: In, values: [h]}]}`), refused(n + "[0].matchFields[0].key" + invalid)},
		{node(`{matchFields: [{key: metadata.name, operator: Exists, values: [h]}]}`), refused(n + "[0].matchFields[0].operator" + invalid)},
		{node(`{matchFields: [{key: metadata.name, operator: In, values: [g, H_h]}]}`), refused(n+"[0].matchFields[0].values"+required, n+"[0].matchFields[0].values[1]"+invalid)},
		{pod(`affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 0, preference: {matchExpressions: [{key: a, operator: X}]}}]}}`),
			refused(w+"weight"+invalid, w+"preference.matchExpressions[0].operator"+invalid)},

		{term(`topologyKey: z, namespaces: [a], labelSelector: {matchLabels: {a: b}}, matchLabelKeys: [c], mismatchLabelKeys: [d]`), nil},
		{term(``), refused(p + "topologyKey" + required)},
		{term(`topologyKey: z, namespaces: [A]`), refused(p + "namespace" + invalid)},
		{term(`topologyKey: z, labelSelector: {matchLabels: {a: b c}}, namespaceSelector: {matchLabels: {"a b": c}}`), refused(p+"labelSelector.matchLabels"+invalid, p+"namespaceSelector.matchLabels"+invalid)},
		{term(`topologyKey: z, mismatchLabelKeys: [a]`), refused(p + "mismatchLabelKeys" + forbidden)},
		{term(`topologyKey: z, labelSelector: {}, matchLabelKeys: [a], mismatchLabelKeys: [a]`), refused(p + "matchLabelKeys[0]" + invalid)},
		{pod(`affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 101, podAffinityTerm: {}}]}}`),
			refused("spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight"+invalid,
				"spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey"+required)},
	})
}

func TestRulesDNSAndHosts(t *testing.T) {
	searches := strings.Repeat("a, ", 33)
	testRules(t, []rule{
		{pod(`dnsPolicy: None, dnsConfig: {nameservers: [1.2.3.4, "::1"], searches: [a.b., ., _tcp.x], options: [{name: ndots, value: "5"}]}`), nil},
		{pod(`dnsPolicy: Mine`), refused("spec.dnsPolicy" + unsupported)},
		{pod(`dnsPolicy: None`), refused("spec.dnsConfig" + required)},
		{pod(`dnsPolicy: None, dnsConfig: {}`), refused("spec.dnsConfig.nameservers" + required)},
		{pod(`dnsConfig: {nameservers: [1.1.1.1, 1.1.1.2, 1.1.1.3, 1.1.1.4]}`), refused("spec.dnsConfig.nameservers" + invalid)},
		{pod(`dnsConfig: {nameservers: [1.1.1]}`), refused("spec.dnsConfig.nameservers[0]" + invalid)},
		{pod(`dnsConfig: {searches: [a b]}`), refused("spec.dnsConfig.searches[0]" + invalid)},
		{pod(`dnsConfig: {searches: [` + searches + `]}`), refused("spec.dnsConfig.searches" + invalid)},
		{pod(`dnsConfig: {searches: [` + strings.Repeat(strings.Repeat("a.", 120)+"b, ", 9) + `]}`), refused("spec.dnsConfig.searches" + invalid)},
		{pod(`dnsConfig: {options: [{value: x}]}`), refused("spec.dnsConfig.options[0].name" + required)},

		{pod(`hostname: A`), refused("spec.hostname" + invalid)},
		{pod(`subdomain: a.b`), refused("spec.subdomain" + invalid)},
		{pod(`hostnameOverride: a.b`), nil},
		{pod(`hostnameOverride: A, hostNetwork: true, setHostnameAsFQDN: true`),
			refused("spec.hostnameOverride"+invalid, "spec.hostnameOverride"+forbidden, "spec.hostnameOverride"+forbidden)},
		{pod(`hostnameOverride: ` + strings.Repeat("a.", 40) + "b"), refused("spec.hostnameOverride" + tooLong)},
		{pod(`hostAliases: [{ip: 1.2.3.4, hostnames: [a.b]}]`), nil},
		{pod(`hostAliases: [{ip: nowhere, hostnames: [A_b]}]`), refused("spec.hostAliases[0].ip"+invalid, "spec.hostAliases[0].hostnames[0]"+invalid)},
	})
}

func TestRulesPodResources(t *testing.T) {
	testRules(t, []rule{
		{pod(`overhead: {cpu: 1}`), nil},
		{pod(`overhead: {cpu: -1, disk: 1}`), refused("spec.overhead[cpu]"+invalid, "spec.overhead[disk]"+invalid)},
		{pod(`resources: {limits: {cpu: 2, memory: 1Gi}, requests: {cpu: 1}}`), nil},
		{pod(`resources: {claims: [{name: a}]}`), refused("spec.resources.claims" + forbidden)},
		{pod(`resources: {limits: {ephemeral-storage: 1}}`), refused("spec.resources.limits[ephemeral-storage]" + unsupported)},
		{pod(`resources: {limits: {cpu: 1}, requests: {cpu: 2}}`), refused("spec.resources.requests" + invalid)},
		{pod(`resources: {requests: {cpu: 1}}, containers: [{name: c, image: i, resources: {requests: {cpu: 2}}}]`), refused("spec.resources.requests[cpu]" + invalid)},
		{pod(`resources: {limits: {cpu: 1}}, containers: [{name: c, image: i, resources: {limits: {cpu: 2}, requests: {cpu: 1}}}]`), refused(c0 + "resources.limits[cpu]" + invalid)},
		{pod(`resources: {limits: {cpu: 1, hugepages-2Mi: 2Mi}}, containers: [{name: c, image: i, resources: {limits: {cpu: 1, hugepages-2Mi: 2Mi}}}, {name: d, image: i, resources: {limits: {cpu: 0, hugepages-2Mi: 2Mi}}}]`),
			refused("spec.resources.limits[hugepages-2Mi]"+invalid, "spec.resources.requests[hugepages-2Mi]"+invalid)},
	})
}

func TestRulesSecurity(t *testing.T) {
	security := func(fragment string) string { return pod("securityContext: {" + fragment + "}") }
	own := func(fragment string) string { return container("securityContext: {" + fragment + "}") }
	const p, s = "spec.securityContext.", c0 + "securityContext"
	testRules(t, []rule{
		{security(`runAsUser: 0, runAsGroup: 5, fsGroup: 6, supplementalGroups: [7], fsGroupChangePolicy: Always, supplementalGroupsPolicy: Strict, seLinuxChangePolicy: MountOption`), nil},
		{security(`runAsUser: -1, runAsGroup: -1, fsGroup: -1, supplementalGroups: [4294967296]`),
			refused(p+"runAsUser"+invalid, p+"runAsGroup"+invalid, p+"fsGroup"+invalid, p+"supplementalGroups[0]"+invalid)},
		{security(`fsGroupChangePolicy: A, supplementalGroupsPolicy: B, seLinuxChangePolicy: C`),
			refused(p+"fsGroupChangePolicy"+unsupported, p+"supplementalGroupsPolicy"+unsupported, p+"seLinuxChangePolicy"+unsupported)},
		{security(`sysctls: [{name: net.core.somaxconn, value: "1"}, {name: kernel/shmmax, value: "2"}]`), nil},
		{security(`sysctls: [{value: "1"}]`), refused(p + "sysctls[0].name" + required)},
		{security(`sysctls: [{name: A, value: "1"}]`), refused(p + "sysctls[0].name" + invalid)},
		{security(`sysctls: [{name: net.a, value: "1"}, {name: net/a, value: "1"}]`), refused(p + "sysctls[1].name" + duplicate)},
		{pod(`hostNetwork: true, securityContext: {sysctls: [{name: net.a, value: "1"}]}`), refused(p + "sysctls[0].name" + invalid)},
		{pod(`hostIPC: true, securityContext: {sysctls: [{name: kernel.shm_rmid_forced, value: "1"}]}`), refused(p + "sysctls[0].name" + invalid)},
		{pod(`hostPID: true, shareProcessNamespace: true`), refused("spec.shareProcessNamespace" + invalid)},
		{pod(`hostUsers: false, hostPID: true, hostIPC: true, hostNetwork: true`), refused("spec.hostPID"+forbidden, "spec.hostIPC"+forbidden, "spec.hostNetwork"+forbidden)},

		{own(`privileged: true, runAsUser: 1, capabilities: {add: [CAP_SYS_ADMIN]}`), nil},
		{own(`runAsUser: -1, runAsGroup: -1`), refused(s+".runAsUser"+invalid, s+".runAsGroup"+invalid)},
		{own(`procMount: Odd`), refused(s + ".procMount" + unsupported)},
		{own(`procMount: Unmasked`), refused(s + ".procMount" + invalid)},
		{pod(`hostUsers: false, containers: [{name: c, image: i, securityContext: {procMount: Unmasked}}]`), nil},
		{own(`privileged: true, allowPrivilegeEscalation: false`), refused(s + invalid)},
		{own(`capabilities: {add: [CAP_SYS_ADMIN]}, allowPrivilegeEscalation: false`), refused(s + invalid)},

		{own(`seccompProfile: {type: Localhost, localhostProfile: a/b.json}, appArmorProfile: {type: Localhost, localhostProfile: p}`), nil},
		{own(`seccompProfile: {}, appArmorProfile: {}`), refused(s+".seccompProfile.type"+required, s+".appArmorProfile.type"+required)},
		{own(`seccompProfile: {type: X}, appArmorProfile: {type: X}`), refused(s+".seccompProfile.type"+unsupported, s+".appArmorProfile.type"+unsupported)},
		{own(`seccompProfile: {type: Localhost}, appArmorProfile: {type: Localhost}`), refused(s+".seccompProfile.localhostProfile"+required, s+".appArmorProfile.localhostProfile"+required)},
		{own(`seccompProfile: {type: Unconfined, localhostProfile: a}, appArmorProfile: {type: Unconfined, localhostProfile: a}`),
			refused(s+".seccompProfile.localhostProfile"+invalid, s+".appArmorProfile.localhostProfile"+invalid)},
		{own(`seccompProfile: {type: Localhost, localhostProfile: ../a}, appArmorProfile: {type: Localhost, localhostProfile: " a"}`),
			refused(s+".seccompProfile.localhostProfile"+invalid, s+".appArmorProfile.localhostProfile"+invalid)},
		{own(`appArmorProfile: {type: Localhost, localhostProfile: ` + strings.Repeat("a", 4096) + `}`), refused(s + ".appArmorProfile.localhostProfile" + tooLong)},
		{security(`seccompProfile: {type: X}, appArmorProfile: {type: X}`), refused(p+"seccompProfile.type"+unsupported, p+"appArmorProfile.type"+unsupported)},
	})
}

func TestRulesWindowsOptions(t *testing.T) {
	options := func(fragment string) string {
		return container("securityContext: {windowsOptions: {" + fragment + "}}")
	}
	const w = c0 + "securityContext.windowsOptions."
	testRules(t, []rule{
		{options(`gmsaCredentialSpecName: a, gmsaCredentialSpec: "{}", runAsUserName: 'NT AUTHORITY\SYSTEM'`), nil},
		{options(`gmsaCredentialSpecName: A_b, gmsaCredentialSpec: ""`), refused(w+"gmsaCredentialSpecName"+invalid, w+"gmsaCredentialSpec"+invalid)},
		{options(`gmsaCredentialSpec: "` + strings.Repeat("a", 65537) + `"`), refused(w + "gmsaCredentialSpec" + tooLong)},
		{options(`runAsUserName: ""`), refused(w + "runAsUserName" + invalid)},
		{options(`runAsUserName: "a\nb"`), refused(w + "runAsUserName" + invalid)},
		{options(`runAsUserName: '.a\b'`), refused(w + "runAsUserName" + invalid)},
		{options(`runAsUserName: 'a\'`), refused(w + "runAsUserName" + invalid)},
		{options(`runAsUserName: 'a\b\c'`), refused(w + "runAsUserName" + invalid)},
		{options(`runAsUserName: '. .'`), refused(w + "runAsUserName" + invalid)},
		{options(`runAsUserName: 'a\` + strings.Repeat("b", 105) + `'`), refused(w + "runAsUserName" + invalid)},
		{options(`runAsUserName: '` + strings.Repeat("d", 256) + `\b'`), refused(w + "runAsUserName" + invalid)},
		{options(`hostProcess: true`), refused("spec.hostNetwork" + invalid)},
		{pod(`hostNetwork: true, containers: [{name: c, image: i, securityContext: {windowsOptions: {hostProcess: true}}}, {name: d, image: i}]`), refused("spec" + invalid)},
		{pod(`hostNetwork: true, securityContext: {windowsOptions: {hostProcess: true}}`), nil},
		{pod(`hostNetwork: true, securityContext: {windowsOptions: {hostProcess: true}}, containers: [{name: c, image: i, securityContext: {windowsOptions: {hostProcess: false}}}]`),
			refused("spec.securityContext.windowsOptions.hostProcess" + invalid)},
	})
}

func TestRulesOS(t *testing.T) {
	const p, s = "spec.securityContext.", c0 + "securityContext."
	testRules(t, []rule{
		{pod(`os: {name: linux}, hostPID: true`), nil},
		{pod(`os: {}`), refused("spec.os.name" + required)},
		{pod(`os: {name: plan9}`), refused("spec.os.name" + unsupported)},
		{pod(`os: {name: linux}, securityContext: {windowsOptions: {}}, containers: [{name: c, image: i, securityContext: {windowsOptions: {}}}]`), refused(p+"windowsOptions"+forbidden, s+"windowsOptions"+forbidden)},
		{pod(`os: {name: windows}, hostPID: true, hostIPC: true, hostUsers: true, shareProcessNamespace: false, resources: {}`),
			refused("spec.hostPID"+forbidden, "spec.hostIPC"+forbidden, "spec.hostUsers"+forbidden, "spec.shareProcessNamespace"+forbidden, "spec.resources"+forbidden)},
		{pod(`os: {name: windows}, securityContext: {fsGroup: 1, fsGroupChangePolicy: Always, runAsUser: 1, runAsGroup: 1, seLinuxOptions: {}, seLinuxChangePolicy: Recursive,
  seccompProfile: {type: Unconfined}, appArmorProfile: {type: Unconfined}, supplementalGroups: [1], supplementalGroupsPolicy: Merge, sysctls: [{name: a, value: b}]}`),
			refused(p+"fsGroup"+forbidden, p+"fsGroupChangePolicy"+forbidden, p+"runAsUser"+forbidden, p+"runAsGroup"+forbidden, p+"seLinuxOptions"+forbidden,
				p+"seLinuxChangePolicy"+forbidden, p+"seccompProfile"+forbidden, p+"appArmorProfile"+forbidden, p+"supplementalGroups"+forbidden,
				p+"supplementalGroupsPolicy"+forbidden, p+"sysctls"+forbidden)},
		{pod(`os: {name: windows}, containers: [{name: c, image: i, securityContext: {privileged: false, allowPrivilegeEscalation: true, capabilities: {}, procMount: Default,
  readOnlyRootFilesystem: false, runAsUser: 1, runAsGroup: 1, seLinuxOptions: {}, seccompProfile: {type: Unconfined}, appArmorProfile: {type: Unconfined}}}]`),
			refused(s+"privileged"+forbidden, s+"allowPrivilegeEscalation"+forbidden, s+"capabilities"+forbidden, s+"procMount"+forbidden,
				s+"readOnlyRootFilesystem"+forbidden, s+"runAsUser"+forbidden, s+"runAsGroup"+forbidden, s+"seLinuxOptions"+forbidden,
				s+"seccompProfile"+forbidden, s+"appArmorProfile"+forbidden)},
	})
}
