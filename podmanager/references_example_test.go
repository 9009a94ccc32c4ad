package podmanager_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeparts/kubeparts/podmanager"
)

// What does a pod need besides its images?
func ExampleReferences() {
	optional := true
	pod := &v1.Pod{}
	pod.Namespace = "shop"
	pod.Spec.ImagePullSecrets = []v1.LocalObjectReference{{Name: "registry"}}
	pod.Spec.Containers = []v1.Container{{Name: "web", EnvFrom: []v1.EnvFromSource{{
		ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "settings"}, Optional: &optional},
	}}}}
	for _, r := range podmanager.References(pod) {
		fmt.Println(r.ObjectRef, "optional:", r.Optional)
	}
	// Output:
	// ConfigMap shop/settings optional: true
	// Secret shop/registry optional: true
}
