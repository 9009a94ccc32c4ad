package podmanager_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
)

// local is a reference by name alone.
func local(name string) v1.LocalObjectReference { return v1.LocalObjectReference{Name: name} }

// everywhere refers to an object of its own in each place where a pod can; the
// name says which.
func everywhere() *v1.Pod {
	yes := true
	container := func(sort string) v1.Container {
		return v1.Container{
			Name: sort,
			EnvFrom: []v1.EnvFromSource{
				{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: local(sort + "-from")}},
				{SecretRef: &v1.SecretEnvSource{LocalObjectReference: local(sort + "-from"), Optional: &yes}},
			},
			Env: []v1.EnvVar{
				{Name: "literal", Value: "x"},
				{Name: "field", ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
				{Name: "a", ValueFrom: &v1.EnvVarSource{ConfigMapKeyRef: &v1.ConfigMapKeySelector{LocalObjectReference: local(sort + "-env")}}},
				{Name: "b", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{LocalObjectReference: local(sort + "-env")}}},
			},
		}
	}
	ref := func(name string) *v1.LocalObjectReference { return &v1.LocalObjectReference{Name: name} }
	ephemeral := container("ephemeral")
	p := pod("web")
	p.Spec = v1.PodSpec{
		ImagePullSecrets: []v1.LocalObjectReference{local("pull"), local("")},
		InitContainers:   []v1.Container{container("init")},
		Containers:       []v1.Container{container("main")},
		EphemeralContainers: []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{
			Name: ephemeral.Name, Env: ephemeral.Env, EnvFrom: ephemeral.EnvFrom,
		}}},
	}
	for _, source := range []v1.VolumeSource{
		{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: local("volume"), Optional: &yes}},
		{Secret: &v1.SecretVolumeSource{SecretName: "volume"}},
		{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{
			{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: local("projected")}},
			{Secret: &v1.SecretProjection{LocalObjectReference: local("projected"), Optional: &yes}},
			{DownwardAPI: &v1.DownwardAPIProjection{}},
		}}},
		{AzureFile: &v1.AzureFileVolumeSource{SecretName: "azure"}},
		{CephFS: &v1.CephFSVolumeSource{SecretRef: ref("ceph")}},
		{Cinder: &v1.CinderVolumeSource{SecretRef: ref("cinder")}},
		{CSI: &v1.CSIVolumeSource{NodePublishSecretRef: ref("csi")}},
		{FlexVolume: &v1.FlexVolumeSource{SecretRef: ref("flex")}},
		{ISCSI: &v1.ISCSIVolumeSource{SecretRef: ref("iscsi")}},
		{RBD: &v1.RBDVolumeSource{SecretRef: ref("rbd")}},
		{ScaleIO: &v1.ScaleIOVolumeSource{SecretRef: ref("scaleio")}},
		{StorageOS: &v1.StorageOSVolumeSource{SecretRef: ref("storageos")}},
		{CephFS: &v1.CephFSVolumeSource{}}, {EmptyDir: &v1.EmptyDirVolumeSource{}}, {},
	} {
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: "v", VolumeSource: source})
	}
	return p
}

func TestReferencesEverywhere(t *testing.T) {
	var got []string
	for _, r := range podmanager.References(everywhere()) {
		require.Equal(t, "default", r.Namespace)
		text := string(r.Kind) + " " + r.Name
		if r.Optional {
			text += "?"
		}
		got = append(got, text)
	}
	require.Equal(t, strings.Split(strings.TrimSpace(`
ConfigMap ephemeral-env
ConfigMap ephemeral-from
ConfigMap init-env
ConfigMap init-from
ConfigMap main-env
ConfigMap main-from
ConfigMap projected
ConfigMap volume?
Secret azure
Secret ceph
Secret cinder
Secret csi
Secret ephemeral-env
Secret ephemeral-from?
Secret flex
Secret init-env
Secret init-from?
Secret iscsi
Secret main-env
Secret main-from?
Secret projected?
Secret pull?
Secret rbd
Secret scaleio
Secret storageos
Secret volume`), "\n"), got)
}

// What is needed in one place is needed, however often it is optional.
func TestReferencesOnce(t *testing.T) {
	yes := true
	p := pod("web")
	for _, optional := range []*bool{&yes, nil, &yes} {
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{VolumeSource: v1.VolumeSource{
			Secret: &v1.SecretVolumeSource{SecretName: "s", Optional: optional},
		}})
	}
	require.Equal(t, []podmanager.Reference{{
		ObjectRef: podmanager.ObjectRef{Kind: podmanager.KindSecret, Namespace: "default", Name: "s"},
	}}, podmanager.References(p))
	require.Empty(t, podmanager.References(pod("bare")))
}
