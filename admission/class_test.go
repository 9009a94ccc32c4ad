package admission_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeparts/kubeparts/admission"
)

func TestCritical(t *testing.T) {
	high, low := admission.CriticalPriority, admission.CriticalPriority-1
	for _, c := range []struct {
		name        string
		annotations map[string]string
		namespace   string
		priority    *int32
		want        string
		legacy      bool
	}{
		{name: "plain"},
		{name: "from the API", annotations: map[string]string{"kubernetes.io/config.source": "api"}},
		{name: "static", annotations: map[string]string{"kubernetes.io/config.source": "file"}, want: "static pod"},
		{name: "mirror", annotations: map[string]string{"kubernetes.io/config.mirror": ""}, want: "mirror pod"},
		{name: "high priority", priority: &high, want: "critical priority 2000000000", legacy: true},
		{name: "not high enough", priority: &low},
		{name: "annotation of old", annotations: map[string]string{"scheduler.alpha.kubernetes.io/critical-pod": ""}, namespace: "kube-system", legacy: true},
		{name: "of old, elsewhere", annotations: map[string]string{"scheduler.alpha.kubernetes.io/critical-pod": ""}, namespace: "default"},
		{name: "of old, with a value", annotations: map[string]string{"scheduler.alpha.kubernetes.io/critical-pod": "true"}, namespace: "kube-system"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &v1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Annotations: c.annotations},
				Spec:       v1.PodSpec{Priority: c.priority},
			}
			require.Equal(t, c.want, admission.WhyCritical(pod))
			require.Equal(t, c.want != "", admission.IsCritical(pod))
			require.Equal(t, c.legacy, admission.IsLegacyCritical(pod))
		})
	}
}

func TestQOS(t *testing.T) {
	full := resources("cpu", "1", "memory", "1Gi")
	container := func(requests, limits v1.ResourceList) v1.Container {
		return v1.Container{Resources: v1.ResourceRequirements{Requests: requests, Limits: limits}}
	}
	of := func(containers ...v1.Container) *v1.Pod { return &v1.Pod{Spec: v1.PodSpec{Containers: containers}} }
	withInit := of(container(full, full))
	withInit.Spec.InitContainers = []v1.Container{{}}
	emptyResources := of(container(full, full))
	emptyResources.Spec.Resources = &v1.ResourceRequirements{}
	ownLimits := of(v1.Container{})
	ownLimits.Spec.Resources = &v1.ResourceRequirements{Limits: full}
	said := of(v1.Container{})
	said.Status.QOSClass = v1.PodQOSGuaranteed
	for _, c := range []struct {
		name string
		pod  *v1.Pod
		want v1.PodQOSClass
	}{
		{"nothing set", of(v1.Container{}), v1.PodQOSBestEffort},
		{"zero does not count", of(container(resources("cpu", "0", "memory", "0"), nil)), v1.PodQOSBestEffort},
		{"one request", of(container(resources("cpu", "1"), nil)), v1.PodQOSBurstable},
		{"requests are limits", of(container(full, full)), v1.PodQOSGuaranteed},
		{"requests below limits", of(container(resources("cpu", "500m", "memory", "1Gi"), full)), v1.PodQOSBurstable},
		{"a container without limits", of(container(full, full), v1.Container{}), v1.PodQOSBurstable},
		{"an init container without limits", withInit, v1.PodQOSBurstable},
		{"only the sums are equal", of(
			container(full, resources("cpu", "2", "memory", "1Gi")),
			container(resources("cpu", "2", "memory", "1Gi"), full),
		), v1.PodQOSGuaranteed},
		{"empty resources of the pod", emptyResources, v1.PodQOSBestEffort},
		{"limits of the pod alone", ownLimits, v1.PodQOSBurstable},
		{"said before", said, v1.PodQOSGuaranteed},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, admission.QOS(c.pod)) })
	}
}
