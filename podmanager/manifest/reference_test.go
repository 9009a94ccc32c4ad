package manifest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubeparts/kubeparts/podmanager"
)

func TestAPIReferences(t *testing.T) {
	for _, tc := range []struct{ want, manifest string }{
		{"", pod(`volumes: [{name: v, projected: {sources: [{downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.name}}]}}]}}]`)},
		{"", volume(`rbd: {monitors: [a], image: i}`)},
		{"", volume(`image: {reference: i}`)},
		{"", volume(`flexVolume: {driver: a/b}`)},
		{"serviceaccounts", pod(`serviceAccount: a`)},
		{"serviceaccounts", pod(`serviceAccountName: a, imagePullSecrets: [{name: s}]`)},
		{"secrets", pod(`imagePullSecrets: [{name: s}]`)},
		{"secrets", container(`envFrom: [{secretRef: {name: s}}]`)},
		{"secrets", container(`env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]`)},
		{"secrets", initContainer(`env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}}]`)},
		{"secrets", volume(`secret: {secretName: s, optional: true}`)},
		{"secrets", volume(`azureFile: {secretName: s, shareName: f}`)},
		{"secrets", volume(`cephfs: {monitors: [a], secretRef: {name: s}}`)},
		{"secrets", volume(`cinder: {volumeID: a, secretRef: {name: s}}`)},
		{"secrets", volume(`flexVolume: {driver: a/b, secretRef: {name: s}}`)},
		{"secrets", volume(`rbd: {monitors: [a], image: i, secretRef: {name: s}}`)},
		{"secrets", volume(`scaleIO: {gateway: g, system: s, volumeName: v, secretRef: {name: s}}`)},
		{"secrets", volume(`iscsi: {targetPortal: p, iqn: "iqn.2001-04.com.example:storage", lun: 0, secretRef: {name: s}}`)},
		{"secrets", volume(`storageos: {volumeName: v, secretRef: {name: s}}`)},
		{"secrets", volume(`csi: {driver: d, nodePublishSecretRef: {name: s}}`)},
		{"secrets", volume(`projected: {sources: [{configMap: {name: m}}, {secret: {name: s}}]}`)},
		{"configmaps", container(`envFrom: [{configMapRef: {name: m}}]`)},
		{"configmaps", container(`env: [{name: A, valueFrom: {configMapKeyRef: {name: m, key: k}}}]`)},
		{"configmaps", volume(`configMap: {name: m}`)},
		{"configmaps", volume(`projected: {sources: [{configMap: {name: m}}]}`)},
		{"resourceclaims", pod(`resourceClaims: [{name: r, resourceClaimName: q}]`)},
		{"csidrivers (through a csi volume)", volume(`csi: {driver: d}`)},
		{"endpoints (through a glusterfs volume)", volume(`glusterfs: {endpoints: e, path: p}`)},
		{"persistentvolumeclaims", volume(`persistentVolumeClaim: {claimName: q}`)},
		{"persistentvolumeclaims (through an ephemeral volume)", volume(`ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1}}}}}`)},
		{"clustertrustbundles (through a projected volume)", volume(`projected: {sources: [{clusterTrustBundle: {name: b, path: p}}]}`)},
		{"podcertificates (through a projected volume)", volume(`projected: {sources: [{podCertificate: {signerName: a.b/c, keyType: ED25519, keyPath: p}}]}`)},
	} {
		t.Run(tc.want, func(t *testing.T) {
			r := Decoder{NodeName: "n"}.Decode([]byte(tc.manifest), "f")
			allowed := Decoder{NodeName: "n", AllowAPIReferences: true}.Decode([]byte(tc.manifest), "f")
			require.Empty(t, allowed.Errors)
			objects := Decoder{NodeName: "n", AllowObjects: true}.Decode([]byte(tc.manifest), "f")
			switch tc.want {
			case "secrets", "configmaps":
				for _, bad := range objects.Errors { // of something else that it refers to
					require.EqualError(t, bad.Err, "static pods may not reference csidrivers (through a csi volume)")
				}
			default:
				require.Equal(t, r.Errors, objects.Errors)
			}
			if tc.want == "" {
				require.Empty(t, r.Errors)
				return
			}
			require.Len(t, r.Errors, 1)
			require.Equal(t, podmanager.ManifestAPIReference, r.Errors[0].Kind)
			require.EqualError(t, r.Errors[0].Err, "static pods may not reference "+tc.want)
		})
	}
}
