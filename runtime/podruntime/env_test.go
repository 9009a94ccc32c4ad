package podruntime

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/runtime"
)

func testFacts() podFacts {
	return podFacts{
		pod: &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: "web", Namespace: "shop", UID: "1234",
				Labels:      map[string]string{"app": "web", "tier": `a"b`},
				Annotations: map[string]string{"team": "blue"},
			},
			Spec: v1.PodSpec{
				ServiceAccountName: "robot",
				InitContainers:     []v1.Container{{Name: "setup", Resources: limits("memory", "7")}},
				Containers:         []v1.Container{{Name: "main"}},
			},
		},
		podIPs:      []string{"10.0.0.7", "10.0.0.8", "fd00::7"},
		hostIPs:     []string{"192.0.2.1", "2001:db8::1"},
		nodeName:    "node-a",
		allocatable: v1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi")},
		objects:     objectReader{namespace: "shop"},
	}
}

func limits(name v1.ResourceName, q string) v1.ResourceRequirements {
	return v1.ResourceRequirements{Limits: v1.ResourceList{name: resource.MustParse(q)}}
}

func fieldRef(path string) *v1.EnvVarSource {
	return &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}
}

func TestEnvironment(t *testing.T) {
	yes := true
	name := v1.LocalObjectReference{Name: "cfg"}
	for _, tc := range []struct {
		name    string
		envFrom []v1.EnvFromSource
		env     []v1.EnvVar
		want    []runtime.EnvVar
		err     string
	}{{
		name: "a value sees what was defined before it, and nothing later",
		env:  []v1.EnvVar{{Name: "A", Value: "$(B)-$(C)"}, {Name: "B", Value: "b"}, {Name: "C", Value: "$(B)c $$(B)"}},
		want: []runtime.EnvVar{{Name: "A", Value: "$(B)-$(C)"}, {Name: "B", Value: "b"}, {Name: "C", Value: "bc $(B)"}},
	}, {
		name: "the last definition decides, at the place of the first",
		env:  []v1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}, {Name: "A", Value: "$(A)3"}},
		want: []runtime.EnvVar{{Name: "A", Value: "13"}, {Name: "B", Value: "2"}},
	}, {
		name: "the value of a reference is not expanded",
		env:  []v1.EnvVar{{Name: "X", Value: "x"}, {Name: "A", ValueFrom: fieldRef("metadata.labels['tier']")}},
		want: []runtime.EnvVar{{Name: "X", Value: "x"}, {Name: "A", Value: `a"b`}},
	}, {
		name: "an empty value is a value",
		env:  []v1.EnvVar{{Name: "A"}},
		want: []runtime.EnvVar{{Name: "A"}},
	}, {
		name: "optional references to nothing are left out",
		envFrom: []v1.EnvFromSource{
			{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: name, Optional: &yes}},
			{SecretRef: &v1.SecretEnvSource{LocalObjectReference: name, Optional: &yes}},
		},
		env: []v1.EnvVar{
			{Name: "A", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{LocalObjectReference: name, Key: "k", Optional: &yes}}},
			{Name: "B", Value: "[$(A)]"},
		},
		want: []runtime.EnvVar{{Name: "B", Value: "[$(A)]"}},
	}, {
		name:    "a required ConfigMap",
		envFrom: []v1.EnvFromSource{{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: name}}},
		err:     "envFrom[0]: ConfigMap shop/cfg: this runtime has no source of ConfigMaps",
	}, {
		name: "a required Secret",
		env:  []v1.EnvVar{{Name: "A", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{LocalObjectReference: name, Key: "k"}}}},
		err:  "env A: Secret shop/cfg: this runtime has no source of Secrets",
	}, {
		name: "a field that there is not",
		env:  []v1.EnvVar{{Name: "A", ValueFrom: fieldRef("spec.restartPolicy")}},
		err:  "env A: fieldRef spec.restartPolicy: unsupported field path",
	}} {
		t.Run(tc.name, func(t *testing.T) {
			env, err := environmentOf(&v1.Container{Name: "main", EnvFrom: tc.envFrom, Env: tc.env}, testFacts())
			if tc.err != "" {
				require.EqualError(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, env.vars)
		})
	}
}

func TestFieldRef(t *testing.T) {
	facts := testFacts()
	for path, want := range map[string]string{
		"metadata.name":                "web",
		"metadata.namespace":           "shop",
		"metadata.uid":                 "1234",
		"metadata.labels":              "app=\"web\"\ntier=\"a\\\"b\"",
		"metadata.labels['app']":       "web",
		"metadata.labels['none']":      "",
		"metadata.annotations":         `team="blue"`,
		"metadata.annotations['team']": "blue",
		"spec.nodeName":                "node-a",
		"spec.serviceAccountName":      "robot",
		"status.hostIP":                "192.0.2.1",
		"status.hostIPs":               "192.0.2.1,2001:db8::1",
		"status.podIP":                 "10.0.0.7",
		"status.podIPs":                "10.0.0.7,fd00::7",
	} {
		got, err := facts.field(&v1.ObjectFieldSelector{FieldPath: path})
		require.NoError(t, err, path)
		require.Equal(t, want, got, path)
	}

	facts.hostIPs = []string{"2001:db8::1"}
	got, err := facts.field(&v1.ObjectFieldSelector{FieldPath: "status.podIPs"})
	require.NoError(t, err)
	require.Equal(t, "fd00::7,10.0.0.7", got, "the node's family comes first")

	facts.podIPs, facts.pod.Spec.HostNetwork = nil, true
	got, err = facts.field(&v1.ObjectFieldSelector{FieldPath: "status.podIP"})
	require.NoError(t, err)
	require.Equal(t, "2001:db8::1", got, "a pod in the host's network has the host's address")

	facts.hostIPs = nil
	_, err = facts.field(&v1.ObjectFieldSelector{FieldPath: "status.hostIP"})
	require.ErrorIs(t, err, errNoHostIP)
	_, err = facts.field(&v1.ObjectFieldSelector{APIVersion: "v2", FieldPath: "metadata.name"})
	require.ErrorContains(t, err, `unsupported API version "v2"`)
}

func TestResourceFieldRef(t *testing.T) {
	for _, tc := range []struct {
		name      string
		resources v1.ResourceRequirements
		container string
		resource  string
		divisor   string
		want      string
		err       string
	}{
		{name: "rounded up", resources: limits("cpu", "250m"), resource: "limits.cpu", want: "1"},
		{name: "in millis", resources: limits("cpu", "250m"), resource: "limits.cpu", divisor: "1m", want: "250"},
		{name: "in Mi", resources: limits("memory", "1500Ki"), resource: "limits.memory", divisor: "1Mi", want: "2"},
		{name: "no limit: the node's", resource: "limits.cpu", want: "4"},
		{name: "no limit known anywhere", resource: "limits.ephemeral-storage", want: "0"},
		{name: "no request", resource: "requests.memory", want: "0"},
		{name: "no hugepages", resource: "limits.hugepages-2Mi", want: "0"},
		{name: "of another container", container: "setup", resource: "limits.memory", want: "7"},
		{name: "of no container", container: "gone", resource: "limits.memory", err: `no container "gone"`},
		{name: "of an unknown kind", resource: "limits.gpu", err: `unsupported resource "limits.gpu"`},
		{name: "of neither sort", resource: "cpu", err: `unsupported resource "cpu"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ref := &v1.ResourceFieldSelector{ContainerName: tc.container, Resource: tc.resource}
			if tc.divisor != "" {
				ref.Divisor = resource.MustParse(tc.divisor)
			}
			got, err := testFacts().resource(&v1.Container{Name: "main", Resources: tc.resources}, ref)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestPodLimitStandsInForTheContainers(t *testing.T) {
	facts := testFacts()
	pod := limits("cpu", "2")
	facts.pod.Spec.Resources = &pod
	got, err := facts.resource(&v1.Container{Name: "main"}, &v1.ResourceFieldSelector{Resource: "limits.cpu"})
	require.NoError(t, err)
	require.Equal(t, "2", got)
}

func TestCommandIsExpanded(t *testing.T) {
	env := &environment{}
	env.set("A", "1")
	for _, tc := range []struct{ in, want []string }{
		{[]string{"$(A)", "$(B)", "$$(A)"}, []string{"1", "$(B)", "$(A)"}},
		{nil, nil}, // the image's own
		{[]string{}, []string{}},
	} {
		got, err := expandAll(tc.in, env)
		require.NoError(t, err)
		require.Equal(t, tc.want, got)
	}
}

// Each of these is a small manifest that asks for more memory than there is.
func TestReferencesThatExpandWithoutEndAreRefused(t *testing.T) {
	doubling := []v1.EnvVar{{Name: "E0", Value: "secret"}}
	for i := range 60 {
		doubling = append(doubling, v1.EnvVar{Name: fmt.Sprintf("E%d", i+1), Value: fmt.Sprintf("$(E%d)$(E%d)", i, i)})
	}
	_, err := environmentOf(&v1.Container{Env: doubling}, testFacts())
	require.EqualError(t, err, "env E20: references of the container expand to more than 8 MiB")

	facts := testFacts()
	facts.pod.Annotations["long"] = strings.Repeat("x", 256<<10)
	var fields []v1.EnvVar
	for i := range 1000 {
		fields = append(fields, v1.EnvVar{Name: fmt.Sprintf("F%d", i), ValueFrom: fieldRef("metadata.annotations")})
	}
	_, err = environmentOf(&v1.Container{Env: fields}, facts)
	require.ErrorIs(t, err, runtime.ErrExpanded)

	long := &environment{}
	long.set("LONG", strings.Repeat("x", 1<<20))
	_, err = expandAll([]string{"echo", strings.Repeat("$(LONG)", 1<<20)}, long)
	require.EqualError(t, err, "[1]: references of the container expand to more than 8 MiB")
	_, err = subPathOf(&v1.VolumeMount{SubPathExpr: "$(LONG)"}, long)
	require.ErrorIs(t, err, runtime.ErrExpanded)
}
