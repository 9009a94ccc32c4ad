package manifest

import "testing"

const v0 = "spec.volumes[0]."

func TestRulesVolumes(t *testing.T) {
	testRules(t, []rule{
		{pod(`volumes: [{emptyDir: {}}]`), refused(v0 + "name" + required)},
		{pod(`volumes: [{name: ../../etc}]`), refused(v0 + "name" + invalid)},
		{pod(`volumes: [{name: A.b}]`), refused(v0 + "name" + invalid)},
		{pod(`volumes: [{name: v}, {name: v}]`), refused("spec.volumes[1].name" + duplicate)},
		{volume(`emptyDir: {}, hostPath: {path: /a}`), refused("spec.volumes[0]" + forbidden)},
		{volume(`emptyDir: {medium: Memory, sizeLimit: 1Gi}`), nil},
		{volume(`emptyDir: {sizeLimit: -1}`), refused(v0 + "emptyDir.sizeLimit" + forbidden)},
		{volume(`hostPath: {path: /a/b, type: DirectoryOrCreate}`), nil},
		{volume(`hostPath: {}`), refused(v0 + "hostPath.path" + required)},
		{volume(`hostPath: {path: /a/../b}`), refused(v0 + "hostPath.path" + invalid)},
		{volume(`hostPath: {path: "/a\0b"}`), refused(v0 + "hostPath.path" + invalid)},
		{volume(`hostPath: {path: /a, type: Folder}`), refused(v0 + "hostPath.type" + unsupported)},
		{volume(`gitRepo: {repository: r, directory: d}`), nil},
		{volume(`gitRepo: {directory: ../d}`), refused(v0+"gitRepo.repository"+required, v0+"gitRepo.directory"+invalid)},
		{volume(`image: {reference: i}`), nil},
		{volume(`image: {pullPolicy: Often}`), refused(v0+"image.reference"+required, v0+"image.pullPolicy"+unsupported)},

		{volume(`secret: {secretName: s, items: [{key: k, path: a/b, mode: 0400}], defaultMode: 0777}`), nil},
		{volume(`secret: {}`), refused(v0 + "secret.secretName" + required)},
		{volume(`secret: {secretName: s, defaultMode: 01000}`), refused(v0 + "secret.defaultMode" + invalid)},
		{volume(`secret: {secretName: s, items: [{}]}`), refused(v0+"secret.items[0].key"+required, v0+"secret.items[0].path"+required)},
		{volume(`secret: {secretName: s, items: [{key: k, path: /etc/passwd}]}`), refused(v0 + "secret.items[0].path" + invalid)},
		{volume(`secret: {secretName: s, items: [{key: k, path: a/../../b}]}`), refused(v0 + "secret.items[0].path" + invalid)},
		{volume(`secret: {secretName: s, items: [{key: k, path: ..data}]}`), refused(v0 + "secret.items[0].path" + invalid)},
		{volume(`secret: {secretName: s, items: [{key: k, path: p, mode: -1}]}`), refused(v0 + "secret.items[0].mode" + invalid)},
		{volume(`configMap: {defaultMode: -1}`), refused(v0+"configMap.name"+required, v0+"configMap.defaultMode"+invalid)},
		{volume(`configMap: {name: m, items: [{key: k}]}`), refused(v0 + "configMap.items[0].path" + required)},

		{volume(`downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.labels}}, {path: b, resourceFieldRef: {containerName: c, resource: limits.cpu}}]}`), nil},
		{volume(`downwardAPI: {defaultMode: 512}`), refused(v0 + "downwardAPI.defaultMode" + invalid)},
		{volume(`downwardAPI: {items: [{fieldRef: {fieldPath: metadata.name}}]}`), refused(v0 + "downwardAPI.items[0].path" + required)},
		{volume(`downwardAPI: {items: [{path: a}]}`), refused(v0 + "downwardAPI.items[0].fieldRef" + required)},
		{volume(`downwardAPI: {items: [{path: a, mode: 512, fieldRef: {fieldPath: metadata.name}}]}`), refused(v0 + "downwardAPI.items[0].mode" + invalid)},
		{volume(`downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.name}, resourceFieldRef: {containerName: c, resource: limits.cpu}}]}`), refused(v0 + "downwardAPI.items[0]" + invalid)},
		{volume(`downwardAPI: {items: [{path: a, fieldRef: {fieldPath: status.podIP}}]}`), refused(v0 + "downwardAPI.items[0].fieldRef.fieldPath" + unsupported)},
		{volume(`downwardAPI: {items: [{path: a, resourceFieldRef: {resource: limits.cpu}}]}`), refused(v0 + "downwardAPI.items[0].resourceFieldRef.containerName" + required)},

		{volume(`persistentVolumeClaim: {}`), refused(v0 + "persistentVolumeClaim.claimName" + required)},
		{volume(`ephemeral: {}`), refused(v0 + "ephemeral.volumeClaimTemplate" + required)},
		{volume(`ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}`), nil},
		{volume(`ephemeral: {volumeClaimTemplate: {spec: {}}}`),
			refused(v0+"ephemeral.volumeClaimTemplate.spec.accessModes"+required, v0+"ephemeral.volumeClaimTemplate.spec.resources.requests[storage]"+required)},
		{volume(`ephemeral: {volumeClaimTemplate: {spec: {accessModes: [All], volumeMode: Tape, resources: {requests: {storage: 0}}}}}`),
			refused(v0+"ephemeral.volumeClaimTemplate.spec.accessModes[0]"+unsupported, v0+"ephemeral.volumeClaimTemplate.spec.volumeMode"+unsupported,
				v0+"ephemeral.volumeClaimTemplate.spec.resources.requests[storage]"+invalid)},
	})
}

func TestRulesProjected(t *testing.T) {
	projected := func(sources string) string { return volume("projected: {sources: [" + sources + "]}") }
	const s = v0 + "projected.sources[0]"
	testRules(t, []rule{
		{projected(`{downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.name}}]}}, {configMap: {name: m, items: [{key: k, path: b}]}}`), nil},
		{volume(`projected: {defaultMode: -1, sources: []}`), refused(v0 + "projected.defaultMode" + invalid)},
		{projected(`{}`), refused(s + required)},
		{projected(`{secret: {name: a}, configMap: {name: b}}`), refused(s + forbidden)},
		{projected(`{secret: {}}`), refused(s + ".secret.name" + required)},
		{projected(`{configMap: {}}`), refused(s + ".configMap.name" + required)},
		{projected(`{secret: {name: a, items: [{key: k, path: p}]}}, {configMap: {name: b, items: [{key: k, path: p}]}}`), refused(v0 + "projected.sources[1].configMap.items[0].path" + invalid)},
		{projected(`{serviceAccountToken: {path: t}}`), refused(s + ".serviceAccountToken" + forbidden)},
		{pod(`serviceAccountName: a, volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}]}}]`), nil},
		{pod(`serviceAccountName: a, volumes: [{name: v, projected: {sources: [{serviceAccountToken: {expirationSeconds: 1}}]}}]`),
			refused(s+".serviceAccountToken.path"+required, s+".serviceAccountToken.expirationSeconds"+invalid)},
		{projected(`{clusterTrustBundle: {name: b, path: p}}`), nil},
		{projected(`{clusterTrustBundle: {path: p}}`), refused(s + ".clusterTrustBundle" + required)},
		{projected(`{clusterTrustBundle: {name: a, signerName: b/c, path: p}}`), refused(s + ".clusterTrustBundle" + invalid)},
		{projected(`{clusterTrustBundle: {name: "", path: p}}`), refused(s + ".clusterTrustBundle.name" + required)},
		{projected(`{clusterTrustBundle: {signerName: "", path: p}}`), refused(s + ".clusterTrustBundle.signerName" + required)},
		{projected(`{clusterTrustBundle: {name: a, labelSelector: {}, path: p}}`), refused(s + ".clusterTrustBundle.labelSelector" + invalid)},
		{projected(`{clusterTrustBundle: {name: a}}`), refused(s + ".clusterTrustBundle.path" + required)},
		{projected(`{podCertificate: {signerName: a.b/c, keyType: ED25519, credentialBundlePath: p}}`), nil},
		{projected(`{podCertificate: {signerName: a.b/c, keyType: DSA, maxExpirationSeconds: 1}}`),
			refused(s+".podCertificate"+required, s+".podCertificate.keyType"+unsupported, s+".podCertificate.maxExpirationSeconds"+invalid)},
		{projected(`{podCertificate: {signerName: x, keyType: ED25519, keyPath: ../p}}`), refused(s+".podCertificate.signerName"+invalid, s+".podCertificate.keyPath"+invalid)},
	})
}

func TestRulesNetworkVolumes(t *testing.T) {
	testRules(t, []rule{
		{volume(`nfs: {server: s, path: /p}`), nil},
		{volume(`nfs: {}`), refused(v0+"nfs.server"+required, v0+"nfs.path"+required)},
		{volume(`nfs: {server: s, path: p}`), refused(v0 + "nfs.path" + invalid)},
		{volume(`glusterfs: {}`), refused(v0+"glusterfs.endpoints"+required, v0+"glusterfs.path"+required)},
		{volume(`cephfs: {}`), refused(v0 + "cephfs.monitors" + required)},
		{volume(`quobyte: {}`), refused(v0+"quobyte.registry"+required, v0+"quobyte.volume"+required)},
		{volume(`quobyte: {registry: "a:1,b", volume: v}`), refused(v0 + "quobyte.registry" + invalid)},
		{volume(`flocker: {}`), refused(v0 + "flocker" + required)},
		{volume(`flocker: {datasetName: a/b, datasetUUID: u}`), refused(v0+"flocker"+invalid, v0+"flocker.datasetName"+invalid)},
		{volume(`flexVolume: {driver: d, options: {a: b, a/b: c}}`), nil},
		{volume(`flexVolume: {options: {x.Kubernetes.io/a: b}}`), refused(v0+"flexVolume.driver"+required, v0+"flexVolume.options[x.Kubernetes.io/a]"+invalid)},
		{volume(`csi: {driver: a.b}`), nil},
		{volume(`csi: {nodePublishSecretRef: {}}`), refused(v0+"csi.driver"+required, v0+"csi.nodePublishSecretRef.name"+required)},
		{volume(`csi: {driver: a_b}`), refused(v0 + "csi.driver" + invalid)},
		{volume(`csi: {driver: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}`), refused(v0 + "csi.driver" + tooLong)},
		{volume(`iscsi: {targetPortal: p, iqn: "iqn.2001-04.com.example:storage", lun: 0}`), nil},
		{volume(`iscsi: {lun: 256, chapAuthDiscovery: true, initiatorName: x}`),
			refused(v0+"iscsi.targetPortal"+required, v0+"iscsi.iqn"+required, v0+"iscsi.lun"+invalid, v0+"iscsi.secretRef"+required, v0+"iscsi.initiatorName"+invalid)},
		{volume(`iscsi: {targetPortal: p, iqn: x}`), refused(v0 + "iscsi.iqn" + invalid)},
		{volume(`fc: {wwids: [a]}`), nil},
		{volume(`fc: {}`), refused(v0 + "fc.targetWWNs" + required)},
		{volume(`fc: {wwids: [a], targetWWNs: [b], lun: 1}`), refused(v0 + "fc.targetWWNs" + invalid)},
		{volume(`fc: {targetWWNs: [b]}`), refused(v0 + "fc.lun" + required)},
		{volume(`fc: {targetWWNs: [b], lun: 300}`), refused(v0 + "fc.lun" + invalid)},
		{volume(`rbd: {}`), refused(v0+"rbd.monitors"+required, v0+"rbd.image"+required)},
		{volume(`scaleIO: {}`), refused(v0+"scaleIO.gateway"+required, v0+"scaleIO.system"+required, v0+"scaleIO.volumeName"+required)},
		{volume(`storageos: {volumeName: A, volumeNamespace: B, secretRef: {}}`),
			refused(v0+"storageos.volumeName"+invalid, v0+"storageos.volumeNamespace"+invalid, v0+"storageos.secretRef.name"+required)},
		{volume(`portworxVolume: {}`), refused(v0 + "portworxVolume.volumeID" + required)},
		{volume(`gcePersistentDisk: {partition: 256}`), refused(v0+"gcePersistentDisk.pdName"+required, v0+"gcePersistentDisk.partition"+invalid)},
		{volume(`awsElasticBlockStore: {partition: -1}`), refused(v0+"awsElasticBlockStore.volumeID"+required, v0+"awsElasticBlockStore.partition"+invalid)},
		{volume(`cinder: {secretRef: {}}`), refused(v0+"cinder.volumeID"+required, v0+"cinder.secretRef.name"+required)},
		{volume(`vsphereVolume: {}`), refused(v0 + "vsphereVolume.volumePath" + required)},
		{volume(`photonPersistentDisk: {}`), refused(v0 + "photonPersistentDisk.pdID" + required)},
		{volume(`azureFile: {}`), refused(v0+"azureFile.secretName"+required, v0+"azureFile.shareName"+required)},
		{volume(`azureDisk: {diskName: d, diskURI: /subscriptions/x, kind: Managed}`), nil},
		{volume(`azureDisk: {cachingMode: Some, kind: Odd}`),
			refused(v0+"azureDisk.diskName"+required, v0+"azureDisk.diskURI"+required, v0+"azureDisk.cachingMode"+unsupported, v0+"azureDisk.kind"+unsupported)},
		{volume(`azureDisk: {diskName: d, diskURI: x}`), refused(v0 + "azureDisk.diskURI" + invalid)},
		{volume(`azureDisk: {diskName: d, diskURI: "https://x", kind: Managed}`), refused(v0 + "azureDisk.diskURI" + invalid)},
	})
}

func TestRulesMounts(t *testing.T) {
	mount := func(fragment string) string { return withVolume("volumeMounts: [{" + fragment + "}]") }
	const m = c0 + "volumeMounts[0]."
	testRules(t, []rule{
		{mount(`name: v, mountPath: /m, subPath: a/b, readOnly: true, recursiveReadOnly: Enabled`), nil},
		{mount(`mountPath: /m`), refused(m + "name" + required)},
		{mount(`name: x, mountPath: /m`), refused(m + "name" + notFound)},
		{mount(`name: v`), refused(m + "mountPath" + required)},
		{mount(`name: v, mountPath: /m/../../etc`), refused(m + "mountPath" + invalid)},
		{mount(`name: v, mountPath: "/m\0"`), refused(m + "mountPath" + invalid)},
		{withVolume(`volumeMounts: [{name: v, mountPath: /m}, {name: w, mountPath: /m}]`), refused(c0 + "volumeMounts[1].mountPath" + invalid)},
		{mount(`name: v, mountPath: /m, subPath: ../x`), refused(m + "subPath" + invalid)},
		{mount(`name: v, mountPath: /m, subPath: /x`), refused(m + "subPath" + invalid)},
		{mount(`name: v, mountPath: /m, subPathExpr: $(A)/../x`), refused(m + "subPathExpr" + invalid)},
		{mount(`name: v, mountPath: /m, subPath: a, subPathExpr: b`), refused(m + "subPathExpr" + invalid)},
		{mount(`name: v, mountPath: /m, mountPropagation: Sideways`), refused(m + "mountPropagation" + unsupported)},
		{mount(`name: v, mountPath: /m, mountPropagation: Bidirectional`), refused(m + "mountPropagation" + forbidden)},
		{withVolume(`securityContext: {privileged: true}, volumeMounts: [{name: v, mountPath: /m, mountPropagation: Bidirectional}]`), nil},
		{mount(`name: v, mountPath: /m, recursiveReadOnly: Perhaps`), refused(m + "recursiveReadOnly" + unsupported)},
		{mount(`name: v, mountPath: /m, recursiveReadOnly: Enabled`), refused(m + "recursiveReadOnly" + forbidden)},
		{mount(`name: v, mountPath: /m, readOnly: true, recursiveReadOnly: IfPossible, mountPropagation: HostToContainer`), refused(m + "recursiveReadOnly" + forbidden)},

		{withVolume(`volumeDevices: [{name: w, devicePath: /dev/x}]`), nil},
		{withVolume(`volumeDevices: [{}]`), refused(c0+"volumeDevices[0].name"+required, c0+"volumeDevices[0].devicePath"+required)},
		{withVolume(`volumeDevices: [{name: x, devicePath: /dev/../x}]`), refused(c0+"volumeDevices[0].name"+notFound, c0+"volumeDevices[0].devicePath"+invalid)},
		{withVolume(`volumeDevices: [{name: v, devicePath: /dev/x}]`), refused(c0 + "volumeDevices[0].name" + invalid)},
		{withVolume(`volumeDevices: [{name: w, devicePath: /dev/x}, {name: w, devicePath: /dev/x}]`), refused(c0+"volumeDevices[1].name"+duplicate, c0+"volumeDevices[1].devicePath"+duplicate)},
		{withVolume(`volumeMounts: [{name: w, mountPath: /m}], volumeDevices: [{name: w, devicePath: /m}]`), refused(c0+"volumeMounts[0].mountPath"+invalid, c0+"volumeDevices[0].name"+invalid)},
	})
}
