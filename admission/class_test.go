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
