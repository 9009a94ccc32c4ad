package podruntime

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

func TestHostname(t *testing.T) {
	pod := &v1.Pod{}
	pod.Name = "web"
	require.Equal(t, "web", hostnameOf(pod))
	pod.Spec.Hostname = "other"
	require.Equal(t, "other", hostnameOf(pod))
	pod.Spec.Hostname = strings.Repeat("a", 62) + "-b"
	require.Equal(t, strings.Repeat("a", 62), hostnameOf(pod), "cut to a label of DNS, which does not end in a dash")
	pod.Spec.HostNetwork = true
	require.Empty(t, hostnameOf(pod))
}

func TestSecurityContext(t *testing.T) {
	one, two, yes, root := int64(1), int64(2), true, int64(0)
	pod := &v1.Pod{}
	require.Equal(t, &v1.SecurityContext{}, runtime.SecurityContext(pod, &v1.Container{}), "never nil")
	pod.Spec.SecurityContext = &v1.PodSecurityContext{RunAsUser: &one, RunAsGroup: &one, RunAsNonRoot: &yes}
	got := runtime.SecurityContext(pod, &v1.Container{SecurityContext: &v1.SecurityContext{RunAsUser: &two, Privileged: &yes}})
	require.Equal(t, &v1.SecurityContext{RunAsUser: &two, RunAsGroup: &one, RunAsNonRoot: &yes, Privileged: &yes}, got)
	require.NoError(t, checkNonRoot(got))
	got.RunAsUser = &root
	require.ErrorContains(t, checkNonRoot(got), "breaks non-root policy")
}

func TestFieldPathOfContainers(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{
		InitContainers:      []v1.Container{{Name: "i"}},
		Containers:          []v1.Container{{Name: "c"}},
		EphemeralContainers: []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "e"}}},
	}}
	require.Equal(t, "spec.initContainers{i}", fieldPath(pod, "i"))
	require.Equal(t, "spec.containers{c}", fieldPath(pod, "c"))
	require.Equal(t, "spec.ephemeralContainers{e}", fieldPath(pod, "e"))
	require.Empty(t, fieldPath(pod, "none"))
}

func TestReferences(t *testing.T) {
	facts := testFacts()
	yes := true
	name := v1.LocalObjectReference{Name: "cfg"}
	for _, tc := range []struct {
		source v1.EnvVarSource
		want   string
		ok     bool
		err    string
	}{
		{source: *fieldRef("metadata.name"), want: "web", ok: true},
		{source: v1.EnvVarSource{ResourceFieldRef: &v1.ResourceFieldSelector{Resource: "limits.cpu"}}, want: "4", ok: true},
		{source: v1.EnvVarSource{ConfigMapKeyRef: &v1.ConfigMapKeySelector{LocalObjectReference: name, Key: "k"}}, err: "ConfigMap shop/cfg"},
		{source: v1.EnvVarSource{ConfigMapKeyRef: &v1.ConfigMapKeySelector{LocalObjectReference: name, Key: "k", Optional: &yes}}},
		{source: v1.EnvVarSource{FileKeyRef: &v1.FileKeySelector{VolumeName: "v"}}, err: `fileKeyRef to volume "v"`},
		{source: v1.EnvVarSource{FileKeyRef: &v1.FileKeySelector{VolumeName: "v", Optional: &yes}}},
		{source: v1.EnvVarSource{}},
	} {
		got, ok, err := facts.reference(&facts.pod.Spec.Containers[0], &tc.source)
		if tc.err != "" {
			require.ErrorContains(t, err, tc.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, tc.want, got)
		require.Equal(t, tc.ok, ok)
	}
}

func TestEmptyDirOfAGroup(t *testing.T) {
	l := layout{root: t.TempDir()}
	pod := podWith(v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}})
	group := int64(os.Getgid())
	pod.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: &group}
	_, err := l.makeVolumes(podFacts{pod: pod})
	require.NoError(t, err)
	info, err := os.Stat(filepath.Join(l.volumesDir(pod.UID), "v"))
	require.NoError(t, err)
	require.Equal(t, os.ModeDir|os.ModeSetgid|0o777, info.Mode())
}
