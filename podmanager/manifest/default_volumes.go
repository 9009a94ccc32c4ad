package manifest

import (
	v1 "k8s.io/api/core/v1"
)

// fileMode is the mode of projected files unless the manifest says otherwise.
const fileMode int32 = 0o644

// tokenSeconds is how long a projected service account token is valid.
const tokenSeconds int64 = 60 * 60

// setVolumeDefaults completes a volume; one that names no source is an
// emptyDir.
func setVolumeDefaults(volume *v1.Volume) {
	source := &volume.VolumeSource
	if *source == (v1.VolumeSource{}) {
		source.EmptyDir = &v1.EmptyDirVolumeSource{}
	}
	switch {
	case source.HostPath != nil:
		setIfNil(&source.HostPath.Type, v1.HostPathUnset)
	case source.Image != nil:
		setIfEmpty(&source.Image.PullPolicy, pullPolicyOf(source.Image.Reference))
	}
	if source.Secret != nil {
		setIfNil(&source.Secret.DefaultMode, fileMode)
	}
	if source.ConfigMap != nil {
		setIfNil(&source.ConfigMap.DefaultMode, fileMode)
	}
	if source.DownwardAPI != nil {
		setIfNil(&source.DownwardAPI.DefaultMode, fileMode)
		setDownwardItems(source.DownwardAPI.Items)
	}
	setProjectedDefaults(source.Projected)
	setNetworkVolumeDefaults(source)
}

func setProjectedDefaults(projected *v1.ProjectedVolumeSource) {
	if projected == nil {
		return
	}
	setIfNil(&projected.DefaultMode, fileMode)
	for _, source := range projected.Sources {
		if source.DownwardAPI != nil {
			setDownwardItems(source.DownwardAPI.Items)
		}
		if source.ServiceAccountToken != nil {
			setIfNil(&source.ServiceAccountToken.ExpirationSeconds, tokenSeconds)
		}
	}
}

func setDownwardItems(items []v1.DownwardAPIVolumeFile) {
	for i := range items {
		setFieldRefDefaults(items[i].FieldRef)
	}
}

// setNetworkVolumeDefaults completes the volumes that some server or cloud
// provides.
func setNetworkVolumeDefaults(source *v1.VolumeSource) {
	if iscsi := source.ISCSI; iscsi != nil {
		setIfEmpty(&iscsi.ISCSIInterface, "default")
	}
	if rbd := source.RBD; rbd != nil {
		setIfEmpty(&rbd.RBDPool, "rbd")
		setIfEmpty(&rbd.RadosUser, "admin")
		setIfEmpty(&rbd.Keyring, "/etc/ceph/keyring")
	}
	if disk := source.AzureDisk; disk != nil {
		setIfNil(&disk.CachingMode, v1.AzureDataDiskCachingReadWrite)
		setIfNil(&disk.Kind, v1.AzureSharedBlobDisk)
		setIfNil(&disk.FSType, "ext4")
		setIfNil(&disk.ReadOnly, false)
	}
	if scale := source.ScaleIO; scale != nil {
		setIfEmpty(&scale.StorageMode, "ThinProvisioned")
		setIfEmpty(&scale.FSType, "xfs")
	}
	if ephemeral := source.Ephemeral; ephemeral != nil && ephemeral.VolumeClaimTemplate != nil {
		setIfNil(&ephemeral.VolumeClaimTemplate.Spec.VolumeMode, v1.PersistentVolumeFilesystem)
	}
}
